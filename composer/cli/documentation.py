"""The catalogue of blocks as a page: every block's meaning, equation, ports and parameters, and its measured cost.

The page docs/blocks.md is written by

    python -m composer.cli.documentation > docs/blocks.md
"""

from __future__ import annotations

import json
import re
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from composer.cli.blocks.catalogue import entries
from composer.core import registry
from composer.core.block import Recipe, Signature
from composer.core.capabilities import declared, is_causal
from composer.core.meta import on_meta
from composer.core.problems import ConfigError
from composer.core.program import CONF
from composer.core.signals import KINDS, Contents, Field
from composer.graph.describe import count_parameters, human
from composer.graph.flops import block_flops
from composer.graph.graph import call_node
from composer.graph.nodes import Node, build

#: The sizes with which costs are measured.
DIM = 64
VOCABULARY = 1000
LENGTHS = (128, 512)
CONTENTS = Contents(
    tokens=tuple(map(str, range(VOCABULARY))),
    idf=(1.0,) * VOCABULARY,
    frequency=(1 / VOCABULARY,) * VOCABULARY,
    names=tuple(map(str, range(DIM))),
)

HEAD = f"""# Blocks

Every registered block by kind: what it means, what it reads and gives, its parameters, and what it costs. This page is
made by `python -m composer.cli.documentation`.

The costs are measured on the meta device, with default parameters, for a width of {DIM}, a vocabulary of {VOCABULARY:,}
and images of 3 x 32 x 32. FLOPs are those of matrix products and convolutions in a forward pass, two for a
multiplication and an addition; a state is that of one sequence after T steps. Shapes: B batch, T time, S memory time,
D width, H heads, K head width, V vocabulary.
"""


def blocks_markdown() -> str:
    """The page."""
    parts = [HEAD]
    for kind in registry.kinds():
        found = entries([kind])
        names = "\n".join(f"- [{entry['name']}](#{kind}-{entry['name']}): {entry['meaning']}" for entry in found)
        parts += [f"## {kind}\n\n{names}\n", *(_section(entry) for entry in found)]
    return "\n".join(parts)


def _section(entry: dict[str, Any]) -> str:
    kind, name = entry["kind"], entry["name"]
    timed = any(KINDS[kind].timed for port in entry["ports"].values() for kind in port["kinds"])
    time = f" Time: {entry['causal']}." if timed else ""
    lines = [f"### {kind} {name}", "", entry["documentation"], ""]
    if entry["ports"]:
        lines += [f"Reads {_ports(entry['ports'])}; gives {' or '.join(entry['outputs'])}.{time}", ""]
    if entry["parameters"]:
        notes = _notes(kind, name)
        lines += ["| parameter | takes | default | |", "|---|---|---|---|"]
        lines += [
            f"| `{p['name']}` | {p['takes']} | {_default(p)} | {notes.get(p['name'], '')} |"
            for p in entry["parameters"]
        ]
        lines.append("")
    lines += [_cost(kind, name), "", *_training(registry.blocks(kind)[name])]
    return "\n".join(lines)


def _training(block: type[nn.Module]) -> list[str]:
    """Which of the block's weights do not decay, or have a factor of the learning rate."""
    names, factors = declared(block, "no_decay"), declared(block, "rate_factors")
    sentences = [f"Without weight decay: {', '.join(f'`{name}`' for name in names)}."] if names else []
    if factors:
        shown = ", ".join(f"`{name}` {factor:g}" for name, factor in factors.items())
        sentences.append(f"Factors of the learning rate: {shown}.")
    return [" ".join(sentences), ""] if sentences else []


def _ports(ports: dict[str, Any]) -> str:
    def show(name: str, port: dict[str, Any]) -> str:
        several = "several of " if port["several"] else ""
        return f"{several}`{name}` ({' or '.join(port['kinds'])}{', optional' if port['optional'] else ''})"

    return ", ".join(show(name, port) for name, port in ports.items())


def _default(parameter: dict[str, Any]) -> str:
    if parameter["required"]:
        return "required"
    return f"`{json.dumps(parameter['default']).strip(chr(34))}`"  # as YAML writes it


def _notes(kind: str, name: str) -> dict[str, str]:
    """The comments on the keys of a block's YAML file."""
    leaf = CONF / kind / f"{name}.yaml"
    if not leaf.is_file():
        return {}
    return dict(re.findall(r"^(\w+):[^#\n]*# (.*)$", leaf.read_text(encoding="utf-8"), re.M))


def _cost(kind: str, name: str) -> str:
    if Signature.of(registry.blocks(kind)[name]).inner:
        return "Acts inside the block whose slot holds it, and costs what that costs more with it."
    costs = [cost for length in LENGTHS if (cost := measure(kind, name, length)) is not None]
    if not costs:
        return "Costs what the blocks in its slots cost."
    per = "token" if costs[0]["timed"] else "row"
    lengths = [f"T = {length}" for length in LENGTHS]
    rows = [
        ("parameters", *(f"{cost['parameters']:,}" for cost in costs)),
        (f"FLOPs a {per}", *(human(cost["flops"]) for cost in costs)),
    ]
    if costs[0]["state"] is not None:
        rows.append(("state", *(human(cost["state"], "B") for cost in costs)))
    table = [("", *lengths), ("---", *["---:"] * len(lengths)), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def _example(kind: str) -> Field:
    return Field(
        kind, dim=DIM, vocabulary=VOCABULARY, channels=3, height=32, width=32, steps=96, contents=CONTENTS
    )  # fmt: skip


def measure(kind: str, name: str, length: int) -> dict[str, Any] | None:
    """A block's parameters, FLOPs per token (or row) and bytes of state; None if its slots decide its cost."""
    block = registry.blocks(kind)[name]
    signature = Signature.of(block)
    required = [knob for knob in signature.knobs.values() if knob.required]
    if any(knob.slot is not None for knob in required):
        return None
    knobs = dict.fromkeys((knob.name for knob in required), DIM) | declared(block, "example")
    ports = [port for port in signature.ports.values() if not port.optional]
    sources = {port.name: (f"{port.name}.0", f"{port.name}.1") if port.variadic else (port.name,) for port in ports}
    fields = {source: _example(port.kinds[0]) for port in ports for source in sources[port.name]}
    node = Node(name, Recipe("", name, block, knobs, name), sources, "target", True, name)
    with on_meta():
        try:
            module = build(node, fields | {"target": _example("seq")}, {})
        except ConfigError:
            if signature.slots:
                return None  # its slots are empty, so there is nothing to measure
            raise
        inputs = {name: field.example(1, length) for name, field in fields.items()}
        timed = any(field.timed for field in fields.values())
        flops = block_flops(module, lambda: call_node(node, module, inputs, None), length)
        state = None
        if signature.stateful and is_causal(module):
            once = {port: inputs[port] for port in signature.once if port in inputs}
            _, state = call_node(node, module, inputs, module.start(1, **once))  # type: ignore[operator]
    leaves = [leaf for leaf in pytree.tree_leaves(state) if isinstance(leaf, torch.Tensor)]
    return {
        "timed": timed,
        "parameters": count_parameters(module),
        "flops": flops / (length if timed else 1),
        "state": None if state is None else sum(leaf.numel() * leaf.element_size() for leaf in leaves),
    }


if __name__ == "__main__":
    print(blocks_markdown(), end="")
