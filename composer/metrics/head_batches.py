"""The predictions of every head for a batch: with teacher forcing, and decoded autoregressively."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from composer.core.signals import Ids, Seq, Signal, Timed
from composer.decoding import DecodeOptions, Settings, decode
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.metrics.metric import HeadBatch
from composer.objectives import Batch, Objective

#: The number of tokens by which a generated sequence may exceed its target.
SPARE = 5


@dataclass(frozen=True)
class HeadBatches:
    """The predictions of one head for a batch.

    steps: predictions with teacher forcing, as in training
    whole: predictions decoded autoregressively; without rows where nothing was decoded; the same as ``steps`` where the
        head does not decode
    """

    steps: HeadBatch
    whole: HeadBatch


def predictions(
    graph: Graph, objective: Objective, batch: Batch, *, decoded: bool, search: Settings | None = None
) -> dict[str, HeadBatches]:
    """The predictions of every head, by node name.

    decoded: whether sequences are decoded autoregressively, too
    search: the search for tokens, greedy decoding by default
    """
    read = {name: batch.signals[name] for name in graph.plan.given}
    outputs, _ = graph(graph.read(batch.signals))
    losses = graph.losses(outputs, batch.signals)
    kept = {name: signal.to("cpu") for name, signal in read.items()}
    found = {}
    for head in graph.heads:
        name, about = str(head.predicts), graph.target(head)
        target = batch.signals[name]
        forced = decode(graph, head, batch, DecodeOptions(forced=True), outputs[head.name]).found
        if isinstance(forced, Seq) and isinstance(target, Seq):
            forced = forced.steps(0, target.time)  # without the steps after the end of the target
        cost, weight = _weighed(losses[head.name], batch.weight(name), by_steps=about.aligned)
        seen = HeadBatch(
            field=graph.plan.targets[name],
            losses=cost,
            weight=weight,
            target=target.to("cpu"),
            found=forced.to("cpu"),
            given=kept,
            show=partial(objective.show, name),
            origin=batch.origin,
            texts=partial(objective.references, name),
            bounds=graph.bounds.get(head.name),
            head=graph.nodes[head.name],
            output=outputs[head.name],
        )
        whole = seen
        if about.decodes and not decoded:
            whole = replace(seen.first(0), output=None)
        elif about.decodes:
            whole = replace(seen, found=_decoded(graph, head, batch, target, search).to("cpu"), output=None)
        found[head.name] = HeadBatches(seen, whole)
    return found


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


def _decoded(graph: Graph, head: Node, batch: Batch, target: Signal, search: Settings | None) -> Signal:
    """What a head generates for the inputs: tokens up to <eos>, or as many real values as the target."""
    assert isinstance(target, Timed)
    if target.batch == 0 or target.time == 0:
        return target
    limits = target.counts + SPARE  # of each row, so that results do not depend on the rest of the batch
    length = int(limits.max()) if isinstance(target, Ids) else target.time
    found = decode(graph, head, batch, DecodeOptions(search=search, length=length)).found
    if isinstance(found, Ids):
        return Ids(found.values, found.counts.minimum(limits.to(found.values.device)))
    return Seq(found.values.to(target.values.dtype), target.lengths)
