"""A training run, from a composed config to a folder that holds all there is to know of it.

folder.py   the folder: what lies where, and finding a run again
facts.py    versions, git state, command: what a result depends on beside the config
record.py   where results go while it trains: files, loggers, screen
resume.py   going on with a run
train.py    the run itself
sweep.py    many runs: each in its own folder, a table at the end
"""
