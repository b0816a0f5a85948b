"""The gradient of the last step's loss at every earlier step, which shows whether gradients vanish or explode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from composer.core.signals import Signal, Timed
from composer.graph.graph import Graph
from composer.objectives import Batch
from composer.views.figures.probe import read_inputs, time_axes, with_gradients
from composer.views.figures.style import line_axes, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def gradient_by_step(graph: Graph, batch: Batch) -> dict[str, Tensor]:
    """The norm of d loss / d output of every node that reads an input with a time axis, by distance from the end.

    The loss of a row is the loss of its last step with a weight, or the whole row's loss if the target has no time
    axis. Item k of a node's tensor, (T,), is the norm k steps before that step, as a mean over the rows that are long
    enough. If the target follows the time axis of another sequence, k counts back from the node's own last step.
    """
    with with_gradients(graph):
        signals, followed = _forward(graph, batch)
        targets = {name: batch.signals[name].to(graph.device) for name in graph.plan.targets}
        total, ends = _last_losses(graph, batch, signals, targets)
        values = [signal.values for signal in followed.values()]
        slopes = torch.autograd.grad(total, values, allow_unused=True) if values and total.requires_grad else ()
    axes = time_axes(graph, signals)
    found = {}
    for (name, signal), slope in zip(followed.items(), slopes, strict=False):
        end = ends.get(axes.get(name, ""), signal.counts - 1)  # (B,)
        norms = torch.zeros(signal.values.shape[:2]) if slope is None else slope.float().norm(dim=-1).cpu()  # (B, T)
        found[name] = _from_the_end(norms, end.cpu())
    return found


def _forward(graph: Graph, batch: Batch) -> tuple[dict[str, Signal], dict[str, Timed]]:
    """All signals, and the outputs whose gradients are measured. All of these require a gradient."""
    signals = dict(read_inputs(graph, batch.signals))
    followed: dict[str, Timed] = {}
    for node in graph.walk(signals):
        output = signals[node.name]
        fields = [graph.plan.inputs[source] for source in node.inputs if source in graph.plan.inputs]
        if any(field.timed for field in fields) and isinstance(output, Timed) and output.values.is_floating_point():
            if not output.values.requires_grad:
                output = type(output)(output.values.detach().requires_grad_(), output.lengths)
            followed[node.name] = output
        signals[node.name] = output
    return signals, followed


def _last_losses(
    graph: Graph, batch: Batch, signals: Mapping[str, Signal], targets: Mapping[str, Signal]
) -> tuple[Tensor, dict[str, Tensor]]:
    """The sum of each row's loss at its last step with a weight, and the index of that step.

    Rows do not interact, so the gradient of the sum holds each row's own gradient. The indices, (B,), are given for
    every time axis that has a target.
    """
    total = torch.zeros((), device=graph.device)
    ends: dict[str, Tensor] = {}
    for name, losses in graph.losses(signals, targets).items():
        target = str(next(head.predicts for head in graph.heads if head.name == name))
        counts = batch.weight(target).to(losses.device) > 0
        if losses.dim() == 1:
            total = total + (losses if counts.dim() > 1 else losses * counts).sum()
            continue
        steps = torch.arange(losses.shape[1], device=losses.device)
        last = torch.where(counts, steps, -1).amax(1)  # (B,), -1 where no step counts
        total = total + (losses * ((steps == last[:, None]) & counts)).sum()
        axis = graph.plan.targets[target].axis or target
        ends[axis] = torch.maximum(ends[axis], last) if axis in ends else last
    return total, ends


def _from_the_end(norms: Tensor, end: Tensor) -> Tensor:
    """(T,), where item k is the mean over rows of the norm k steps before each row's end."""
    places = end[:, None] - torch.arange(norms.shape[1])  # (B, T)
    there = places >= 0
    reach = int(there.any(0).sum())
    aligned = norms.gather(1, places.clamp(min=0)) * there
    return (aligned.sum(0) / there.sum(0).clamp(min=1))[:reach]


@styled
def gradient_figure(gradients: Mapping[str, Tensor]) -> Figure:
    """One line per node, on a logarithmic scale, where a straight line is a gradient that decays at a constant rate."""
    figure, axes = line_axes(
        "How far back the last loss reaches",
        "steps before the last of its sequence",
        "gradient norm  ‖∂ loss / ∂ output‖",
    )
    axes.set_yscale("log")
    for name, norms in gradients.items():
        shown = norms.double().masked_fill(norms == 0, torch.nan)  # a logarithmic scale has no zero
        marker = "o" if len(norms) <= 60 else None
        axes.plot(range(len(norms)), shown.numpy(), label=name, marker=marker, markersize=3.5, linewidth=1.5)
    axes.invert_xaxis()  # time runs to the right
    axes.locator_params(axis="x", integer=True)
    axes.legend(title="at the output of", alignment="left")
    return figure
