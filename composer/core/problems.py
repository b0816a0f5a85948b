"""Errors in a user's input: what is wrong, the place in the config, and what to do about it."""

from __future__ import annotations

import difflib
import re
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from composer.core.program import as_started

#: Maps a config path to the place it was written: "conf/mixer/lstm.yaml:3" or "command line: mixer=lstm".
Locate = Callable[[str], str]


#: What is told of a UserError, as plain data, before its sentence is printed; set where the user asked for JSON.
tell_error: ContextVar[Callable[[Mapping[str, Any]], object] | None] = ContextVar("tell_error", default=None)

#: How the message begins of an error with one place: the place in a line of its own, or the file and line of a record.
PLACE = re.compile(
    r"(?P<place>command line: [^\n]+|[^\n]+\.yaml(?::\d+)?)\n +(?P<rest>\S.*)"
    r"|(?P<file>[^\s:'\"][^\n:'\"]*:\d+): (?P<of_file>.+)", re.S,
)  # fmt: skip

#: A place in a file.
IN_FILE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d+))?")


class UserError(Exception):
    """An error that the user can fix. Commands print its message without a traceback and exit with code 2."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message alone."""
        return [as_started(str(self))]

    def as_data(self) -> dict[str, Any]:
        """The whole message, and its problems one by one, as plain data (docs/json.md)."""
        return {"message": as_started(str(self)), "problems": self.problem_data()}

    def problem_data(self) -> list[dict[str, Any]]:
        text = str(self)
        found = PLACE.fullmatch(text)
        if found is None:
            return [problem_data(None, text)]
        place, message = found["place"] or found["file"], found["rest"] or found["of_file"]
        override = place.partition(f"{COMMAND_LINE}: ")[2]
        return [problem_data(override.lstrip("+~").partition("=")[0] or None, message, place)]


#: How the place of an override begins.
COMMAND_LINE = "command line"


def problem_data(path: str | None, message: str, place: str = "") -> dict[str, Any]:
    """A problem as plain data: its place as a file and line, or as an override; what to write, and instead of what."""
    override = place.removeprefix(f"{COMMAND_LINE}: ") if place.startswith(COMMAND_LINE) else None
    in_file = IN_FILE.fullmatch(place) if place and override is None else None
    near = _suggested_in(message)
    return {
        "path": path,
        "message": as_started(" ".join(message.split())),
        "file": in_file["file"] if in_file is not None else None,
        "line": int(in_file["line"]) if in_file is not None and in_file["line"] else None,
        "override": override,
        "instead_of": near.name if near is not None else None,
        "suggestion": near.suggestion if near is not None else None,
    }


@contextmanager
def user_errors() -> Iterator[None]:
    """Around a whole program: print a UserError without a traceback, and exit with code 2."""
    try:
        yield
    except UserError as error:
        if (tell := tell_error.get()) is not None:
            tell(error.as_data())
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

    def as_data(self, locate: Locate) -> dict[str, Any]:
        return problem_data(self.path, self.message, locate(self.origin or self.path))

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
        self.locate = locate

    def problem_data(self) -> list[dict[str, Any]]:
        return [problem.as_data(self.locate) for problem in self.problems]


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


class Suggestion(NamedTuple):
    """What a message suggests.

    name: that the user wrote
    suggestion: the choice that is near
    sentence: by which the message says so
    """

    name: str
    suggestion: str
    sentence: str


#: The latest suggestions. A message is a text, in which its suggestion is found again by the sentence.
_suggestions: deque[Suggestion] = deque(maxlen=200)


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """' Did you mean 'heads'?' when a choice is near, else nothing."""
    near = difflib.get_close_matches(str(name), list(choices), n=1, cutoff=0.6)
    return _remembered(name, near[0], f" Did you mean '{near[0]}'?") if near else ""


def suggest(name: object, *choices: str) -> str:
    """' Did you mean mixer.dropout or ffn.dropout?', of which programs get the first."""
    return _remembered(name, choices[0], f" Did you mean {' or '.join(choices)}?") if choices else ""


def _remembered(name: object, suggestion: str, sentence: str) -> str:
    _suggestions.append(Suggestion(str(name), suggestion, sentence.strip()))
    return sentence


def _suggested_in(message: str) -> Suggestion | None:
    """The suggestion of a message; where several names were given the same one, that of a name which it has."""
    found = [each for each in reversed(_suggestions) if each.sentence in message]
    return next((each for each in found if each.name in message.replace(each.sentence, "")), next(iter(found), None))


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
