"""Transfer: a run that begins with weights and vocabularies of another run. The config's section ``init``.

settings.py   the section, and which nodes of the other run become which nodes of this one
origin.py     the other run: its weights, its config and its vocabularies, out of a checkpoint or a safetensors file
fields.py     the fields whose vocabularies come along, and the data opened with them
weights.py    the tensors that every node takes, checked against the shapes of the compiled graph
transfer.py   all of it in order, with every problem at its place in the config
"""

from composer.training.run.init.transfer import Transfer, compile_run, open_run_objective

__all__ = ["Transfer", "compile_run", "open_run_objective"]
