"""The steps of a target that count in the loss. Where they are few, a head computes these steps alone.

In masked language modelling, a seventh of the steps count. The output layer has a row for every token of the
vocabulary, so that computing it at all steps would take most of the time of a training step.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import Tensor, nn

from composer.core.capabilities import declared
from composer.core.signals import Signal, Timed
from composer.graph.nodes import GraphPlan, Node

#: A head leaves out steps if at most this share of all steps, padding included, counts: picking steps takes time, too.
MOST = 0.5


class CountedSteps(NamedTuple):
    """The rows and the places in time of the steps that count, (N,) each."""

    rows: Tensor
    steps: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> CountedSteps | None:
        """The steps with a weight above 0, (B, T) or (B,); None where they are too many to leave out the others."""
        if weight.dim() != 2 or int(weight.count_nonzero()) > MOST * weight.numel():
            return None
        return cls(*weight.nonzero(as_tuple=True))

    def to(self, *args: Any, **kwargs: Any) -> CountedSteps:
        return CountedSteps(*(part.to(*args, **kwargs) for part in self))

    def of_signal(self, signal: Signal) -> Signal:
        """One row of these steps."""
        assert isinstance(signal, Timed)
        return signal.at(self.rows, self.steps)


#: The counted steps of heads, by node name. A head that is not listed computes all steps.
CountedByHead = Mapping[str, CountedSteps]
ALL_STEPS: CountedByHead = MappingProxyType({})


def stepwise_heads(plan: GraphPlan, modules: Mapping[str, nn.Module]) -> dict[str, str]:
    """The heads that can leave out steps, with their targets: each reads one sequence, and no node reads the head."""
    read = {source for node in plan.nodes for source in node.inputs}

    def able(node: Node) -> bool:
        one = len(node.inputs) == 1 and not node.late and node.name not in read
        return one and declared(modules[node.name], "stepwise") and plan.outputs[node.name].timed

    return {node.name: node.predicts for node in plan.nodes if node.predicts is not None and able(node)}
