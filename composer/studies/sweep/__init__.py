"""Sweeps: many training runs (trials) from one command line, which go on after being killed at any instant.

The state of a trial is what its run folder holds, and nothing else: the same command reads the folders and does what is
left. A process locks the folder of the trial that it trains; the system releases the lock when the process ends.

sweeper.py         Hydra's sweeper: the sweep's folder and its trials, from the command line
sweep_folder.py    the folder of a sweep, sweep.json, and the search for an unfinished sweep
trial.py           a trial: its overrides, its state, its lock
kinds.py           what sweep.json keeps of a grid, a search and a study
value_checks.py    the check of every value before the first trial
trials.py          the protocol of a list of trials, and grids
search.py          the trials of a search, drawn by Optuna
study_trials.py    the trials of a study: tuning, then final runs
settings.py        the config's section ``search``
optuna_study.py    Optuna's study of a search: storage, sampler, pruner
pruning.py         what a trial reports to its search, and whether it ends early
loop.py            starts the trials that nobody trains until all are done
job.py             the job that a launcher runs: the training of one trial
task.py            a job that is sent to another process
processes.py       the launcher ``parallel``: several trials at once on this machine
ray_jobs.py        the launcher ``ray``: trials as tasks of a Ray cluster
slurm_jobs.py      the launcher ``slurm``: trials as jobs of a Slurm cluster
wandb_sweep.py     a sweep of W&B with the same search space
wandb_report.py    a report on W&B about the runs of a sweep
board.py           the table of trials while a sweep runs
results.py         results.json and the table at the end
"""
