"""The laws every block obeys, for your own blocks too.

    from composer.testing import hold, subject

    def test_my_mixer_obeys_the_laws():
        hold(subject(MyMixer, dim=8))

``python -m composer check --block my_blocks.py:MyMixer`` puts a block to them in configurations drawn at random.

laws/           the laws, as functions of a subject
subjects.py     blocks and graphs in one shape, with inputs to try them on
strategies.py   configurations of blocks, sizes and lengths, drawn at random by hypothesis
defaults.py     a block with its defaults
drawn.py        a block put to all laws in drawn configurations

Where parameters are drawn at random, they are drawn from their types. Of a required one whose type does not say what is
right, a file's path for one, a block names a value that will do as a class attribute: ``example = {"path": "..."}``.
"""

from composer.testing.laws import LAWS, LawBroken, broken, hold
from composer.testing.subjects import Subject, graph_subject, subject

__all__ = ["LAWS", "LawBroken", "Subject", "broken", "graph_subject", "hold", "subject"]
