"""Errors in a user's input: what is wrong, the place in the config, and what to do about it."""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from composer.core.program import as_started

#: Maps a config path to the place it was written: "conf/mixer/lstm.yaml:3" or "command line: mixer=lstm".
Locate = Callable[[str], str]


class UserError(Exception):
    """An error that the user can fix. Commands print its message without a traceback and exit with code 2."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message alone."""
        return [as_started(str(self))]


@contextmanager
def user_errors() -> Iterator[None]:
    """Around a whole program: print a UserError without a traceback, and exit with code 2."""
    try:
        yield
    except UserError as error:
        print(as_started(str(error)), file=sys.stderr)
        raise SystemExit(2) from None


class Invalid(ValueError):
    """Raised by a block's constructor for a value it does not accept; the compiler adds the place in the config."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"{parameter}: {message}")
        self.parameter = parameter
        self.message = message

    def problem(self, section: str) -> Problem:
        """The problem at the parameter's place in a section of the config; without a parameter, at the section."""
        return Problem(".".join(filter(None, (section, self.parameter))), self.message)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a graph.

    path: where in the config the problem is found, e.g. ``model.nodes.encoder.mixer.heads``
    message: one clear sentence or two: expected, found, what to do
    origin: the path whose file and line are reported, where it is not ``path`` itself
    """

    path: str
    message: str
    origin: str | None = None

    def render(self, locate: Locate) -> str:
        place = locate(self.origin or self.path)
        head = f"  {self.path}   {place}".rstrip()
        lines = textwrap.wrap(self.message, 110, initial_indent=" " * 6, subsequent_indent=" " * 6,
                              break_on_hyphens=False, break_long_words=False)  # fmt: skip
        return "\n".join([head, *lines])  # with paths and options whole, to be copied


class ConfigError(UserError):
    """All problems that the compiler found, in one exception."""

    def __init__(self, problems: Iterable[Problem], locate: Locate = lambda path: "") -> None:
        self.problems = list(dict.fromkeys(problems))
        count = len(self.problems)
        what = "graph" if any(problem.path.startswith("model") for problem in self.problems) else "config"
        title = f"{count} problem{'s' * (count != 1)} in this {what}:"
        super().__init__("\n".join([title, *(problem.render(locate) for problem in self.problems)]))


class Unresolved:
    """Stands for a value of the config that could not be resolved. Its problem is reported already."""

    def __repr__(self) -> str:
        return "a value that could not be resolved"


UNRESOLVED = Unresolved()


class Report:
    """Collects the problems that the compiler's passes find, so that one compilation reports all of them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @classmethod
    @contextmanager
    def raised(cls, locate: Locate) -> Iterator[Self]:
        """A report for a ``with`` block, at whose end all of its problems are raised as one error."""
        report = cls()
        yield report
        if report.problems:
            raise ConfigError(report.problems, locate)

    def add(self, path: str, message: str, *, origin: str | None = None) -> None:
        self.problems.append(Problem(path, message, origin))

    def extend(self, problems: list[Problem]) -> None:
        self.problems.extend(problems)

    @contextmanager
    def collecting(self, section: str = "") -> Iterator[None]:
        """Take the problems of a ConfigError, or of an Invalid about a key of a section, instead of raising it."""
        try:
            yield
        except ConfigError as error:
            self.extend(error.problems)
        except Invalid as error:
            self.problems.append(error.problem(section))


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """' Did you mean 'heads'?' when a choice is near, else nothing."""
    near = difflib.get_close_matches(str(name), list(choices), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def listed(names: Iterable[object], limit: int = 12) -> str:
    """Names as a person lists them: a, b, c, ..."""
    texts = [str(name) for name in names]
    return ", ".join(texts[:limit]) + (", ..." if len(texts) > limit else "")


def show_value(value: object) -> str:
    """A value in a message, cut if it is long."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
