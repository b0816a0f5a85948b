"""What is given and what is predicted are the source's: a class, a value, a tag a step, or a sequence.

A sequence that the graph generates is learned with teacher forcing: the graph reads it one step late.
"""

from __future__ import annotations

from composer.objectives.objective import Objective, objective


@objective("supervised")
class Supervised(Objective):
    pass
