"""A training run, from a composed config to a folder with its checkpoints, metrics, samples and figures.

plan.py          the config of a run, checked before weights or files are made
init/            transfer: the weights and vocabularies that a run takes from another run
identity.py      what the folder says of a run before it trains
processes.py     the processes of a distributed run, and what happens when one dies
environment.py   versions, git state, command: what a result depends on besides the config
peak_memory.py   the most memory that a run has used
feed.py          the batches of training, and the lengths of their rows
record.py        writes results during training to files, loggers and the screen
show.py          the screen output before and after training
samples.py       texts that a language model generates without a prompt
final_test.py    the test split, on which the best checkpoint is evaluated once at the end
example_records.py  the single examples of the test split: lengths, statistics, resamples
train.py         the run itself
"""
