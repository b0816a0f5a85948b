"""The config's section ``study``."""

from __future__ import annotations

from dataclasses import dataclass, field

from composer.core.block import Scale
from composer.graph.describe import Count
from composer.studies.planning.budget import Kind
from composer.studies.planning.ladder import Ladder
from composer.studies.tuning.tuning_settings import Tuning


@dataclass(frozen=True)
class Budget:
    """What every arm gets alike.

    kind: see budget.py
    target: in parameters, FLOPs or seconds
    of: instead of a target, the arm whose size is the target, as the arm is configured
    width: the key that is solved where the kind is parameters or flops, or several; ``*`` stands for every node that
        has such a key. The first is searched for, and the others stay in proportion to it
    count: of which parameters, where the kind is parameters: all, non_embedding, or those of the mixers
    """

    kind: Kind = "parameters"
    target: Scale | None = None
    of: str | None = None
    width: str | list[str] = "model.dim"
    count: Count = "all"

    @property
    def keys(self) -> list[str]:
        return [self.width] if isinstance(self.width, str) else self.width


@dataclass(frozen=True, kw_only=True)
class Study:
    """The config's section ``study``.

    arms: the architectures, by name, each a list of overrides
    budget: None compares the arms as they are configured
    ladder: trains every arm at each of several sizes, which are then the budget's targets; see ladder.py
    seeds: of the final runs
    tuning: None trains every arm with the hyperparameters of its config
    """

    arms: dict[str, list[str]]
    budget: Budget | None = None
    ladder: Ladder | None = None
    seeds: list[int] = field(default_factory=lambda: [1, 2, 3])
    tuning: Tuning | None = None
