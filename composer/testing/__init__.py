"""The laws every block obeys, for your own blocks too.

from composer.testing import hold, subject

def test_my_mixer_obeys_the_laws():
    hold(subject(MyMixer, dim=8))
"""

from composer.testing.laws import LAWS, LawBroken, broken, hold
from composer.testing.subjects import Subject, graph_subject, subject

__all__ = ["LAWS", "LawBroken", "Subject", "broken", "graph_subject", "hold", "subject"]
