"""Truncated backpropagation through time (``training.carry``): every row goes on where the batch before ended."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.problems import Invalid
from composer.core.signals import Signal
from composer.graph.describe import count_state
from composer.graph.graph import Graph
from composer.objectives import Batch


class CarriedStates:
    """The state of every row after the last batch, without its gradient, for each micro-batch of a batch.

    kept: an entry for each micro-batch: epoch, state, and the last step of each generated field; None before the first
    """

    def __init__(self, micro_batches: int) -> None:
        self.kept: list[dict[str, Any] | None] = [None] * micro_batches

    def forward(
        self, graph: Graph, inputs: dict[str, Signal], batch: Batch, index: int, epoch: int
    ) -> dict[str, Signal]:
        """The heads' outputs. The first input of a generated field becomes the last step of the previous batch.

        index: of the micro-batch in its batch
        """
        kept = self.kept[index]
        if kept is None or kept["epoch"] != epoch:  # a new epoch begins with other rows
            state = graph.start({}, batch.rows)
        else:
            state = kept["state"]
            for name, last in kept["last"].items():
                inputs[name].values[:, :1] = last
        outputs, state = graph(inputs, state)
        last = {name: batch.signals[name].values[:, -1:] for name in inputs}
        self.kept[index] = {"epoch": epoch, "state": pytree.tree_map(Tensor.detach, state), "last": last}
        return outputs


def check_carry(graph: Graph) -> None:
    """Raise an error if the state cannot be carried from batch to batch.

    The state has to have a fixed size, and the model may read only the fields that it generates.
    """
    given = list(graph.plan.given)
    if given or not graph.plan.generated:
        what = f"this one reads {', '.join(given)}, too" if given else "this one generates nothing"
        raise Invalid("carry", f"carries the state of a model that reads nothing but what it generates; {what}.")
    short, long = count_state(graph, 64), count_state(graph, 128)
    growing = [name for name in short if long[name] != short[name]]
    if growing:
        raise Invalid(
            "carry",
            f"the state of {', '.join(growing)} grows with every step, so that it cannot be carried on and on. "
            "Use a recurrent mixer or a sliding window.",
        )
