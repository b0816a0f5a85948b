"""Training any graph that compiles, with Lightning.

settings.py     the config's sections ``training`` and ``trainer``
optimisers.py   optimisers by name, and which weights decay
schedules.py    the learning rate as a function of the step
feed.py         batches cut into parts, with what they weigh
module.py       the LightningModule: one step of any graph
average.py      the running mean of the weights
hardware.py     devices, processes and precision
loop.py         what happens between steps: logs, validation, checkpoints, stopping
faults.py       what went wrong in a step, said in a sentence
progress.py     the bar
"""
