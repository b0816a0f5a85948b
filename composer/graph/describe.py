"""A compiled graph in figures: shapes, parameters, FLOPs, size of the state. Computed on the meta device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.utils import _pytree as pytree

from composer.core import registry
from composer.core.block import Empty, Recipe, Reference
from composer.core.capabilities import is_causal, offers
from composer.core.meta import on_meta
from composer.core.signals import State
from composer.graph.flops import row_flops, time_axes
from composer.graph.graph import Graph
from composer.graph.nodes import Node


def summarise(graph: Graph, length: int = 128) -> dict[str, Any]:
    """A summary of a graph as plain data, for sequences of ``length`` steps.

    FLOPs count the matrix products of the forward pass; see flops.py. The size of a state
    (hidden state, KV cache) is that of one sequence after ``length`` steps.
    """
    flops = count_flops(graph, length)
    states = count_state(graph, length)
    letters = axis_letters(graph)
    seen: set[int] = set()
    nodes = []
    for node in graph.plan.nodes:
        module = graph.nodes[node.name]
        output = graph.plan.outputs[node.name]
        contents: Any = module.contents if offers(module, "contents") else None
        nodes.append(
            {
                "name": node.name,
                "kind": node.recipe.kind,
                "block": node.recipe.name,
                "contents": contents() if contents is not None else [],
                "layers": _layers(module),
                "from": {port: list(sources) for port, sources in node.sources.items()},
                "predicts": node.predicts,
                "shares": [str(value) for value in node.recipe.knobs.values() if isinstance(value, Reference)],
                "output": {"kind": output.kind, "shape": _lettered(output.shape, letters.get(node.name))},
                "parameters": count_parameters(module, seen),
                "flops_per_token": flops[node.name],
                "state_bytes": states.get(node.name, 0),
                "runs": "streams" if node.name in graph.plan.streams else "once",
                "causal": is_causal(module),
                "settings": settings(node),
            }
        )
    return {
        "family": family(graph),
        "length": length,
        "inputs": [
            {
                "name": name,
                "kind": field.kind,
                "shape": _lettered(field.shape, letters.get(name)),
                "vocabulary": field.vocabulary,
                "generated": name in graph.plan.generated,
            }
            for name, field in graph.plan.inputs.items()
        ],
        "nodes": nodes,
        "totals": {key: sum(node[key] for node in nodes) for key in ("parameters", "flops_per_token", "state_bytes")},
    }


def _layers(module: Any) -> list[dict[str, Any]]:
    """What the layers of a block do, part by part, with the parameters of each part; empty without layers."""
    return [
        {"title": title, "parts": [{"does": text, "parameters": count_parameters(block)} for text, block in parts]}
        for title, parts in (module.opened() if offers(module, "opened") else [])
    ]


def axis_letters(graph: Graph) -> dict[str, str]:
    """The letter of the time axis of every input and node that has one: T, beside which a source's is S.

    Several axes of a kind are numbered: T1, T2. A sequence of several, one after the other, is S+T.
    """
    plan = graph.plan
    axes, generated = time_axes(graph), {plan.inputs[name].axis or name for name in plan.generated}
    letters: dict[str, str] = {}
    for letter, own in (("S" if generated else "T", [a for a in axes if a not in generated]), ("T", sorted(generated))):
        letters |= {axis: letter if len(own) == 1 else f"{letter}{i}" for i, axis in enumerate(own, 1)}
    found = {name: letters[field.axis or name] for name, field in plan.inputs.items() if field.timed}
    for node in plan.nodes:
        if "T" in plan.outputs[node.name].shape:
            main = next(iter(node.sources.values()), ())
            found[node.name] = "+".join(dict.fromkeys(found[source] for source in main if source in found)) or "T"
    return found


def _lettered(shape: Sequence[int | str | None], letter: str | None) -> list[int | str | None]:
    return [letter or size if size == "T" else size for size in shape]


def family(graph: Graph) -> str:
    """Vec2Seq, Seq2Vec or Seq2Seq, from the kinds of the graph's inputs and targets."""
    plan = graph.plan
    given = list(plan.given.values())
    if not any(field.timed for field in plan.targets.values()):
        return "Seq2Vec" if any(field.timed for field in given) else "Vec2Vec"
    if not plan.generated:
        return "Seq2Seq, aligned"
    if not given:
        return "Seq2Seq, aligned (next step)"
    return "Seq2Seq, unaligned" if any(field.timed for field in given) else "Vec2Seq"


def count_parameters(module: nn.Module, seen: set[int] | None = None) -> int:
    """The number of trainable and frozen parameters. Those in ``seen`` were counted before, for another node."""
    seen = set() if seen is None else seen
    fresh = [parameter for parameter in module.parameters() if id(parameter) not in seen]
    seen.update(id(parameter) for parameter in fresh)
    return sum(parameter.numel() for parameter in fresh)


#: A part of a graph's parameters: those outside of embeddings and positions, or those of mixers.
Count = Literal["all", "non_embedding", "mixer"]


def count_part(graph: Graph, part: Count) -> int:
    """The number of parameters in a part of a graph.

    non_embedding: all but those of embeddings and positions. A head's matrix that is tied to an embedding is the
        embedding's; a matrix of its own counts
    mixer: those of mixers, positions inside them included, but not of mixers inside an embedding, over characters
    """

    def of(*kinds: str) -> dict[int, nn.Parameter]:
        classes = {block for kind in kinds for block in registry.blocks(kind).values()}
        modules = (module for module in graph.modules() if type(module) in classes)
        return {id(parameter): parameter for module in modules for parameter in module.parameters()}

    counted = {id(parameter): parameter for parameter in graph.parameters()}
    if part == "non_embedding":
        counted = {key: counted[key] for key in counted.keys() - of("embedding", "position").keys()}
    elif part == "mixer":
        counted = {key: counted[key] for key in of("mixer").keys() - of("embedding").keys()}
    return sum(parameter.numel() for parameter in counted.values())


def count_flops(graph: Graph, length: int) -> dict[str, float]:
    """Each node's FLOPs per step, if every sequence has ``length`` steps."""
    found = row_flops(graph, dict.fromkeys(time_axes(graph), length))
    return {name: flops / length for name, flops in found.items()}


def count_state(graph: Graph, length: int) -> dict[str, int]:
    """The bytes of each streaming node's state for one sequence after ``length`` steps."""
    plan = graph.plan
    if not plan.generated:
        return {}
    with on_meta(), torch.no_grad():
        inputs = {name: field.example(1, length) for name, field in plan.inputs.items()}
        state = graph.start({name: inputs[name] for name in plan.given}, batch=1)
        _, state = graph({name: inputs[name] for name in plan.generated}, state)
    return {name: _bytes(part) for name, part in state["nodes"].items()}


def _bytes(state: State) -> int:
    return sum(leaf.numel() * leaf.element_size() for leaf in pytree.tree_leaves(state))


def settings(node: Node) -> dict[str, Any]:
    """All knobs of a node that are not None, flat: 'mixer.heads' -> 4."""
    flat = {name: value for name, value in _flatten(node.recipe) if value is not None}
    if "causal" in node.recipe.signature.facts or not node.causal:
        flat["causal"] = node.causal
    return flat


def _flatten(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """The values inside a value, each with its dotted name."""
    if value is Empty.EMPTY:
        return [(name, None)]
    if isinstance(value, Recipe):
        chosen = {"type": value.name} if name else {}
        value = chosen | {key: value.knobs.get(key, knob.default) for key, knob in value.signature.knobs.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        inside = ((f"{name}.{key}" if name else key, item) for key, item in value.items())
        return [pair for key, item in inside for pair in _flatten(item, key)]
    return [(name, str(value) if isinstance(value, Reference) else value)]


def shown_shape(output: Mapping[str, Any]) -> str:
    return f"{output['kind']} {shown_sizes(output)}"


def shown_sizes(output: Mapping[str, Any]) -> str:
    return f"({', '.join(str(size) for size in output['shape'])})"


def human(number: float, unit: str = "") -> str:
    """1234567 -> '1.23M'."""
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(float(f"{number:.3g}")) >= scale:  # 999,960 is a million, rounded
            return f"{number / scale:.3g}{letter}{unit}"
    return f"{number:.3g}{unit}"
