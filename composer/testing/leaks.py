"""A numeric search for leaks: does a head's prediction move with the values that it has to predict?

The proof of the compiler (composer/graph/compiler/prove.py) follows what blocks and objectives declare. This search
believes neither: it changes a step in the data, lets the objective make its fields again, and compares the outputs.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.problems import listed
from composer.core.signals import Field, Ids, Label, Signal, Spelling, Timed
from composer.data import SPLITS, Split
from composer.data.source import RowNumbers
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.objectives import Objective
from composer.testing.training_mode import in_training

#: Rows of real data, steps of theirs to change, and rows among which short ones are chosen.
ROWS, PLACES, CONSIDERED = 3, 6, 50

#: The steps that a row should have at least, so that there is a future to leak.
STEPS = 4

#: Below this, a difference of outputs in float64 is a rounding error.
TOLERANCE = 1e-8


@torch.no_grad()
def find_leak(graph: Graph, objective: Objective) -> str:
    """How a head sees what it has to predict, in a sentence; '' if no change of the data shows that it does.

    graph: initialised, in float64 and in evaluation mode
    """
    split = next((split for split in SPLITS if objective.size(split)), None)
    if split is None:
        return ""
    rows = _some_rows(objective, split)
    before = _signals(objective, split, rows)
    outputs = graph(graph.read(before))[0]
    if leak := _search(graph, objective, split, rows, before, outputs):
        return leak
    with in_training(graph) as trained:
        signals = _signals(objective, split, rows, training=True)
        found = trained(trained.read(signals))[0]
        if _all_same(before, signals) and _all_same(outputs, found, TOLERANCE):
            return ""  # in training the graph is the same function, of the same data
        leak = _search(trained, objective, split, rows, signals, found)
    return f"in training mode, {leak}" if leak else ""


def _search(
    graph: Graph, objective: Objective, split: Split, rows: Sequence[int], before: Mapping[str, Signal],
    outputs: Mapping[str, Signal],
) -> str:  # fmt: skip
    """A leak in the mode of the graph, whose outputs for the signals ``before`` are known."""
    made_from = {name: objective.made_from(name) for name in objective.fields}
    source = objective.source
    for origin in sorted(set[str]().union(*(made_from[name] for name in graph.plan.targets))):
        changed = {origin, *source.related.get(origin, ())} & set(source.fields)
        for places in _places(source.batch(split, objective.source_rows(split, rows)), origin, changed, source.fields):
            after = _signals(_changed(objective, places), split, rows, graph.training)
            moved = {name for name in before if not _all_same({name: before[name]}, after)}
            for name in sorted(moved):
                if not changed & made_from[name]:
                    return (
                        f"'{name}' changes with '{origin}' of the data, of which the objective's 'needs' says nothing"
                    )
            for head in graph.heads:
                leak = _leak(graph, objective, head, before, {name: after[name] for name in moved}, outputs)
                if leak:
                    return leak
    return ""


def _leak(
    graph: Graph,
    objective: Objective,
    head: Node,
    before: Mapping[str, Signal],
    moved: Mapping[str, Signal],
    outputs: Mapping[str, Signal],
) -> str:
    """Compare a head's outputs up to the first step at which its target has moved; other steps may depend on it."""
    name = str(head.predicts)
    if name not in moved:
        return ""
    tell = {other for other in moved if other == name or name in objective.reveals(other)}
    if not tell & graph.reads(head.name):
        return ""
    now = {**before, **{other: moved[other] for other in tell}}
    found = graph(graph.read(now))[0][head.name]
    differs = _distance(before[name], moved[name]) > 0  # (B, T), or (B, 1) without a time axis
    apart = _distance(found, outputs[head.name])
    first = differs.long().argmax(1)
    if differs.shape[1] == apart.shape[1] and graph.target(head).aligned:
        bound = torch.arange(differs.shape[1]) <= first[:, None]  # the steps up to the first that differs
        when = f" up to step {int(first[differs.any(1)].min())}"
    else:
        bound, when = torch.ones_like(apart, dtype=torch.bool), ""  # no step may depend on the target
    if bool((apart[bound & differs.any(1, keepdim=True)] <= TOLERANCE).all()):
        return ""
    through = "" if tell == {name} else f" and with it {listed(sorted(tell - {name}))}"
    return f"the output of '{head.name}'{when} changes with '{name}'{through}, which it has to predict"


def _some_rows(objective: Objective, split: Split) -> Sequence[int]:
    """A few short rows with several steps: the search takes a pass over the graph for every step that it changes."""
    count = min(CONSIDERED, objective.size(split))
    lengths = objective.lengths(split, range(count))
    total = torch.stack(list(lengths.values())).amin(0) if lengths else torch.full((count,), STEPS)
    order = sorted(range(count), key=lambda row: (int(total[row]) < STEPS, int(total[row])))
    return sorted(order[:ROWS])


def _signals(objective: Objective, split: Split, rows: Sequence[int], training: bool = False) -> dict[str, Signal]:
    made = objective.training_batch(split, rows, 0) if training else objective.batch(split, rows)
    found = made.signals
    return pytree.tree_map(lambda leaf: leaf.double() if leaf.is_floating_point() else leaf, found)


def _places(
    signals: Mapping[str, Signal], origin: str, changed: Collection[str], fields: Mapping[str, Field]
) -> Iterator[dict[str, int | None]]:
    """What to change together: by field the step in time, or None for all places.

    signals: rows that will be changed, for the number of their steps
    changed: the field ``origin``, and others of its column: at the same step on the same time axis, or at all places
    """
    signal = signals[origin]
    if not isinstance(signal, Timed):
        yield dict.fromkeys(changed)
        return
    axis = fields[origin].axis or origin
    along = {name for name in changed if fields[name].timed and (fields[name].axis or name) == axis}
    for step in sorted({round(place) for place in torch.linspace(0, signal.time - 1, PLACES).tolist()}):
        yield {name: step if name in along else None for name in changed}


def _changed(objective: Objective, places: Mapping[str, int | None]) -> Objective:
    """The objective over a copy of its source in which every row has other values at these places."""
    source: Any = copy.copy(objective.source)
    read = source.batch

    def batch(split: Split, rows: RowNumbers) -> dict[str, Signal]:
        found = dict(read(split, rows))
        for name, step in places.items():
            before, values = found[name].values, _other_values(found[name], source.fields[name])
            if step is not None:
                values = torch.cat([before[:, :step], values[:, step : step + 1], before[:, step + 1 :]], dim=1)
            found[name] = replace(found[name], values=values)
        return found

    source.batch = batch
    other = copy.copy(objective)
    other.source = source
    return other


def _other_values(signal: Signal, field: Field) -> Tensor:
    """Another value at every place. Special tokens stay, since the length of a text may depend on them."""
    values = signal.values
    if not isinstance(signal, Ids | Spelling | Label):
        return values + 1
    size = field.vocabulary or int(values.max()) + 2
    special = {token for token in (field.start, field.stop, field.blank, *field.contents.special) if token is not None}
    plain = [token for token in range(size) if token not in special]
    following = dict(zip(plain, plain[1:] + plain[:1], strict=True))
    table = torch.tensor([following.get(token, token) for token in range(size)])
    return table[values.clamp(0, size - 1)]


def _all_same(some: Mapping[str, Signal], others: Mapping[str, Signal], tolerance: float = 0.0) -> bool:
    return all(
        signal.values.shape == others[name].values.shape and bool((_distance(signal, others[name]) <= tolerance).all())
        for name, signal in some.items()
    )


def _distance(one: Signal, other: Signal) -> Tensor:
    """(B, T), the largest distance of two signals at each real step; (B, 1) without a time axis."""
    if not isinstance(one, Timed) or not isinstance(other, Timed):
        return (one.values - other.values).abs().reshape(one.batch, -1).amax(1, keepdim=True)
    time = min(one.time, other.time)
    apart = (one.filled()[:, :time] - other.filled()[:, :time]).abs()
    return apart.flatten(2).amax(-1) if apart.dim() > 2 else apart
