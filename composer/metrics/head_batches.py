"""The predictions of every head for a batch: with teacher forcing, and decoded autoregressively."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from composer.core.signals import Ids, Seq, Signal, Timed
from composer.decoding import roll
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.metrics.metric import HeadBatch
from composer.objectives import Batch, Objective

#: The number of tokens by which a generated sequence may exceed its target.
SPARE = 5

#: decode(graph, inputs, head, length): the sequences that a head generates for the inputs, at most ``length`` steps.
Decode = Callable[[Graph, Mapping[str, Signal], str, int], Signal]


@dataclass(frozen=True)
class HeadBatches:
    """The predictions of one head for a batch.

    steps: predictions with teacher forcing, as in training
    whole: predictions decoded autoregressively; without rows where nothing was decoded; the same as ``steps`` where the
        head does not decode
    """

    steps: HeadBatch
    whole: HeadBatch


def views_of(graph: Graph, objective: Objective, batch: Batch, decode: Decode | None) -> dict[str, HeadBatches]:
    """The predictions of every head, by node name. Where ``decode`` is None, only those with teacher forcing."""
    read = {name: batch.signals[name] for name in graph.plan.given}
    outputs, _ = graph(graph.read(batch.signals))
    losses = graph.losses(outputs, batch.signals)
    kept = {name: signal.to("cpu") for name, signal in read.items()}
    views = {}
    for head in graph.heads:
        name = str(head.predicts)
        target = batch.signals[name]
        module: Any = graph.nodes[head.name]
        cost, weight = _weighed(losses[head.name], batch.weight(name), by_steps=graph.target(head).aligned)
        seen = HeadBatch(
            field=graph.plan.targets[name],
            losses=cost,
            weight=weight,
            target=target.to("cpu"),
            found=_as_long(module.predict(outputs[head.name]), target).to("cpu"),
            given=kept,
            show=partial(objective.show, name),
            origin=batch.origin,
            texts=partial(objective.references, name),
            bounds=graph.bounds.get(head.name),
            head=module,
            output=outputs[head.name],
        )
        whole = seen
        if graph.target(head).decodes:
            whole = replace(seen.first(0), output=None)
            if decode is not None:
                decoded = _generated(graph, head, read, target, decode).to("cpu")
                whole = replace(seen, found=decoded, output=None)
        views[head.name] = HeadBatches(seen, whole)
    return views


def _as_long(found: Signal, target: Signal) -> Signal:
    """The prediction; of real values, without the steps after the end of the target."""
    return found.steps(0, target.time) if isinstance(found, Seq) and isinstance(target, Seq) else found


def _weighed(losses: Tensor, weight: Tensor, *, by_steps: bool) -> tuple[Tensor, Tensor]:
    """The losses and weights of steps or rows, in the same shape.

    A head that aligns its output by itself (CTC) or predicts all steps together (CRF) has one loss a row. That loss is
    divided by the weight of the row's steps, so that every step counts as in training; ``by_steps``, every step gets
    that share, so that other metrics can still compare single steps.
    """
    if losses.dim() < weight.dim():
        total = weight.sum(1)
        losses = losses / total
        losses, weight = (losses[:, None].expand_as(weight), weight) if by_steps else (losses, total)
    return losses.cpu().double(), weight.cpu().double()


def _generated(graph: Graph, head: Node, read: dict[str, Signal], target: Signal, decode: Decode) -> Signal:
    """The sequences that a head generates for the inputs: tokens up to <eos>, or as many real values as the target."""
    assert isinstance(target, Timed)
    if target.batch == 0 or target.time == 0:
        return target
    if isinstance(target, Ids):
        limits = target.counts + SPARE  # a limit for each row, so that results do not depend on the rest of the batch
        found = decode(graph, read, head.name, int(limits.max()))
        assert isinstance(found, Ids)
        return Ids(found.values, found.counts.minimum(limits.to(found.values.device)))
    assert isinstance(target, Seq)
    return Seq(roll(graph, read, head.name, target.time).values.to(target.values.dtype), target.lengths)
