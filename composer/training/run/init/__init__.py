"""Transfer: a run that takes weights and vocabularies of other runs, by the section ``init`` or into single nodes.

settings.py    the section, and which nodes of the other run become which nodes of this one
pretrained.py  the other run: its weights, its config and its vocabularies, out of a checkpoint or a safetensors file
fields.py      the fields whose vocabularies come along, and the data opened with them
graphs.py      graphs of other runs inside nodes of this one
nodes.py       the nodes that the section takes: their vocabularies, and their tensors, checked against the shapes here
transfer.py    all of it in order, with every problem at its place in the config
"""

from composer.training.run.init.graphs import take_graphs, takes_graphs
from composer.training.run.init.transfer import Transfers, open_run_objective

__all__ = ["Transfers", "open_run_objective", "take_graphs", "takes_graphs"]
