"""What goes into a checkpoint, what a checkpoint of an earlier version calls it, and what is wrong with a foreign one.

A checkpoint is a ``CheckpointContent``: what a run is (``RunIdentity``, made by ``TrainingPlan.identity``), how far its
training has come (``TrainingState``), and its format and version (``checkpoint.save``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

import torch
from torch import Tensor

from composer.core.bounds import LEVELS, Bounds
from composer.core.storage import plain_data
from composer.data.files.new_files import TrainedFile
from composer.metrics.metric import Direction

Tensors = dict[str, Tensor]
Section = dict[str, Any] | None


class Typed(TypedDict):
    """A section of the config that is built by the name of its type."""

    type: str


class Model(TypedDict):
    nodes: dict[str, dict[str, Any]]


class Config(TypedDict, total=False):
    """The resolved config, as far as a model is rebuilt from it."""

    model: Model
    data: Typed
    objective: Typed
    training: Section
    trainer: Section
    optimiser: Typed
    schedule: Typed
    logger: Section
    callbacks: Section
    plugins: list[str] | None
    seed: str | int
    group: str | float | None
    arm: str | float | None


class RunIdentity(TypedDict):
    """What a run is: the same in all of its checkpoints.

    config: without ``resume``; the sections of which a model is rebuilt
    source: what the data source has learned: vocabularies, scales
    file: how the training file was written, where the data is a file
    plugins: the names and digests of the run's plugins; older runs have none
    signature: whether this user made the run (``ownership``)
    init: where the first weights came from; only of a run that took some
    """

    config: Annotated[dict[str, Any], Config]
    source: dict[str, Any]
    file: NotRequired[Annotated[dict[str, Any], TrainedFile]]
    plugins: NotRequired[list[dict[str, str | None]] | None]
    signature: NotRequired[Any]
    init: NotRequired[list[Any] | dict[str, Any] | None]


@dataclass
class RunProgress:
    """How far a run has come.

    step: optimiser steps taken
    tokens, padded: time steps of all sequences read so far, without padding and with padding
    examples: rows of the training data read so far; a row counts again in every epoch
    seconds: time spent in training steps, without validation and checkpoints
    place: the position in the training data, as epoch and position within the epoch
    monitor: the metric that chooses the best checkpoint; None in older runs, whose config names it
    best, best_step: the best value of this metric, and the step at which it was measured
    best_loss: the validation loss at that step; None in older runs
    stale: validations since the best one, which early stopping compares with ``training.patience``
    validated: the step of the last validation; -1 before the first one
    pruned: whether a search ended the run early
    """

    step: int = 0
    tokens: int = 0
    padded: int = 0
    examples: int = 0
    seconds: float = 0.0
    place: dict[str, int] = field(default_factory=lambda: {"epoch": 0, "position": 0})
    best: float | None = None
    best_step: int = 0
    best_loss: float | None = None
    monitor: str | None = None
    stale: int = 0
    validated: int = -1
    pruned: bool = False

    def improved(self, value: float, loss: float, direction: Direction) -> bool:
        """Count a validation, and return whether it is the best so far. Of equal values, a lower loss is better.

        A metric such as the accuracy is often the same at several validations, and 1 at all the last ones.
        """
        sign = 1 if direction == "min" else -1
        new, old = (_cost(sign, value), _cost(1, loss)), (_cost(sign, self.best), _cost(1, self.best_loss))
        if self.best is not None and (new >= old or (new[0] == old[0] and self.best_loss is None)):
            self.stale += 1
            return False
        self.best, self.best_loss, self.best_step, self.stale = value, loss, self.step, 0
        return True


def _cost(sign: int, value: float | None) -> float:
    """A value of which less is better; nan is worse than any number."""
    return math.inf if value is None or math.isnan(value) else sign * value


@dataclass
class LoggingWindow:
    """Counts the steps since the last log, and the time that they took. ``resume`` starts its clock.

    tokens, padded, examples: as in ``RunProgress``, on this process
    """

    steps: int = 0
    tokens: int = 0
    padded: int = 0
    examples: int = 0
    seconds: float = 0.0

    def resume(self) -> None:
        self.clock = time.perf_counter()

    def count_batch(self, tokens: int, padded: int, examples: int) -> None:
        self.tokens += tokens
        self.padded += padded
        self.examples += examples

    def count_step(self) -> None:
        """Count a step and the seconds since the clock was started."""
        self.steps += 1
        self.seconds += time.perf_counter() - self.clock


class Losses(TypedDict):
    heads: Tensor
    auxiliary: Tensors


class RankState(TypedDict):
    """What every process has of its own.

    random: the states of its random number generators, by device
    carried: the states that truncated BPTT carries into the next batches
    window, losses: what it has counted since the last log; older checkpoints have neither
    """

    random: Tensors
    carried: list[Any]
    window: NotRequired[Annotated[dict[str, Any], LoggingWindow]]
    losses: NotRequired[Annotated[dict[str, Any], Losses]]


class TrainingState(TypedDict):
    """How far training has come.

    model: the weights
    average: the moving average of the weights; None without one
    optimiser: the optimiser's state of every weight, by the weight's name
    schedule: the state of the learning rate's schedule
    ranks: of every process, in the order of their ranks
    callbacks: the states of the callbacks that the config names, by these names; older checkpoints have none
    bounds: the calibrated bounds of real-valued predictions, by head
    untrained: the squared errors of an untrained baseline, by head
    """

    step: int
    progress: Annotated[dict[str, Any], RunProgress]
    model: Tensors
    average: Tensors | None
    optimiser: dict[str, dict[str, bool | float | Tensor | None]]
    schedule: dict[str, float]
    ranks: list[RankState]
    callbacks: NotRequired[dict[str, Any]]
    bounds: NotRequired[dict[str, Annotated[dict[str, Tensor], Bounds]] | None]
    untrained: NotRequired[Tensors | None]


class CheckpointContent(RunIdentity, TrainingState):
    """
    format: raised when the meaning of the content changes
    version: of the package that wrote the checkpoint
    """

    format: int
    version: str


#: What every checkpoint has, so that the model can be rebuilt.
REQUIRED = ("format", "config", "source", "step", "model")

#: What a run needs in order to go on, beside that.
RESUMED = ("progress", "optimiser", "schedule", "ranks")

#: The states of torch's optimisers that have the shapes of their weights. Those of a plugin's may have others.
MOMENTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "square_avg", "grad_avg")


def misfit(content: Mapping[str, Any]) -> str | None:
    """What is wrong with a checkpoint's content, or nothing."""
    problem = plain_data.misfit(content, CheckpointContent)
    if problem is None and content["step"] < 0:
        problem = f"'step' is {content['step']}"
    return problem or _wrong_tensors(content)


def _wrong_tensors(content: Mapping[str, Any]) -> str | None:
    """States of the optimiser, bounds and random numbers of another shape."""
    model = content["model"]
    for name, state in content.get("optimiser", {}).items():
        for key, value in state.items():
            if key in MOMENTS and isinstance(value, Tensor) and (name not in model or value.shape != model[name].shape):
                return f"the optimiser's '{key}' of '{name}' has the shape {tuple(value.shape)}"
    for head, tensors in (content.get("bounds") or {}).items():
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if len(shapes["scale"]) != 2 or shapes["quantiles"] != (LEVELS + 1,):
            return f"the bounds of '{head}' have the shapes {shapes}"
    wanted = torch.get_rng_state()
    for random in (rank["random"] for rank in content.get("ranks", []) if "random" in rank):
        found = random.get("cpu")
        if found is None or found.dtype != wanted.dtype or found.shape != wanted.shape:
            return "the state of the random numbers is none"
    return None
