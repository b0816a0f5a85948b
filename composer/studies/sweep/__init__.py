"""Sweeps: many training runs (trials) from one command line, which go on after being killed at any instant.

The state of a trial is what its run folder holds, and nothing else: the same command reads the folders and does what is
left. A process locks the folder of the trial that it trains; the system releases the lock when the process ends.

sweeper.py         Hydra's sweeper: the sweep's folder and its trials, from the command line
sweep_folder.py    the folder of a sweep, sweep.json, and the search for an unfinished sweep
trial.py           a trial: its overrides, its state, its lock
trials.py          the protocol of a list of trials, and grids
loop.py            starts the trials that nobody trains until all are done
job.py             the job that a launcher runs: the training of one trial
processes.py       the launcher ``parallel``: several trials at once on this machine
board.py           the table of trials while a sweep runs
results.py         results.json and the table at the end
"""
