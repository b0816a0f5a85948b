"""The sections of a mixture's sources: the sources that they make, and the place of every error in the config."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from composer.core.binding import bind_entry
from composer.core.problems import ConfigError, Invalid, Problem, UserError
from composer.data.source import ReadLate, Source

#: Keys that say where rows come from. Sources that differ in nothing else learn the same from the same rows.
PLACES = ("path", "valid", "test", "seed", "encoding")


class Sections:
    """
    sources: the keys of every source; a text is its path
    each: the keys of all sources
    """

    def __init__(self, sources: Mapping[str, Any], each: Mapping[str, Any]) -> None:
        self.own = {name: _section(name, given) for name, given in sources.items()}
        self.each = each

    def whole(self, name: str) -> dict[str, Any]:
        return {**self.each, **self.own[name]}

    def settings(self, name: str) -> dict[str, Any]:
        """The keys on which depends what a source learns from given rows."""
        return {key: value for key, value in self.whole(name).items() if key not in PLACES}

    def built(self) -> dict[str, Source]:
        makers: dict[str, Callable[[], Source]] = {}
        problems: list[Problem] = []
        for name in self.own:
            path, section = f"data.sources.{name}", self.whole(name)
            if section.get("type") == "mixture":
                message = "is a mixture itself. List its sources here, with weights of their own."
                problems.append(Problem(f"{path}.type", message))
                continue
            try:
                makers[name] = bind_entry("data", section, lambda path: "", path)
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise self._written(problems)
        built = {}
        for name, make in makers.items():
            with self.named(name):
                built[name] = make()
                built[name].section = self.whole(name)
        return built

    def _written(self, problems: Sequence[Problem]) -> ConfigError:
        return ConfigError([Problem(self._written_at(problem.path), problem.message) for problem in problems])

    def _written_at(self, path: str) -> str:
        """The path of a value of a source, which is that of ``each`` where the value was written there."""
        head, _, rest = path.removeprefix("data.").removeprefix("sources.").partition(".")
        key = rest.partition(".")[0]
        return f"data.each.{rest}" if key in self.each and key not in self.own[head] else path

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Give an error of a source the place of the source."""
        try:
            yield
        except ConfigError as error:
            raise self._written(error.problems) from error
        except (Invalid, ReadLate) as error:
            path = self._written_at(f"data.sources.{name}.{error.parameter}")
            raise type(error)(path.removeprefix("data."), error.message) from error
        except UserError as error:
            if type(error) is not UserError:  # a bad row, for example, which names its file
                raise
            raise UserError(f"data.sources.{name}: {error}") from error


def _section(name: str, given: Any) -> dict[str, Any]:
    """The keys of a source. A text is its path."""
    if isinstance(given, str):
        return {"path": given}
    if not isinstance(given, Mapping):
        raise Invalid(f"sources.{name}", f"expected the keys of a source, or its path, found {given!r}.")
    return dict(given)
