"""The catalogue of registered blocks, as text and as plain data: every block's meaning, ports and parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from torch import nn

from composer.core import registry
from composer.core.block import Recipe, Signature, describe_type
from composer.core.capabilities import declared
from composer.views.tables import text_table


def entries(kinds: Iterable[str]) -> list[dict[str, Any]]:
    """The registered blocks of these kinds, as plain data."""
    return [_entry(kind, name, block) for kind in kinds for name, block in registry.blocks(kind).items()]


def _entry(kind: str, name: str, block: type[nn.Module]) -> dict[str, Any]:
    signature = Signature.of(block)
    documentation = inspect.getdoc(sys.modules[block.__module__]) or ""
    return {
        "kind": kind,
        "name": name,
        "meaning": " ".join(documentation.split("\n\n")[0].split()),
        "documentation": documentation,
        "ports": {
            port.name: {"kinds": list(port.kinds), "optional": port.optional, "several": port.variadic}
            for port in signature.ports.values()
        },
        "outputs": list(signature.outputs),
        "causal": capability(block),
        "parameters": [
            {
                "name": knob.name,
                "takes": describe_type(knob.type),
                "required": knob.required,
                "default": None if knob.required or isinstance(knob.default, Recipe) else knob.default,
            }
            for knob in signature.knobs.values()
        ],
    }


def capability(block: type[nn.Module]) -> str:
    """How a block reads time.

    'step by step': each step alone; 'from the past': causal, with a state; 'both ways': bidirectional; 'either': causal
    or bidirectional, by the fact ``causal`` or by what the block is made of (a property).
    """
    signature = Signature.of(block)
    if "causal" in signature.facts or isinstance(declared(block, "causal"), property):
        return "either"
    if declared(block, "causal") is False:
        return "both ways"
    return "from the past" if signature.stateful else "step by step"


def text(found: Iterable[dict[str, Any]]) -> str:
    """The entries as tables for the screen, one for each kind."""
    tables: list[str] = []
    for kind, entries_of_kind in groupby(found, key=itemgetter("kind")):
        rows: list[tuple[str, str]] = []
        for entry in entries_of_kind:
            rows.append((entry["name"], entry["meaning"]))
            if shown := ", ".join(map(_shown, entry["parameters"])):
                rows.append(("", shown))
        tables.append(text_table([kind, ""], rows))
    return "\n\n".join(tables)


def _shown(parameter: dict[str, Any]) -> str:
    if parameter["required"]:
        return f"{parameter['name']} ({parameter['takes']})"
    default = parameter["default"]
    words = {None: "none", True: "true", False: "false"}
    known = default is None or isinstance(default, bool)
    return f"{parameter['name']}={words[default] if known else default}"
