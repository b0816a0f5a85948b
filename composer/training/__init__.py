"""Training any graph that compiles, with Lightning.

settings.py        the config's sections ``training`` and ``trainer``
optimisers.py      optimisers by name, and which weights decay
schedules.py       the learning rate as a function of the step
micro_batches.py   batches cut into micro-batches (gradient accumulation), with what they weigh
module.py          the LightningModule: one optimiser step of any graph
memory.py          training in less memory: recomputed sublayers, sharded weights (FSDP)
weight_average.py  the running mean of the weights
hardware.py        devices, processes and precision
loop.py            what happens between steps: logs, validation, checkpoints, stopping
interruption.py    Ctrl-C and SIGTERM: the step at hand is finished, then all is saved
faults.py          what went wrong in a step, said in a sentence
progress.py        the progress bar
state.py           what a run remembers of its tensors: whole and on the CPU
checkpoint.py      the file that rebuilds a model alone
loggers/           where a run reports to
run/               a run: its plan, its folder, its record, going on with it, many of them
"""
