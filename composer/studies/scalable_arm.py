"""An arm of a study whose model can be compiled at any width, with its config composed and its data read only once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from composer.config.assembly import compile_model, load_plugins
from composer.config.composition import Composed
from composer.core.problems import ConfigError, UserError
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.studies.width_search import WidthRefused
from composer.training.run.init import Transfers, open_run_objective, take_graphs, takes_graphs

#: Stands for the width in a composed config. Composing takes longer than compiling, so it is done once for all widths.
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
    marked: the config, composed with ``MARK`` in place of the width
    key: the key of the width
    """

    def __init__(self, marked: Composed, key: str, objectives: Objectives) -> None:
        self.marked = marked
        self.graphs: dict[int, Graph] = {}
        model = marked.values.get("model")
        if _replaced(model, 0) == model:
            raise UserError(f"its model does not depend on {key}. Name the key of a width in study.budget.width.")
        self.objective, self.transfer = objectives.of(marked)
        load_plugins(marked)

    def at(self, width: int) -> Composed:
        """The config at a width."""
        overrides = tuple(override.replace(str(MARK), str(width)) for override in self.marked.overrides)
        return replace(self.marked, values=_replaced(self.marked.values, width), overrides=overrides)

    def graph(self, width: int) -> Graph:
        if width not in self.graphs:
            self.graphs[width] = compile_model(self.at(width), self.objective)
        return self.graphs[width]

    def measured(self, size: Callable[[Graph], float], width: int) -> float:
        """The size of the graph at a width; a ``WidthRefused`` where the graph does not compile."""
        try:
            return size(self.graph(width))
        except ConfigError as error:
            raise WidthRefused(_factor(error, self.marked.values), error) from error


def _factor(error: ConfigError, values: Mapping[str, Any]) -> int:
    """A number that may have to divide the width: the value that the compiler complains about, such as the heads."""
    for problem in error.problems:
        found: Any = values
        for key in problem.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, int) and not isinstance(found, bool) and found > 1:
            return found
    return 1


def _replaced(values: Any, width: int) -> Any:
    """A copy of the values with the width in place of its mark."""
    if isinstance(values, dict):
        return {key: _replaced(value, width) for key, value in values.items()}
    if isinstance(values, list):
        return [_replaced(value, width) for value in values]
    return width if isinstance(values, int) and values == MARK else values
