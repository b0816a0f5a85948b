"""The state of a generation: the KV cache or hidden state of every row, and the head's output for the next step.

A stream is used in inference mode. Its tensors must be cloned before they are used outside of inference mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.capabilities import offers
from composer.core.problems import UserError, listed
from composer.core.signals import KINDS, Field, Signal, State, Timed
from composer.graph.graph import Graph
from composer.graph.nodes import Node


class Stream:
    """Generates the rows of a batch in parallel; the rows may be at different positions.

    head: the head that generates, where the graph has several such heads; its name, or its node
    kind: ids or seq, whether tokens or real values are generated
    output: (B, ...), the head's output for the next step
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Signal],
        head: Node | str | None = None,
        batch: int = 1,
        prompt: Timed | None = None,
        kind: str = "ids",
    ) -> None:
        node = head if isinstance(head, Node) else graph.generating_head(kind, head)
        self.head: Any = graph.nodes[node.name]
        self.field: Field = graph.plan.inputs[str(node.predicts)]
        self._node, self._name, self._device = node.name, str(node.predicts), graph.device
        self._dtype = next((parameter.dtype for parameter in graph.parameters()), None)
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
        """Feed the next value of every row, (B,) or (B, D), to the graph, and compute the output for the step after."""
        outputs, self.state = self._step({self._name: values}, self.state)
        self.output = outputs[self._node]

    def needs(self, method: str, purpose: str) -> None:
        """Raise an error where the head lacks a method that this way of generating needs."""
        if not offers(self.head, method):
            raise UserError(f"the head '{self._node}' has no '{method}', which {purpose} needs. Write one.")

    def select(self, rows: Tensor) -> None:
        """Continue with these rows only, in this order; a row may occur several times."""
        self.state = pytree.tree_map(lambda leaf: leaf[rows], self.state)
        self.output = self.output[rows]
        self.batch = len(rows)

    def _first(self, rows: int) -> Tensor:
        """The first value of every row: <sos> or zeros."""
        field = self.field
        if field.dim is None:
            return torch.full((rows,), field.start or 0, device=self._device)
        return torch.zeros(rows, field.dim, device=self._device, dtype=self._dtype)

    def _read(self, graph: Graph, prompt: Timed, state: State) -> tuple[Tensor, State]:
        """Read the whole prompt as one chunk (prefill), ragged where the lengths of the rows differ."""
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


def _given(graph: Graph, head: Node, inputs: Mapping[str, Signal]) -> dict[str, Signal]:
    """The inputs that the head depends on."""
    read = graph.reads(head.name)
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
