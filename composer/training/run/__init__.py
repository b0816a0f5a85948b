"""A training run, from a composed config to a folder with its checkpoints, metrics, samples and figures.

plan.py          the config of a run, checked before weights or files are made
init/            transfer: the weights and vocabularies that a run takes from another run
identity.py      what the folder says of a run before it trains
processes.py     the processes of a distributed run, and what happens when one dies
peak_memory.py   the most memory that a run has used
feed.py          the lengths of the rows in the first batches of training
record.py        writes results during training to files, loggers and the screen
show.py          the screen output before and after training
metric_text.py   metrics on the screen: in lines, and as a table
final_test.py    the test split, on which the best checkpoint is evaluated once at the end
example_records.py  the single examples of the test split: lengths, statistics, resamples
compiled_model.py  a model before training, which shows itself, is checked and can be called
composed_config.py  the start of the Python API: compose a config, then train it, or have Lightning train it
train.py         the course of a run
"""
