"""What is compared: a task has contests, and a contest has our model and its peers."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from composer.core.signals import Ids, Signal
from composer.metrics import direction
from composer.training.run.plan import TrainingPlan


class PeerModel(nn.Module):
    """A peer reads exactly what our graph reads, and gives logits or, for numbers, a forecast."""

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        """(B, T, V) logits of tokens or tags, (B, V) of classes, or (B, T, D) numbers."""
        raise NotImplementedError

    def decode(self, inputs: Mapping[str, Signal], length: int) -> Ids:
        """The most likely token at every step, for a peer that generates a target from a source."""
        raise NotImplementedError


@dataclass(frozen=True)
class Ours:
    """Our model: the config's defaults with these overrides. Optimiser, schedule and clipping are the config's.

    differs: what it has otherwise than the contest's model, for the page
    """

    name: str
    overrides: tuple[str, ...]
    differs: str = ""


@dataclass(frozen=True)
class Peer:
    """A model from elsewhere, by default with Adam and a constant learning rate.

    build: makes it for a plan, which gives the fields, the sizes and the number of our model's parameters
    differs: what it has otherwise than ours, for the page
    rate: its usual learning rate, which the search multiplies
    needs: the module that has to be importable
    install: how to get that, said where it is missing
    """

    name: str
    build: Callable[[TrainingPlan], PeerModel]
    differs: str = ""
    rate: float = 1e-3
    optimiser: Mapping[str, Any] = field(default_factory=lambda: {"type": "adam"})
    schedule: Mapping[str, Any] = field(default_factory=lambda: {"type": "constant"})
    needs: str | None = None
    install: str = ""

    @property
    def missing(self) -> bool:
        """Whether the module that it needs is absent."""
        if self.needs is None:
            return False
        top, _, rest = self.needs.partition(".")
        return importlib.util.find_spec(top) is None or (rest != "" and importlib.util.find_spec(self.needs) is None)


def trained_as_ours(peer: Peer) -> Peer:
    """The peer with the defaults of ``conf/``: learning rate, optimiser and schedule."""
    return replace(
        peer, rate=3e-3, optimiser={"type": "adamw", "weight_decay": 0.01},
        schedule={"type": "cosine", "warmup": 0.1, "final": 0.0},
    )  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """
    steps_to_ours: models between a peer and ours, to find which difference matters; shown without a verdict
    """

    ours: Ours
    peers: tuple[Peer, ...]
    steps_to_ours: tuple[Ours | Peer, ...] = ()


@dataclass(frozen=True)
class Task:
    """
    data: overrides that both sides share, a function of the folder of data; they name the data and the batch
    files: what has to be in that folder
    figures: the metrics to show; a run's best checkpoint is chosen by the first
    validate_rows: rows of the validation split, drawn fairly; None for all
    decode_rows: how many of them are also generated in full, where the model generates; None for all
    measured: how many times a run is measured, evenly over its steps
    goal: a figure and the value that a model is to reach: its run ends there, and the table has the steps until then
    patience: after how many measurements without a better first figure a run ends; None for never
    findings: what the figures say, written by hand
    usual: whether the task is run unless it is asked for by name
    """

    name: str
    title: str
    description: str
    data: Callable[[Path], tuple[str, ...]]
    contests: tuple[Contest, ...]
    figures: tuple[str, ...]
    files: tuple[str, ...] = ()
    steps: int = 600
    validate_rows: int | None = 1000
    decode_rows: int | None = 200
    measured: int = 5
    goal: tuple[str, float] | None = None
    patience: int | None = None
    findings: str = ""
    usual: bool = True

    @property
    def arms(self) -> dict[str, tuple[Ours | Peer, Ours]]:
        """Every model by its name, each with our model whose plan gives its data. A peer of two contests is one arm."""
        found: dict[str, tuple[Ours | Peer, Ours]] = {}
        for contest in self.contests:
            models: tuple[Ours | Peer, ...] = (contest.ours, *contest.peers, *contest.steps_to_ours)
            for arm in models:
                found.setdefault(arm.name, (arm, arm if isinstance(arm, Ours) else contest.ours))
        return found

    @property
    def judge(self) -> str:
        return self.figures[0]

    def absent(self, folder: Path) -> list[str]:
        """The files that are not in the folder of data."""
        return [name for name in self.files if not (folder / name).exists()]

    def cost(self, figures: Mapping[str, float]) -> float:
        """The figure that models are judged by, so that less is better; infinite where there is none."""
        value = figures.get(self.judge, math.nan)
        if math.isnan(value):
            return math.inf
        return value if direction(self.judge) == "min" else -value

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The names of each of our models and of each of its peers."""
        for contest in self.contests:
            for peer in contest.peers:
                yield contest.ours.name, peer.name
