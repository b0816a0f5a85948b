"""The laws: property tests that every block passes, for your own blocks too.

    from composer.testing import hold, subject

    def test_my_mixer_obeys_the_laws():
        hold(subject(MyMixer, dim=8))

``python -m composer check --block my_blocks.py:MyMixer`` tests a block by all laws in random configurations.

laws/             the laws, as functions of a subject
training_mode.py  training mode in which every call gives the same result, for the laws that hold in it, too
leaks.py          a search for leaks on real examples, which relies on no declaration
subjects.py       blocks and graphs behind one interface, with example inputs
strategies.py     configurations of blocks, sizes and lengths, drawn at random by hypothesis
defaults.py       a block with its defaults
drawn.py          a block tested by all laws in random configurations

Random values of parameters are drawn from the parameters' types. For a required parameter whose type does not determine
valid values, such as the path of a file, the class declares a valid value: ``example = {"path": "..."}``.
"""

from composer.testing.laws import LAWS, LawBroken, broken, hold
from composer.testing.subjects import Subject, graph_subject, subject

__all__ = ["LAWS", "LawBroken", "Subject", "broken", "graph_subject", "hold", "subject"]
