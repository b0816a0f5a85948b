"""Pass 1: check a node's keys against its block's signature. An unknown key is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from torch import nn

from composer.core import registry
from composer.core.binding import bind_block, bind_value
from composer.core.block import Range, Recipe, walk
from composer.core.capabilities import declared
from composer.core.problems import Report, UserError, did_you_mean, listed, show_value
from composer.graph.nodes import Node

#: The keys of a node beside the type of its block and its knobs.
NODE_KEYS = ("kind", "from", "predicts", "causal", "weight")

#: The attributes of the class that holds the nodes, which are its attributes, too: names that no node may have.
RESERVED = frozenset(dir(nn.ModuleDict()))

#: The type of the key ``weight`` of a head.
HEAD_WEIGHT = Annotated[float, Range(low=0)]


def bind_nodes(nodes: object, path: str, report: Report) -> dict[str, Node]:
    """All nodes with their recipes. A node whose block is unknown is kept, without a recipe."""
    if not isinstance(nodes, Mapping) or not nodes:
        report.add(path, f"expected a mapping of node names to nodes, found {show_value(nodes)}.")
        return {}
    return {str(name): _bind_node(name, node, f"{path}.{name}", report) for name, node in nodes.items()}


def refuse_files(drafts: Mapping[str, Node]) -> None:
    """Raise an error if a block of a checkpoint's config would be built from a file: the checkpoint has its weights."""
    for recipe in (recipe for draft in drafts.values() for recipe in walk(draft.bound)):
        for knob in declared(recipe.block, "files"):
            if recipe.knobs.get(knob) is not None:
                raise UserError(
                    f"the config of this checkpoint names a file in {recipe.path}.{knob}. A checkpoint has its "
                    "weights, and cannot choose which files of this machine are read. Was its config changed?"
                )


def _bind_node(name: object, node: object, path: str, report: Report) -> Node:
    usable = isinstance(name, str) and name.isidentifier() and name not in RESERVED
    if not usable:
        report.add(path, f"'{name}' cannot be a node's name. Use letters, digits and _, and no reserved word.")
    if not isinstance(node, Mapping):
        report.add(path, f"expected a mapping with the keys kind, type, from, ..., found {show_value(node)}.")
        return Node(str(name), None, None, None, True, path)
    causal = bind_value("causal", node.get("causal", True), bool, f"{path}.causal", report) is not False
    weight = bind_value("weight", node.get("weight", 1.0), HEAD_WEIGHT, f"{path}.weight", report)
    recipe = _bind_recipe(node, path, report)
    if recipe is not None:
        directs = "causal" in recipe.signature.facts or recipe.kind == "mixer"
        if "causal" in node and not directs:
            report.add(f"{path}.causal", f"has no effect: '{recipe.name}' does not mix time.")
        elif not causal and declared(recipe.block, "causal") is False:
            report.add(f"{path}.causal", f"has no effect: '{recipe.name}' always reads both ways. Remove it.")
        if "weight" in node and recipe.signature.target is None:
            report.add(f"{path}.weight", f"has no effect: '{recipe.name}' is no head, so it has no loss. Remove it.")
    known = recipe if usable else None
    return Node(str(name), known, node.get("from"), node.get("predicts"), causal, path, weight=weight)


def _bind_recipe(node: Mapping[str, Any], path: str, report: Report) -> Recipe | None:
    kind = node.get("kind")
    if kind not in registry.kinds():
        found = "has no kind" if kind is None else f"there is no kind '{kind}'"
        hint = did_you_mean(kind, registry.kinds())
        report.add(f"{path}.kind", f"{found}.{hint}  (kinds: {listed(registry.kinds())})")
        return None
    values = {key: value for key, value in node.items() if key not in NODE_KEYS}
    recipe = bind_block(kind, values, path, report)
    if recipe is None or not recipe.signature.inner:
        return recipe
    report.add(
        f"{path}.type",
        f"'{recipe.name}' acts only inside another block, so it cannot be a node. "
        f"Put it in the slot '{kind}' of one that has it, e.g. of a stack: {{{kind}: {recipe.name}}}.",
    )
    return None
