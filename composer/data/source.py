"""The protocol of a data source, and the sources by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from composer.compiler.bind import bind_section
from composer.problems import GraphError, Locate, Problem, did_you_mean, listed
from composer.signals import Field, Signal

Split = Literal["train", "valid"]


class Source(Protocol):
    """Examples with typed fields."""

    fields: dict[str, Field]

    def size(self, split: Split) -> int:
        """The number of examples."""

    def batch(self, split: Split, rows: list[int]) -> dict[str, Signal]:
        """These examples side by side, padded on the right."""

    def show(self, field: str, signal: Signal) -> list[str]:
        """What a signal says, a text a row."""


Cls = TypeVar("Cls", bound=type)

_sources: dict[str, type] = {}


def source(name: str) -> Callable[[Cls], Cls]:
    """Enter a source under its name. The keyword parameters of its constructor are its YAML keys."""

    def enter(cls: Cls) -> Cls:
        _sources[name] = cls
        return cls

    return enter


@cache
def _discover() -> None:
    package = importlib.import_module("composer.data")
    for module in pkgutil.iter_modules(package.__path__, "composer.data."):
        importlib.import_module(module.name)


def load_source(config: Mapping[str, Any], locate: Locate = lambda path: "") -> Source:
    """The source that a config's ``data`` section names."""
    _discover()
    name = config.get("type")
    if name not in _sources:
        problem = f"there is no data '{name}'.{did_you_mean(name, _sources)}  (data: {listed(_sources)})"
        raise GraphError([Problem("data.type", problem)], locate)
    values = {key: value for key, value in config.items() if key != "type"}
    return bind_section(str(name), _sources[str(name)], values, "data", locate)
