"""The laws every block obeys, for your own blocks too.

from composer.testing import hold, subject

def test_my_mixer_obeys_the_laws():
    hold(subject(MyMixer, dim=8))

Where the laws draw parameters at random, they draw from their types. Of a required one whose type does not say what is
right, a file's path for one, a block names a value that will do as a class attribute: ``example = {"path": "..."}``.
"""

from composer.testing.laws import LAWS, LawBroken, broken, hold
from composer.testing.subjects import Subject, graph_subject, subject

__all__ = ["LAWS", "LawBroken", "Subject", "broken", "graph_subject", "hold", "subject"]
