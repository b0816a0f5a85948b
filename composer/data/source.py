"""The protocol of a data source, and the sources by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any, Literal, Protocol, TypeVar, get_type_hints

from composer.block import Knob
from composer.compiler.bind import bind_knobs
from composer.compiler.report import Report
from composer.problems import GraphError, Invalid, Locate, Problem, did_you_mean, listed
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
    report = Report()
    name = config.get("type")
    if name not in _sources:
        hint = did_you_mean(name, _sources)
        report.add("data.type", f"there is no data '{name}'.{hint}  (data: {listed(_sources)})")
        raise GraphError(report.problems, locate)
    cls: Any = _sources[str(name)]
    types = get_type_hints(cls.__init__, include_extras=True)
    parameters = [p for p in signature(cls).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
    knobs = {p.name: Knob(p.name, types[p.name], p.default) for p in parameters}
    values = bind_knobs(str(name), knobs, {key: v for key, v in config.items() if key != "type"}, "data", report)
    if report.problems or values is None:
        raise GraphError(report.problems, locate)
    try:
        return cls(**values)
    except Invalid as error:
        raise GraphError([Problem(f"data.{error.parameter}", error.message)], locate) from error
