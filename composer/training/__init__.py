"""Training any graph that compiles, with Lightning.

settings.py        the config's sections ``training`` and ``trainer``
optimisers.py      optimisers by name, and which weights decay
node_rates.py      learning rates and decay by node, layer-wise decay of the rate
schedules.py       the learning rate as a function of the step
freezing.py        nodes that do not learn, for all of a run or up to a step
micro_batches.py   batches cut into micro-batches (gradient accumulation), with the weight of the whole batch
module.py          the LightningModule: one optimiser step of any graph
losses.py          the losses of a step: of the heads, and auxiliary losses of blocks
scheduled_sampling.py  inputs that the model generates itself, beside teacher forcing
truncated_bptt.py  states carried from batch to batch
memory.py          training in less memory: activation checkpointing, sharded weights (FSDP)
weight_average.py  the exponential moving average (EMA) of the weights
hardware.py        devices, processes and mixed precision
loop.py            what happens between optimiser steps: logs, validation, checkpoints, early stopping
baseline.py        whether a trained model is better than the untrained one, or the difference may be chance
interruption.py    Ctrl-C and SIGTERM: the current step is finished, then the run is saved
faults.py          error messages for a failed step: non-finite loss or gradient, out of memory
screen.py          the progress bar
loggers/           metrics.csv, TensorBoard, Weights & Biases
run/               a training run: its plan, what it takes from another run, its results
"""
