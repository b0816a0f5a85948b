"""The protocol of a logger, the loggers by name, and several at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from composer.core import registry
from composer.core.binding import bind_section
from composer.core.problems import ConfigError, Locate, Problem, did_you_mean, listed

Status = Literal["finished", "failed", "stopped"]

#: The option that stands for no logger at all.
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What a logger is told of the run.

    folder: where everything of the run lies; it is there
    name: what people call it
    identifier: what it is known by elsewhere, the same before and after a resume
    group: the sweep or study it belongs to
    config: resolved, as plain data
    resumed_from: the step from which a resumed run goes on; whatever was logged beyond it will be logged again
    graph_svg: the picture of its graph
    """

    folder: Path
    name: str
    identifier: str
    group: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    resumed_from: int | None = None
    graph_svg: str | None = None


class Logger(ABC):
    """Takes what happens in a run, on rank 0 alone.

    The keyword parameters of the constructor are the YAML's keys; it checks them and opens nothing, so that a mistake
    is found before anything is computed. ``open`` begins. What a logger has no way to show, it leaves: everything
    lies in the run's folder anyway.
    """

    @abstractmethod
    def open(self, run: RunInfo) -> None:
        """Begin, or go on where a resumed run goes on."""

    @abstractmethod
    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers after this many steps. Which ones there are may differ from call to call."""

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027 - not all can show these
        """What the model makes of some examples, a mapping for each."""

    def figure(self, name: str, path: Path, step: int) -> None:  # noqa: B027
        """A picture that has been written, PNG or SVG."""

    def checkpoint(self, path: Path, aliases: Sequence[str]) -> None:  # noqa: B027
        """Weights worth keeping, and what they are: best, last. Best called once, at the end: each may be a copy."""

    @abstractmethod
    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        """The end, whichever; the last call."""


class Loggers(Logger):
    """Several as one. With none in it, nothing is logged."""

    def __init__(self, each: Sequence[Logger] = ()) -> None:
        self.each = tuple(each)

    def open(self, run: RunInfo) -> None:
        with ExitStack() as stack:  # if one cannot begin, those that did are ended
            for one in self.each:
                one.open(run)
                stack.callback(one.finish, "failed", {})
            stack.pop_all()

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for one in self.each:
            one.metrics(step, values)

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
        with ExitStack() as stack:  # all of them end, even if one of them fails to
            for one in reversed(self.each):
                stack.callback(one.finish, status, summary)


def load_loggers(section: object, locate: Locate = lambda path: "") -> Loggers:
    """The loggers that a config's ``logger`` section names, checked and not yet begun: a key for each of them."""
    if section is None:
        section = {}
    if not isinstance(section, Mapping):
        raise ConfigError([Problem("logger", f"expected a mapping of loggers, found {section!r}.")], locate)
    known = registry.entries("logger")
    others = [str(name) for name in section if name != NONE]
    problems: list[Problem] = []
    if NONE in section and others:
        problem = f"'{NONE}' does not go together with {listed(others)}. Choose one or the other."
        problems.append(Problem("logger", problem, "logger.type"))
    if section.get(NONE):
        problems.append(Problem(f"logger.{NONE}", f"'{NONE}' takes no parameters."))
    built: list[Logger] = []
    for name in others:
        if name not in known:
            problem = f"there is no logger '{name}'.{did_you_mean(name, known)}  (logger: {listed([*known, NONE])})"
            problems.append(Problem(f"logger.{name}", problem))
            continue
        try:
            built.append(bind_section(name, known[name], section[name] or {}, f"logger.{name}", locate)())
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(problems, locate)
    return Loggers(built)


def open_loggers(section: object, run: RunInfo, locate: Locate = lambda path: "") -> Loggers:
    """The loggers of a config's ``logger`` section, begun. Whoever opens them calls ``finish``, whatever happens."""
    opened = load_loggers(section, locate)
    opened.open(run)
    return opened
