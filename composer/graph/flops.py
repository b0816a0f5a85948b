"""FLOPs of a graph's forward pass for rows of given lengths: matrix products and convolutions, two a multiply-add.

Every row counts at its own lengths, so that neither padding nor the order of the rows changes a count. Products are
counted by torch on the meta device. A block whose computation does more than its definition needs, such as attention
over blocks of a fixed size, declares the FLOPs of its definition (``flops`` in capabilities.py), which count instead.

The products of a graph are a polynomial of degree two in the lengths of its time axes, and so are the numbers of rows
and steps that each declaring block reads. A few small lengths determine the polynomials; counts at rows of the data
verify them. Where they do not hold, for example behind a convolution with a stride, all lengths are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from composer.core.capabilities import offers
from composer.core.meta import on_meta
from composer.core.signals import Signal, Timed
from composer.graph.graph import Graph, run_node

#: FLOPs of a training step for each FLOP of the forward pass: the backward pass computes two products for each.
TRAINING = 3

#: The lengths of the first counts are multiples of this number.
UNIT = 8

#: The lengths of the time axes of a row, in the order of ``time_axes``.
Lengths = tuple[int, ...]


@dataclass
class RowCount:
    """The products of one row, and the calls of blocks that declare their FLOPs.

    products: FLOPs by node, without those of the calls
    calls: node, block, rows, steps
    """

    products: dict[str, float] = field(default_factory=dict)
    calls: list[tuple[str, Any, int, int]] = field(default_factory=list)

    def by_node(self) -> dict[str, float]:
        found = dict(self.products)
        for node, block, rows, steps in self.calls:
            found[node] += rows * block.flops(steps)
        return found


def time_axes(graph: Graph) -> list[str]:
    """The time axes of the fields that a graph reads; fields with the same steps share one."""
    return list(dict.fromkeys(field.axis or name for name, field in graph.plan.inputs.items() if field.timed))


def row_flops(graph: Graph, lengths: Mapping[str, int]) -> dict[str, float]:
    """Each node's FLOPs for one row. lengths: by time axis"""
    return _count(graph, lengths).by_node()


def total_flops(graph: Graph, rows: Mapping[Lengths, int]) -> float:
    """The FLOPs of a graph for many rows. rows: how many have which lengths"""
    axes = time_axes(graph)

    def count(lengths: Lengths) -> RowCount:
        return _count(graph, dict(zip(axes, lengths, strict=True)))

    flops = _fitted(count, list(rows)) or (lambda lengths: sum(count(lengths).by_node().values()))
    return sum(number * flops(lengths) for lengths, number in rows.items())


def block_flops(block: nn.Module, run: Callable[[], object], steps: int) -> float:
    """The FLOPs of a single block for one row: declared, or counted while ``run`` calls the block."""
    if offers(block, "flops"):
        return block.flops(steps)  # type: ignore[operator]
    with on_meta(), torch.no_grad(), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def _count(graph: Graph, lengths: Mapping[str, int]) -> RowCount:
    found = RowCount()
    with on_meta(), torch.no_grad():
        signals: dict[str, Signal] = {
            name: described.example(1, lengths.get(described.axis or name, 1))
            for name, described in graph.plan.inputs.items()
        }
        for node in graph.plan.nodes:
            module = graph.nodes[node.name]
            with FlopCounterMode(display=False) as counter, _declaring(node.name, module, counter, found) as spared:
                signals[node.name] = run_node(node, module, signals)
            found.products[node.name] = counter.get_total_flops() - sum(spared)
    return found


@contextmanager
def _declaring(node: str, module: nn.Module, counter: FlopCounterMode, found: RowCount) -> Iterator[list[float]]:
    """Record the calls of the blocks that declare their FLOPs; the result is what was counted during these calls."""
    spared: list[float] = []
    before: list[float] = []

    def enter(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        before.append(counter.get_total_flops())

    def leave(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object) -> None:
        x = args[0] if args else kwargs["x"]
        counted = counter.get_total_flops() - before.pop()
        if before:
            return  # inside a block that declares its FLOPs itself
        assert isinstance(x, Timed)
        spared.append(counted)
        found.calls.append((node, block, x.batch, x.time))

    hooks = []
    for block in module.modules():
        if offers(block, "flops"):
            hooks.append(block.register_forward_pre_hook(enter, with_kwargs=True))
            hooks.append(block.register_forward_hook(leave, with_kwargs=True))
    try:
        yield spared
    finally:
        for hook in hooks:
            hook.remove()


def _fitted(count: Callable[[Lengths], RowCount], rows: list[Lengths]) -> Callable[[Lengths], float] | None:
    """The FLOPs as a function of the lengths, from a few counts; None where no polynomial describes these rows."""
    varying = [axis for axis, lengths in enumerate(zip(*rows, strict=True)) if len(set(lengths)) > 1]
    powers = [*((),), *((axis,) for axis in varying), *combinations_with_replacement(varying, 2)]
    if len(rows) <= len(powers) + 3:
        return None
    longest = [max(lengths) for lengths in zip(*rows, strict=True)]
    units = [max(1, min(UNIT, most // 3)) for most in longest]
    points = [
        tuple(
            units[axis] * (1 + power.count(axis)) if axis in varying else longest[axis] for axis in range(len(longest))
        )
        for power in powers
    ]
    counts = [count(point) for point in points]
    blocks = [block for _, block, _, _ in counts[0].calls]

    def terms(lengths: Lengths) -> Tensor:
        return torch.tensor([prod(lengths[axis] for axis in power) for power in powers], dtype=torch.float64)

    wanted = torch.stack([_numbers(found) for found in counts])
    weights = torch.linalg.solve(torch.stack([terms(point) for point in points]), wanted)

    def numbers(lengths: Lengths) -> Tensor:
        return (terms(lengths) @ weights).round()

    ordered = sorted(rows, key=lambda lengths: (sum(lengths), lengths))
    for lengths in (ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3], ordered[-1]):
        if not torch.allclose(numbers(lengths), _numbers(count(lengths)), rtol=1e-9, atol=0):
            return None

    def flops(lengths: Lengths) -> float:
        products, *sizes = numbers(lengths).tolist()
        calls = zip(blocks, sizes[::2], sizes[1::2], strict=True)
        return products + sum(rows * block.flops(int(steps)) for block, rows, steps in calls)

    return flops


def _numbers(found: RowCount) -> Tensor:
    """The products of all nodes, then the rows and the steps of every call."""
    calls = [float(number) for *_, rows, steps in found.calls for number in (rows, steps)]
    return torch.tensor([sum(found.products.values()), *calls], dtype=torch.float64)
