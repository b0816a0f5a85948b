"""A training run, from a composed config to a folder that holds all there is to know of it.

plan.py          all that a config says of a run, checked before there are weights or files
folder.py        the folder: what lies where, and finding a run again
environment.py   versions, git state, command: what a result depends on beside the config
record.py        where results go while it trains: files, loggers, screen
show.py          what a run says on the screen before and after it trains
samples.py       what a model writes that is given nothing
resume.py        going on with a run
train.py         the run itself
sweep.py         many runs: each in its own folder, a table at the end
"""
