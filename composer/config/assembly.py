"""From a composed config to its data source, its objective and its compiled graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from composer.config.composition import Composed
from composer.core import registry
from composer.core.problems import ConfigError, Problem, UserError
from composer.data import load_source
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.objectives import Objective, load_objective


def load_plugins(composed: Composed) -> None:
    """Import the modules in a config's ``plugins`` list, which register blocks that the rest of the config may name."""
    try:
        registry.load(composed.values.get("plugins") or [])
    except UserError as error:
        raise ConfigError([Problem("plugins", str(error))], composed.locate) from error


def compile_config(composed: Composed, state: Mapping[str, Any] | None = None) -> tuple[Graph, Objective]:
    """The graph, on the meta device (without weights), and the objective whose fields it reads.

    state: the data source's saved state, such as vocabularies; None to fit the source to its data
    """
    values = composed.values
    load_plugins(composed)
    if not isinstance(values.get("seed"), int):
        raise ConfigError([Problem("seed", f"expected a whole number, found {values.get('seed')!r}.")], composed.locate)
    source = load_source(values.get("data") or {}, composed.locate, state)
    objective = load_objective(values.get("objective") or {}, source, composed.locate)
    model = values.get("model")
    if not isinstance(model, dict):
        raise ConfigError([Problem("model", f"expected a graph with nodes, found {model!r}.")], composed.locate)
    return compile_graph(model.get("nodes"), objective.fields, locate=composed.locate), objective
