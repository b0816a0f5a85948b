"""From a composed config to the data and the compiled graph it declares."""

from __future__ import annotations

from composer import registry
from composer.compiler import compile_graph
from composer.config import Composed
from composer.data import Source, load_source
from composer.graph import Graph
from composer.problems import GraphError, Problem, UserError


def compile_config(composed: Composed) -> tuple[Graph, Source]:
    """The data source and the graph over its fields, on the meta device."""
    values = composed.values
    try:
        registry.load(values.get("plugins") or [])
    except UserError as error:
        raise GraphError([Problem("plugins", str(error))], composed.locate) from error
    if not isinstance(values.get("seed"), int):
        raise GraphError([Problem("seed", f"expected a whole number, found {values.get('seed')!r}.")], composed.locate)
    source = load_source(values.get("data") or {}, composed.locate)
    model = values.get("model")
    if not isinstance(model, dict):
        raise GraphError([Problem("model", f"expected a graph with nodes, found {model!r}.")], composed.locate)
    return compile_graph(model.get("nodes"), source.fields, locate=composed.locate), source
