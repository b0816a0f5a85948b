"""Small callbacks, each of which does one thing between the steps of a ``TrainingModule``, under any Trainer.

by_name.py             callbacks of Lightning that a config names
configured.py          the callbacks of a config, and their states in a checkpoint

Those of every run:

freezing.py            nodes that do not learn, for all of a run or up to a step
weight_average.py      the exponential moving average (EMA) of the weights
validation_steps.py    after which steps a run is validated
validation_samples.py  texts that a language model generates without a prompt, as samples of a validation
run_folder.py          logged values and validations, in the run's folder and its loggers
exact_resume.py        checkpoints from which a run goes on bit for bit
progress.py            the screen
pruning.py             a search ends a trial early
interruption.py        Ctrl-C and SIGTERM: the current step is finished, then the run is saved
"""
