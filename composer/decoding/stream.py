"""One generation under way: every row's state, and what the head says of its next step.

To be used in inference mode; what is handed out of it has to be cloned outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import KINDS, Field, Signal, State, Timed
from composer.graph.graph import Graph
from composer.graph.nodes import Node


class Stream:
    """The rows of a batch, all of them at once, each at a place of its own.

    output: (B, ...), what the head gives for the next step
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Signal],
        head: str | None = None,
        batch: int = 1,
        prompt: Timed | None = None,
        does: str = "log_probabilities",
    ) -> None:
        node = driven(graph, head, does)
        self.head: Any = graph.nodes[node.name]
        self.field: Field = graph.plan.inputs[str(node.predicts)]
        self._node, self._name, self._device = node.name, str(node.predicts), graph.device
        given = _given(graph, node, inputs)
        self.batch = _rows(given, prompt, batch)
        state = graph.start(given, self.batch, node.name)
        self._step = graph.stepper(node.name)
        self.output: Tensor
        self.state: State
        if prompt is not None and prompt.time:
            self.output, self.state = self._read(graph, prompt, state)
        else:
            self.state = state
            self.advance(self._first(self.batch))

    def advance(self, values: Tensor) -> None:
        """Read every row's next value, (B,) or (B, D)."""
        outputs, self.state = self._step({self._name: values}, self.state)
        self.output = outputs[self._node]

    def select(self, rows: Tensor) -> None:
        """Go on with these rows alone, in this order; a row may be there many times."""
        self.state = pytree.tree_map(lambda leaf: leaf[rows], self.state)
        self.output = self.output[rows]
        self.batch = len(rows)

    def _first(self, rows: int) -> Tensor:
        """What every row begins with: <sos> or zeros."""
        field = self.field
        if field.dim is None:
            return torch.full((rows,), field.start or 0, device=self._device)
        return torch.zeros(rows, field.dim, device=self._device)

    def _read(self, graph: Graph, prompt: Timed, state: State) -> tuple[Tensor, State]:
        """The whole prompt as one chunk, ragged where the rows' lengths differ."""
        kind = KINDS[self.field.kind]
        if not isinstance(prompt, kind):
            raise UserError(f"The prompt is of kind {prompt.kind}, but '{self._name}' is of kind {self.field.kind}.")
        values, longest = prompt.filled(0).to(self._device), int(prompt.counts.max())
        first = self._first(len(values))[:, None]
        chunk = torch.cat([first, values[:, :longest].to(first.dtype)], dim=1)
        ends = prompt.counts.to(self._device) + 1
        ragged = None if bool((ends == longest + 1).all()) else ends
        outputs, state = graph({self._name: kind(chunk, ragged)}, state)  # type: ignore[call-arg]
        return outputs[self._node].values[torch.arange(len(values), device=self._device), ends - 1], state


def driven(graph: Graph, head: str | None, does: str) -> Node:
    """The head that predicts what is generated, if there is no doubt about it."""
    heads = [node for node in graph.heads if node.predicts in graph.plan.generated]
    if not heads:
        raise UserError("This graph generates nothing: none of its heads predicts one of its inputs.")
    names = [node.name for node in heads]
    if head is not None and head not in names:
        raise UserError(
            f"'{head}' is no head that generates.{did_you_mean(head, names)}  (heads that do: {listed(names)})"
        )
    able = [node for node in heads if head in (None, node.name) and hasattr(graph.nodes[node.name], does)]
    if not able:
        what = "tokens" if does == "log_probabilities" else "real values"
        raise UserError(f"{listed(names if head is None else [head])} does not generate {what}.")
    if len(able) > 1:
        raise UserError(f"Several heads generate: {listed(names)}. Say which one to follow.")
    node = able[0]
    read = {name for behind in graph.plan.behind(node.name) for name in behind.inputs}
    for name in sorted(graph.plan.generated - {str(node.predicts)}):
        if name in read:
            raise UserError(
                f"'{node.name}' reads '{name}', which is generated as well, and only '{node.predicts}' can be followed "
                "at a time. Follow a head that reads nothing else generated."
            )
    axis = graph.plan.inputs[str(node.predicts)].axis
    if axis in read and axis not in graph.plan.generated:
        raise UserError(
            f"'{node.predicts}' goes along the given '{axis}' step by step, and such a sequence cannot be generated "
            "from its beginning alone."
        )
    return node


def _given(graph: Graph, head: Node, inputs: Mapping[str, Signal]) -> dict[str, Signal]:
    """The inputs that the head depends on."""
    read = {name for node in graph.plan.behind(head.name) for name in node.inputs}
    wanted = [name for name in graph.plan.given if name in read]
    missing = [name for name in wanted if name not in inputs]
    if missing:
        raise UserError(f"To generate '{head.predicts}' the graph needs {listed(missing)}, which is not given.")
    return {name: inputs[name] for name in wanted}


def _rows(given: Mapping[str, Signal], prompt: Timed | None, batch: int) -> int:
    signals = [*given.values(), *([] if prompt is None else [prompt])]
    sizes = {signal.batch for signal in signals} or {batch}
    if len(sizes) > 1:
        raise UserError(f"The inputs and the prompt differ in their number of rows: {listed(sorted(sizes))}.")
    return sizes.pop()
