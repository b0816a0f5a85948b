"""From a composed config to its data source, its objective and its compiled graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from composer.config.composition import Composed
from composer.core import registry
from composer.core.problems import UNRESOLVED, ConfigError, Problem, UserError
from composer.data import load_source
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.objectives import Objective, load_objective


def load_plugins(composed: Composed) -> None:
    """Import the modules in a config's ``plugins`` list, which register blocks that the rest of the config may name."""
    plugins = composed.values.get("plugins")
    try:
        registry.load([] if plugins is UNRESOLVED else plugins or [])  # which the compilation reports
    except UserError as error:
        raise ConfigError([Problem("plugins", str(error))], composed.locate) from error


def check_seed(composed: Composed) -> None:
    seed = composed.values.get("seed")
    if not isinstance(seed, int):
        raise ConfigError([Problem("seed", f"expected a whole number, found {seed!r}.")], composed.locate)


def open_objective(composed: Composed, state: Mapping[str, Any] | None = None) -> Objective:
    """The objective of a config, over its data source.

    state: the data source's saved state, such as vocabularies; None to fit the source to its data
    """
    values = composed.values
    source = load_source(values.get("data") or {}, composed.locate, state)
    return load_objective(values.get("objective") or {}, source, composed.locate)


def compile_model(composed: Composed, objective: Objective, *, files: bool = True) -> Graph:
    """The graph of a config over the fields of an objective, on the meta device (without weights).

    The objective is told which fields the graph predicts.

    files: whether blocks may be built from files that the config names
    """
    model = composed.values.get("model")
    if not isinstance(model, dict):
        raise ConfigError([Problem("model", f"expected a graph with nodes, found {model!r}.")], composed.locate)
    fields = objective.fields
    reveals = {name: objective.reveals(name) for name in fields}
    graph = compile_graph(model.get("nodes"), fields, reveals=reveals, locate=composed.locate, files=files)
    objective.predicted = frozenset(graph.plan.targets)
    return graph


def compile_config(composed: Composed, state: Mapping[str, Any] | None = None) -> tuple[Graph, Objective]:
    """The graph, on the meta device (without weights), and the objective whose fields it reads.

    state: the data source's state that was saved with a model, whose config may not name files to build blocks from;
        None to fit the source to its data
    """
    with composed.reporting():
        load_plugins(composed)
        check_seed(composed)
        objective = open_objective(composed, state)
        return compile_model(composed, objective, files=state is None), objective
