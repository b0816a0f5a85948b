"""How numbers, shapes and settings are written in a drawing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Summary = Mapping[str, Any]  # a compiled graph, as plain data


def count(number: float) -> str:
    """A count for people: 950, 396.8k, 1.0M."""
    if abs(number) < 1000:
        return f"{number:g}"
    for power, suffix in enumerate("kMGTPEZ", start=1):
        if abs(round(number / 1000**power, 1)) < 1000:
            return f"{number / 1000**power:.1f}{suffix}"
    return f"{number:.1e}"


def parameters(number: float) -> str:
    return "no parameters" if number == 0 else f"{count(number)} parameters"


def part(inside: Mapping[str, Any]) -> str:
    """A part of a layer, with its parameters."""
    return inside["does"] + (f" · {count(inside['parameters'])}" if inside["parameters"] else "")


def shape(sizes: Sequence[object]) -> str:
    return f"({', '.join(str(size) for size in sizes)})"


def value(setting: object) -> str:
    """A setting as YAML on one line."""
    return setting if isinstance(setting, str) else json.dumps(setting, default=str, ensure_ascii=False)


def block(node: Mapping[str, Any]) -> str:
    """The names of a node's block and kind; one name if both are the same."""
    return node["kind"] if node["block"] == node["kind"] else f"{node['block']} {node['kind']}"


def field(entry: Mapping[str, Any]) -> str:
    """The kind of an input, and the size of its vocabulary."""
    vocabulary = entry.get("vocabulary")
    return f"input, {entry['kind']}" + (f" of {vocabulary}" if vocabulary is not None else "")


def shapes(summary: Summary) -> dict[str, str]:
    """The shape of every input and of every node's output, by their names."""
    inputs = {entry["name"]: shape(entry["shape"]) for entry in summary["inputs"]}
    return inputs | {node["name"]: shape(node["output"]["shape"]) for node in summary["nodes"]}


def totals(summary: Summary) -> str:
    """A graph's parameters, FLOPs and state in one line."""
    costs = summary.get("totals", {})
    parts = [parameters(costs.get("parameters", 0)), f"{count(costs.get('flops_per_token', 0))} FLOPs per token"]
    if costs.get("state_bytes"):
        parts.append(f"{count(costs['state_bytes'])}B of state")
    if summary.get("length") is not None:
        parts.append(f"length {summary['length']}")
    return " · ".join(parts)
