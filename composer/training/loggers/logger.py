"""The base class of a logger, the loggers of a config, and several loggers used as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from composer.core.binding import bind_named
from composer.core.problems import ConfigError, Locate, Problem, listed

Status = Literal["finished", "failed", "stopped", "pruned"]

#: ``logger=none`` turns logging off.
NONE = "none"

#: What loggers put before the names of training metrics, and before those of the best checkpoint's validation where
#: they are shown beside the metrics of every step.
TRAIN, BEST = "train/", "best/"


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The facts of a run that a logger receives.

    folder: the run's folder, which exists
    name: the run's name for people
    identifier: the run's unique identifier, the same before and after a resume
    group: the sweep or study to which the run belongs
    config: the resolved config as plain data
    size: the model's ``parameters``, ``flops_per_token`` and ``train_flops_per_example``
    phase: of a trial of a sweep or a study: grid, tuning or final
    job_type: what the run is for, by which loggers can group runs: its phase, or else train
    untuned: of a final run of a study: why its arm is not tuned; empty if it is
    resumed_from: the step from which a resumed run continues; steps logged after it will be logged again
    graph_svg: the drawing of the model's graph
    """

    folder: Path
    name: str
    identifier: str
    group: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    size: dict[str, float] = field(default_factory=dict)
    phase: str | None = None
    untuned: str | None = None
    resumed_from: int | None = None
    graph_svg: str | None = None

    @property
    def job_type(self) -> str:
        return self.phase or "train"


class Logger(ABC):
    """Receives the results of a run, on rank 0 only.

    prefixed: whether training metrics are named ``train/loss``, as the others are ``valid/loss`` and ``test/loss``; a
        logger without has the names of metrics.jsonl


    The constructor's keyword parameters are the YAML's keys. The constructor checks them and opens nothing, so that a
    mistake is found before training; ``open`` starts the logging. A logger may ignore results that it cannot show:
    the run's folder holds all of them.
    """

    prefixed: ClassVar[bool] = True

    @abstractmethod
    def open(self, run: RunInfo) -> None:
        """Start logging a new run, or continue a resumed one."""

    @abstractmethod
    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Log the metrics of a step. The names may differ from call to call."""

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027 - optional
        """Log the model's predictions for some examples, one mapping per example."""

    def figure(self, name: str, path: Path, step: int) -> None:  # noqa: B027
        """Log a figure from its file, PNG or SVG."""

    def checkpoint(self, path: Path, aliases: Sequence[str]) -> None:  # noqa: B027
        """Log a checkpoint with its aliases: best, last. Called once per file, at the end, as it may copy the file."""

    @abstractmethod
    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        """End the logging. This is the last call, whether the run finished, failed or was stopped.

        summary: the metrics of the best checkpoint, and those of the test split
        """


def best_metrics(summary: Mapping[str, float]) -> dict[str, float]:
    """A summary with validation metrics under names that those of a step do not have, such as ``best/valid/loss``."""
    return {f"{BEST}{name}" if name.startswith("valid/") else name: value for name, value in summary.items()}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under flat keys such as 'model.nodes.encoder.depth', with numbers, truth values and texts."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value if isinstance(value, bool | int | float | str) else str(value)
    return found


def plain(value: Any) -> Any:
    """A cell of a table, as a text unless it is a number or a truth value."""
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def as_table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns of samples, and the cells of every row; None where a row has nothing in a column."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return columns, [[row.get(name) for name in columns] for row in rows]


class Loggers(Logger):
    """Several loggers behind the interface of one. An empty list logs nothing."""

    def __init__(self, each: Sequence[Logger] = ()) -> None:
        self.each = tuple(each)

    def open(self, run: RunInfo) -> None:
        with ExitStack() as stack:  # if one logger cannot open, those already open are finished
            for one in self.each:
                one.open(run)
                stack.callback(one.finish, "failed", {})
            stack.pop_all()

    def metrics(self, step: int, values: Mapping[str, float], prefix: str = "") -> None:
        named = {f"{prefix}{name}": value for name, value in values.items()}
        for one in self.each:
            one.metrics(step, named if one.prefixed else values)

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        for one in self.each:
            one.samples(step, rows)

    def figure(self, name: str, path: Path, step: int) -> None:
        for one in self.each:
            one.figure(name, path, step)

    def checkpoint(self, path: Path, aliases: Sequence[str]) -> None:
        for one in self.each:
            one.checkpoint(path, aliases)

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        with ExitStack() as stack:  # every logger is finished, even if another one raises
            for one in reversed(self.each):
                stack.callback(one.finish, status, summary)


def load_loggers(section: object, locate: Locate = lambda path: "") -> Loggers:
    """The loggers of a config's ``logger`` section, which has one key per logger: checked but not yet opened."""
    if isinstance(section, Mapping) and NONE in section:
        others = {name: values for name, values in section.items() if name != NONE}
        if others:
            problem = f"'{NONE}' does not go together with {listed(others)}. Choose one or the other."
            raise ConfigError([Problem("logger", problem, "logger.type")], locate)
        if section[NONE]:
            raise ConfigError([Problem(f"logger.{NONE}", f"'{NONE}' takes no parameters.")], locate)
        section = others
    return Loggers([*bind_named("logger", section, "logger", locate).values()])
