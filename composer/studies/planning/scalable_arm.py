"""An arm of a study whose model can be compiled at any size, with its config composed and its data read only once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from composer.config.assembly import compile_model, load_plugins
from composer.config.composition import Composed
from composer.core.problems import ConfigError, UserError
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.studies.planning.width_search import WidthRefused
from composer.training.run.feed import TrainingRows
from composer.training.run.init import Transfers, open_run_objective, take_graphs, takes_graphs
from composer.training.run.plan import TrainingPlan, prepare

#: This number and those after it stand for the values of the solved keys in a composed config. Composing takes longer
#: than compiling, so it is done once for all widths.
MARK = 982_451_653


class Objectives:
    """The objectives of a study's arms. Arms with the same data share one, so that the data is read once."""

    def __init__(self) -> None:
        self.opened: dict[str, tuple[Objective, Transfers | None]] = {}

    def of(self, composed: Composed) -> tuple[Objective, Transfers | None]:
        """The objective of a config, and what the config takes from other runs, which depends on its model, too."""
        sections = ["data", "objective", "init"]
        load_plugins(composed)
        if (composed.values.get("init") or {}).get("from") is not None or takes_graphs(composed):
            sections.append("model")
        key = json.dumps([composed.values.get(section) for section in sections], sort_keys=True, default=str)
        if key not in self.opened:
            self.opened[key] = open_run_objective(composed)
        else:
            take_graphs(composed)  # this config receives the graphs of other runs, too
        return self.opened[key]

    def compiled(self, composed: Composed) -> tuple[Graph, Objective, Transfers | None]:
        """The graph of a config, its objective, and what it takes from another run."""
        objective, transfer = self.of(composed)
        load_plugins(composed)
        return compile_model(composed, objective), objective, transfer


class ScalableArm:
    """
    marked: the config, composed with ``marks(keys)``
    keys: the keys that are solved, by their values in the arm's own config. The first is the width that is searched
        for; the others stay in proportion to it, rounded, and at least 1
    """

    def __init__(self, marked: Composed, keys: Mapping[str, int], objectives: Objectives) -> None:
        self.marked, self.keys = marked, keys
        self.graphs: dict[int, Graph] = {}
        for number, key in enumerate(keys):
            if not _holds(marked.values.get("model"), MARK + number):
                raise UserError(f"its model does not depend on {key}. Name the key of a size in study.budget.width.")
        self.objective, self.transfer = objectives.of(marked)
        load_plugins(marked)
        self._rows: TrainingRows | None = None

    def settings(self, width: int) -> dict[str, int]:
        """The values of the keys at a width."""
        first = next(iter(self.keys.values()))
        return {
            key: max(1, round(width * own / first)) if number else width
            for number, (key, own) in enumerate(self.keys.items())
        }

    def at(self, width: int) -> Composed:
        """The config at a width."""
        values = {MARK + number: value for number, value in enumerate(self.settings(width).values())}
        overrides = self.marked.overrides
        for mark, value in values.items():
            overrides = tuple(override.replace(str(mark), str(value)) for override in overrides)
        return replace(self.marked, values=_replaced(self.marked.values, values), overrides=overrides)

    def graph(self, width: int) -> Graph:
        if width not in self.graphs:
            self.graphs[width] = compile_model(self.at(width), self.objective)
        return self.graphs[width]

    def plan(self, width: int) -> TrainingPlan:
        """The arm as a run, checked as a whole."""
        return prepare(self.at(width), compiled=(self.graph(width), self.objective, self.transfer))

    def rows(self, width: int) -> TrainingRows:
        """The training data, which is the same at every width."""
        if self._rows is None:
            self._rows = TrainingRows.of(self.plan(width))
        return self._rows

    def measured(self, size: Callable[[Graph], float], width: int) -> float:
        """The size of the graph at a width; a ``WidthRefused`` where the graph does not compile."""
        try:
            return size(self.graph(width))
        except ConfigError as error:
            raise WidthRefused(_factor(error, self.marked.values), error) from error


def marks(keys: Iterable[str]) -> list[str]:
    """The overrides that put the marks into a config."""
    return [f"{key}={MARK + number}" for number, key in enumerate(keys)]


def solved_keys(patterns: Sequence[str], values: Mapping[str, Any]) -> dict[str, int]:
    """The keys that match the patterns of ``study.budget.width``, with their values in a config.

    In a pattern, ``*`` stands for every name that leads to a whole number.
    """
    found: dict[str, int] = {}
    for pattern in patterns:
        matching = dict(_matching(values, pattern.split(".")))
        if not matching:
            raise UserError(f"its config has no whole number at {pattern}, which study.budget.width names.")
        found |= {key: value for key, value in matching.items() if key not in found}
    return found


def _matching(values: Any, pattern: Sequence[str], path: tuple[str, ...] = ()) -> Iterator[tuple[str, int]]:
    if not pattern:
        if isinstance(values, int) and not isinstance(values, bool):
            yield ".".join(path), values
    elif isinstance(values, Mapping):
        for key in values if pattern[0] == "*" else [pattern[0]]:
            yield from _matching(values.get(key), pattern[1:], (*path, str(key)))


def _factor(error: ConfigError, values: Mapping[str, Any]) -> int:
    """A number that may have to divide the width: the value that the compiler complains about, such as the heads."""
    for problem in error.problems:
        found: Any = values
        for key in problem.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, int) and not isinstance(found, bool) and found > 1:
            return found
    return 1


def _replaced(values: Any, marked: Mapping[int, int]) -> Any:
    """A copy of the values with others in place of their marks."""
    if isinstance(values, dict):
        return {key: _replaced(value, marked) for key, value in values.items()}
    if isinstance(values, list):
        return [_replaced(value, marked) for value in values]
    return marked.get(values, values) if type(values) is int else values


def _holds(values: Any, mark: int) -> bool:
    if isinstance(values, dict):
        return any(_holds(value, mark) for value in values.values())
    if isinstance(values, list):
        return any(_holds(value, mark) for value in values)
    return type(values) is int and values == mark
