"""A ladder: every arm of a study at several sizes, and if wanted at several lengths of training.

The arms of such a study are families. Each is planned once for every size and length, as an arm of its own:
``gru@30k``, or ``gru@30k@400`` after 400 steps. ``scaling.py`` reads these names again and fits a law to every family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from composer.core.block import Positive, Scale
from composer.graph.describe import human

#: The fewest sizes: three for a law with an irreducible loss, and one to predict.
LEAST_SIZES = 4

#: The fewest lengths of training that say how the loss falls with tokens beyond an irreducible loss.
LEAST_LENGTHS = 3

#: A planned arm's name: the family, the size, and the steps where these vary. No arm of a user's has an @.
RUNG = re.compile(r"(?P<family>.+?)@(?P<size>[^@]+)(?:@(?P<steps>\d+))?")


@dataclass(frozen=True)
class Ladder:
    """The study's section ``ladder``.

    sizes: the targets of the budget, in its units, ascending
    steps: lengths of training, each a run of its own, ascending; None for the one length of the config
    """

    sizes: list[Scale] = field(default_factory=list)
    steps: list[Positive] | None = None


@dataclass(frozen=True)
class Rung:
    """An arm to plan.

    target: of the budget; None for a study without a budget
    overrides: those that set the length of training
    """

    name: str
    target: float | None
    overrides: tuple[str, ...] = ()


def rungs(family: str, ladder: Ladder | None, target: float | None) -> Iterator[Rung]:
    """The arms of a family: one, unless the study has a ladder."""
    if ladder is None:
        yield Rung(family, target)
        return
    for size in ladder.sizes:
        name = f"{family}@{human(size)}"
        if ladder.steps is None:
            yield Rung(name, size)
        for steps in ladder.steps or ():
            yield Rung(f"{name}@{steps}", size, (f"training.steps={steps}", "training.epochs=null"))
