"""An arm of a study whose model can be compiled at any size, with its data read only once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from composer.config.assembly import compile_model, load_plugins
from composer.config.composition import Composed
from composer.core.problems import ConfigError, UserError
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.studies.planning.width_search import WidthRefused
from composer.training.run.feed import TrainingRows
from composer.training.run.init import Transfers, open_run_objective, take_graphs, takes_graphs
from composer.training.run.plan import prepare


class Objectives:
    """The objectives of a study's arms. Arms with the same data share one, so that the data is read once."""

    def __init__(self) -> None:
        self.opened: dict[str, tuple[Objective, Transfers]] = {}

    def of(self, composed: Composed) -> tuple[Objective, Transfers]:
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


class ScalableArm:
    """
    compose: the arm's config, with further overrides
    keys: the keys that are solved, by their values in the arm's own config. The first is the width that is searched
        for; the others stay in proportion to it, rounded, and at least 1
    """

    def __init__(
        self, compose: Callable[[Sequence[str]], Composed], keys: Mapping[str, int], objectives: Objectives
    ) -> None:
        self.compose, self.keys, self.composed = compose, keys, compose(_overrides(keys))
        for key, value in keys.items():
            other = compose(_overrides({**keys, key: value + 1}))
            if other.values["model"] == self.composed.values["model"]:
                raise UserError(f"its model does not depend on {key}. Name the key of a size in study.budget.width.")
        self.opened = objectives.of(self.composed)
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
        composed = self.compose(_overrides(self.settings(width)))
        take_graphs(composed)
        return composed

    def graph(self, width: int) -> Graph:
        """The graph at a width; a ``WidthRefused`` where it does not compile."""
        try:
            return compile_model(self.at(width), self.opened[0])
        except ConfigError as error:
            # The number that may have to divide the width is the one that the compiler complains about: the heads.
            factors = (number_at(problem.path, self.composed.values) or 1 for problem in error.problems)
            raise WidthRefused(next((factor for factor in factors if factor > 1), 1), error) from error

    def rows(self, width: int) -> TrainingRows:
        """The training data, which is the same at every width. ``width``: one at which the model compiles."""
        if self._rows is None:
            self._rows = TrainingRows.of(prepare(self.at(width), opened=self.opened))
        return self._rows


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


def number_at(path: str, values: Mapping[str, Any]) -> int | None:
    """The whole number at a path of a config; None if there is none."""
    return next((value for _, value in _matching(values, path.split("."))), None)


def _overrides(settings: Mapping[str, int]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]
