"""Training any graph that compiles, with Lightning.

module.py          the LightningModule: an optimiser step of any graph, validation, test
data_module.py     the LightningDataModule: batches of training, validation and test
callbacks/         what happens between steps, one small callback for each thing
run/               a training run: its plan, its course (train.py), what it takes from another run, its results
settings.py        the config's sections ``training`` and ``trainer``
optimisation/      optimisers, their rates by node and step, frozen nodes
micro_batches.py   batches cut into micro-batches (gradient accumulation), with the weight of the whole batch
losses.py          the losses of a step: of the heads, and auxiliary losses of blocks
scheduled_sampling.py  inputs that the model generates itself, beside teacher forcing
truncated_bptt.py  states carried from batch to batch
validation.py      whether a validation is the best so far, or better than the untrained model by chance
memory.py          training in less memory: activation checkpointing, sharded weights (FSDP)
hardware.py        devices, processes and mixed precision
faults.py          error messages for a failed step: non-finite loss or gradient, out of memory
screen.py          the progress bar
notebook_bar.py    the progress bar in a notebook
loggers/           metrics.csv, TensorBoard, Weights & Biases, MLflow
"""
