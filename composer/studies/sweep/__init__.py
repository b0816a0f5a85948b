"""Sweeps: many training runs (trials) from one command line, which go on after being killed at any instant.

The state of a trial is what its run folder holds, and nothing else: the same command reads the folders and does what is
left. A process locks the folder of the trial that it trains; the system releases the lock when the process ends.

sweeper.py             Hydra's sweeper: the sweep's folder and its trials, from the command line
kinds.py               what sweep.json keeps of a grid, a search and a study
value_checks.py        the check of every value before the first trial
trials.py              the protocol of a list of trials, grids, and the trials of a study
search/                the trials of a search, drawn by Optuna
sweep_loop.py          starts the trials that nobody trains until all are done
job.py                 the job that a launcher runs: the training of one trial
launchers/             trials as processes of this machine, tasks of Ray, jobs of Slurm
wandb_sweep_config.py  a sweep of W&B with the same search space
wandb_report.py        a report on W&B about the runs of a sweep
sweep_progress.py      the table of trials while a sweep runs
sweep_results.py       results.json and the table at the end
"""
