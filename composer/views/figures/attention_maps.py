"""Attention maps: the attention weights of one example, a panel for every head."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from composer.core.block import Signature
from composer.core.capabilities import declared
from composer.core.recording import watch
from composer.core.signals import Ids, Signal, Timed
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.objectives import Batch
from composer.views.drawing import palette
from composer.views.figures.probe import read_inputs, some_rows, time_axes, with_gradients
from composer.views.figures.style import label, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

SHOWN = "attention"  # the attribute ``shows`` of a block that reports attention weights
COLUMNS = 5  # panels side by side
CELL, SINGLE_CELL = 0.17, 0.26  # inches per time step, while there is room: of several panels, and of one
SMALLEST, LARGEST = 1.5, 4.5  # inches per panel
NARROWEST = 5.2  # inches of the figure, so that most titles fit into a line
CHARACTER = 0.09  # inches per character of a label, with some room
TITLE_CHARACTER, TITLE_LINE = 0.105, 0.22  # inches per character and line of the title


@dataclass(frozen=True)
class AttentionMap:
    """One block's attention weights for one example. The weights of every query sum to one over the keys."""

    weights: Tensor  # (H, T, S)
    queries: tuple[str, ...]  # labels of the T query steps
    keys: tuple[str, ...]  # labels of the S key steps
    query_title: str = "query"
    key_title: str = "key"


def attention_maps(graph: Graph, batch: Batch) -> dict[str, AttentionMap]:
    """The weights of every block that reports them, for the first example, by the block's path.

    An example of a path is 'decoder.layers.0.cross'. Generated sequences are teacher-forced. As queries, their steps
    are labelled by the tokens they predict; as keys, by the tokens they read.
    """
    example = some_rows(batch, [0])
    maps: dict[str, AttentionMap] = {}
    with with_gradients(graph), torch.no_grad(), watch() as seen:
        inputs = read_inputs(graph, example.signals)
        signals = graph.run(inputs)
    axes = time_axes(graph, signals)
    for node in graph.plan.nodes:
        for path, module in graph.nodes[node.name].named_modules():
            if declared(module, "shows") != SHOWN:
                continue
            calls = seen.get(module, [])
            for index, weights in enumerate(calls):
                name = _place(node.name, path) + (f".{index}" if len(calls) > 1 else "")
                maps[name] = _map(graph, node, module, weights[0].float().cpu(), example.signals, inputs, axes)
    return maps


def _map(
    graph: Graph,
    node: Node,
    module: nn.Module,
    weights: Tensor,
    written: Mapping[str, Signal],
    read: Mapping[str, Signal],
    axes: Mapping[str, str],
) -> AttentionMap:
    query_axis, key_axis = (axes.get(source) for source in _sources(node, module))
    queries = _labels(graph, query_axis, written, weights.shape[1])
    keys = _labels(graph, key_axis, read, weights.shape[2])
    query = _title("query", graph, query_axis, "to be predicted") if queries != ("",) else "query"
    return AttentionMap(weights, queries, keys, query, _title("key", graph, key_axis, "read so far"))


def _title(what: str, graph: Graph, axis: str | None, generated: str) -> str:
    """'key: source', 'query: target to be predicted'."""
    return f"{what}: {axis} {generated if axis in graph.plan.generated else ''}".strip() if axis else what


def _place(node: str, path: str) -> str:
    """A module's path without the names of wrapper modules."""
    return ".".join([node, *(part for part in path.split(".") if part and part not in ("call", "block"))])


def _sources(node: Node, module: nn.Module) -> tuple[str, str]:
    """The signals that the queries and the keys come from."""
    x = node.inputs[0]  # its main input
    memory = node.sources.get("memory", ()) if "memory" in Signature.of(type(module)).ports else ()
    return x, memory[0] if memory else x


def _labels(graph: Graph, axis: str | None, signals: Mapping[str, Signal], count: int) -> tuple[str, ...]:
    """The tokens along a time axis, or the numbers of its steps if it has no tokens."""
    signal = signals.get(axis) if axis is not None else None
    if isinstance(signal, Timed) and signal.time == count:
        tokens = (graph.plan.inputs.get(str(axis)) or graph.plan.targets[str(axis)]).contents.tokens
        if isinstance(signal, Ids):
            return tuple(label(tokens[i]) if tokens is not None else str(i) for i in signal.values[0].tolist())
    return ("",) if count == 1 else tuple(str(i) for i in range(count))


@styled
def attention_figure(name: str, shown: AttentionMap) -> Figure:
    """A panel for every head, after their mean if there are several."""
    heads, queries, keys = shown.weights.shape
    panels = [(f"head {index + 1}" if heads > 1 else "", shown.weights[index]) for index in range(heads)]
    if heads > 1:
        panels.insert(0, (f"mean of {heads} heads", shown.weights.mean(0)))
    columns = min(len(panels), COLUMNS)
    rows = -(-len(panels) // columns)
    cell = CELL if len(panels) > 1 else SINGLE_CELL
    width, height = (min(max(SMALLEST, cell * steps), LARGEST) for steps in (keys, queries))
    height = max(0.4, cell * queries) if queries < 4 else height
    beside, below = (CHARACTER * max(map(len, labels)) for labels in (shown.queries, shown.keys))
    inches = max(NARROWEST, columns * (width + 0.25) + 1.2 + beside)
    title = textwrap.wrap(f"Attention in {name}", int(inches / TITLE_CHARACTER), break_long_words=False)
    high = max(CHARACTER * len(shown.query_title), rows * (height + 0.45) + 0.4 + below) + TITLE_LINE * len(title)
    figure = new_figure(inches, high)
    figure.suptitle("\n".join(title), x=0.01, ha="left")
    grid = figure.subplots(rows, columns, squeeze=False)
    scale = _scale(shown.weights)
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_axis_off()
            continue
        head, weights = panels[index]
        image = axes.imshow(weights.numpy(), cmap="Blues", norm=scale, aspect="auto", interpolation="nearest")
        axes.set_title(head, loc="center", fontsize=9, fontweight="normal", color=palette.SOFT)
        last = index + columns >= len(panels)
        _ticks(axes.xaxis, shown.keys if last else (), width)
        _ticks(axes.yaxis, shown.queries if index % columns == 0 else (), height)
        for text in axes.get_xticklabels():
            text.set_rotation(90 if len(text.get_text()) * CHARACTER > width / len(axes.get_xticks()) else 0)
    figure.supxlabel(shown.key_title)
    figure.supylabel(shown.query_title)
    beyond = "max" if float(shown.weights.max()) > (scale.vmax or 1.0) else "neither"
    bar = figure.colorbar(
        image, ax=grid, label="attention weight (square-root scale)", pad=0.01, fraction=0.03, aspect=25, extend=beyond
    )
    bar.outline.set_visible(False)
    return figure


def _scale(weights: Tensor) -> PowerNorm:
    """The colour scale of the weights: their square root, with one colour for the largest half per cent.

    The first queries of a causal sequence have few keys and therefore large weights. On a linear scale, all other
    weights would appear white beside them.
    """
    from matplotlib.colors import PowerNorm

    ordered = weights.flatten().sort().values
    return PowerNorm(0.5, vmin=0.0, vmax=float(ordered[int(0.995 * (len(ordered) - 1))]) or 1.0)


def _ticks(axis: Axis, labels: tuple[str, ...], inches: float) -> None:
    """As many evenly spread labels as there is room for; with the numbers of their steps if some are left out."""
    every = max(1, -(-len(labels) * 13 // round(100 * inches)))
    places = list(range(0, len(labels), every))
    numbered = every > 1 and list(labels) != [str(place) for place in range(len(labels))]
    shown = [f"{place}: {labels[place]}" if numbered else labels[place] for place in places]
    axis.set_ticks(places, shown, parse_math=False)
