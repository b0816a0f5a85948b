"""The head that fits a declared field, where nobody has chosen a head.

A template leaves its head to the config's default, which predicts tokens and classes. A field of ``data=table`` is
declared with its type, and the type knows its head: several classes at once, or a number, need another one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from composer.config.layers import Layers, select
from composer.config.search_path import SearchPath
from composer.config.slots import NODE_KEYS
from composer.config.yaml_files import PRIMARY

GROUP = "head"


def fit_heads(layers: Layers, search: SearchPath, chosen: Container[str]) -> None:
    """Replace the default head of nodes that predict a declared field whose type names another head.

    chosen: the command line's choices of groups
    """
    wanted = dict(_wanted(layers.values))
    if not wanted or GROUP in chosen:
        return
    primary = search.find(PRIMARY)
    assert primary is not None
    choices = (entry for entry in primary.content["defaults"] if isinstance(entry, dict))
    default = next(f"{GROUP}/{entry[GROUP]}" for entry in choices if GROUP in entry)
    origins, nodes = layers.origins, select(layers.values, "model.nodes")
    for name, head in wanted.items():
        path, node = f"model.nodes.{name}", nodes[name]
        if f"{GROUP}@{path}" in chosen or origins.get(f"{path}.type") != default:
            continue
        for key in [key for key in node if key not in NODE_KEYS and origins.get(f"{path}.{key}") == default]:
            del node[key]
        node["type"], origins[f"{path}.type"] = head, f"{GROUP}/{head}"
        node |= {key: value for key, value in search.keys(GROUP, head).items() if key not in node}


def _wanted(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name of every node that predicts a declared field whose type names a head, and that head."""
    nodes, fields = select(values, "model.nodes"), select(values, "data.fields")
    if not (isinstance(nodes, dict) and isinstance(fields, dict)):
        return
    from composer.core import registry  # imports torch, which most configs do not need so early

    for name, node in nodes.items():
        predicts = node.get("predicts") if isinstance(node, dict) else None
        field = fields.get(predicts) if isinstance(predicts, str) else None
        entry = registry.entries("field").get(str(field.get("type"))) if isinstance(field, dict) else None
        if (head := getattr(entry, "head", None)) is not None:
            yield name, head
