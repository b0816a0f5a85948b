"""Random tables of 1 to 60 declared fields of mixed types, and a graph that reads some of them and predicts one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import strategies as st

from benchmarks.fuzz.cases import FILES, SMALL, Case
from benchmarks.fuzz.made_files import GROUPS, WIDE

#: The most fields of a table.
MOST = 60

EMBED = {"kind": "embedding", "type": "token", "dim": 4}
SPELLED = {"kind": "embedding", "type": "characters", "dim": 4, "mixer": "conv", "pool": "max"}
#: The embedding of a field's type; a vector needs none, and a class is not read.
EMBEDDINGS: dict[str, dict[str, Any]] = {
    "text": EMBED, "words": EMBED, "tags": EMBED, "characters": SPELLED,
    "sequence": {"kind": "embedding", "type": "continuous", "dim_out": 4},
}  # fmt: skip
DECODERS: list[dict[str, Any]] = [
    {"kind": "mixer", "type": "luong"},
    {"kind": "mixer", "type": "rnnsearch"},
    {"kind": "stack", "depth": 1, "mixer": "gru", "cross": "cross_attention"},
]


@st.composite
def tables(draw: st.DrawFn) -> Case:
    """A table and a graph over it. Several fields may be of one column, so that some graphs read their own answer."""
    fields: dict[str, dict[str, Any]] = {}
    for number in range(draw(st.integers(1, MOST))):
        fields[f"f{number}"] = _field(draw, fields)
    target = draw(st.sampled_from(sorted(fields)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    luck = draw(st.randoms(use_true_random=False))
    read = [name for name in fields if name != target and luck.random() < share]
    nodes = _inputs(fields, read)
    _HEADS[fields[target]["type"]](draw, nodes, fields, target)
    config = {
        "defaults": [{"override /model": None}, {"override /data": "table"}],
        "model": {"nodes": nodes},
        "data": {"path": f"{FILES}/wide.csv", "fields": fields},
    }
    return Case(SMALL, "# @package _global_\n" + yaml.safe_dump(config, sort_keys=False), kind="table")


def _field(draw: st.DrawFn, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    words = [name for name, field in fields.items() if field["type"] == "words" and "along" not in field]
    kind = draw(st.sampled_from(["text", "words", "sequence", "number", "vector", "class"]))
    if words and not draw(st.integers(0, 2)):
        along = draw(st.sampled_from(words))
        kind = draw(st.sampled_from(["characters", "tags", "words"]))
        column = fields[along]["column"].replace("words", "tags" if kind == "tags" else "words")
        return {"type": kind, "column": _written(draw, column), "along": along}
    group = draw(st.integers(0, GROUPS - 1))
    if kind == "vector":
        return {"type": kind, "columns": [f"number{(group + place) % GROUPS}" for place in range(3)]}
    column = f"{ {'sequence': 'steps', 'class': 'kind'}.get(kind, kind) }{group}"
    more = {"tokeniser": {"type": "words"}} if kind == "text" else {}
    return {"type": kind, "column": column if kind == "words" else _written(draw, column), **more}


def _written(draw: st.DrawFn, column: str) -> str | int:
    """A column by its name or, sometimes, by its number."""
    return column if draw(st.integers(0, 3)) else WIDE.index(column) + 1


def _inputs(fields: dict[str, dict[str, Any]], read: list[str]) -> dict[str, Any]:
    return {
        f"{name}_embedding": {**EMBEDDINGS[fields[name]["type"]], "from": name}
        for name in read
        if fields[name]["type"] in EMBEDDINGS
    }


def _joined(nodes: dict[str, Any], names: list[str], kind: str, joined: str) -> str:
    """The one node, or a new one that joins several."""
    if len(names) < 2:
        return names[0]
    nodes[joined] = {"kind": "merge", "type": kind, "from": names}
    return joined


def _single(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, dict[str, Any]], target: str) -> None:
    """A head of a class or of numbers, behind a pool of all inputs."""
    vectors = [name for name, field in fields.items() if field["type"] in ("number", "vector") and name != target]
    if nodes:
        nodes["pool"] = {"kind": "pool", "type": "mean", "from": _joined(nodes, list(nodes), "append", "whole")}
        vectors = ["pool", *(vectors if draw(st.booleans()) else [])]
    head = "categorical" if fields[target]["type"] == "class" else "gaussian"
    source = _joined(nodes, vectors, "concat", "joined") if vectors else target
    nodes["output"] = {"kind": "head", "type": head, "from": source, "predicts": target}


def _generated(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, dict[str, Any]], target: str) -> None:
    """A decoder of the target with all inputs as its memory; without inputs, a language model."""
    memory = _joined(nodes, list(nodes), "append", "memory") if nodes else None
    nodes["target_embedding"] = {**EMBEDDINGS[fields[target]["type"]], "from": target}
    if memory is None:
        decoder: dict[str, Any] = {"kind": "mixer", "type": "gru", "from": "target_embedding"}
    else:
        decoder = {**draw(st.sampled_from(DECODERS)), "from": {"x": "target_embedding", "memory": memory}}
    head = "gaussian" if fields[target]["type"] == "sequence" else "categorical"
    nodes |= {"decoder": decoder, "output": {"kind": "head", "type": head, "from": "decoder", "predicts": target}}


def _along(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, dict[str, Any]], target: str) -> None:
    """A head along the words of the target, which reads the other fields along them, or the words alone."""
    axis = fields[target].get("along", target)
    nodes_along = [f"{name}_embedding" for name, field in fields.items()
                   if axis in (name, field.get("along")) and f"{name}_embedding" in nodes]  # fmt: skip
    kept = {name: nodes[name] for name in nodes_along}
    nodes.clear()
    nodes |= kept or {f"{axis}_embedding": {**EMBED, "from": axis}}
    source = _joined(nodes, list(nodes), "add", "sum")
    nodes["mixer"] = {"kind": "mixer", "type": "gru", "causal": draw(st.booleans()), "from": source}
    nodes["output"] = {"kind": "head", "type": "categorical", "from": "mixer", "predicts": target}


_HEADS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("class", "number", "vector"), _single),
    **dict.fromkeys(("text", "sequence"), _generated),
    **dict.fromkeys(("words", "tags", "characters"), _along),
}
