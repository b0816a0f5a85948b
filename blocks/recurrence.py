"""Shared parts of recurrent mixers: initial states, states after ragged chunks, torch's RNN cells, convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from composer import Invalid, Range, Recurrence, Seq, State, Vec, cached_for_generation
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns
from composer.core.streaming.time_loop import through_time

from .linear import unit_linear
from .scan import blend, blend_step
from .window import recent


def last_state(outputs: Tensor, x: Seq, before: Tensor) -> Tensor:
    """(B, D): each row's output at its last real step, or the state before the chunk if the row has no real step."""
    if x.lengths is None:
        return outputs[:, -1]
    index = (x.lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, outputs.shape[-1])
    last = outputs.gather(1, index).squeeze(1)  # (B, D)
    return torch.where(x.lengths[:, None] > 0, last, before)


def unroll(cell: nn.RNNBase, values: Tensor, *before: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run a torch.nn recurrence over (B, T, D) from initial states (B, D): its outputs and its last states.

    On the meta device, the matrix products of all steps are computed at once: the FLOPs are the same, without T small
    operations.
    """
    if values.is_meta:
        of_input, of_state, *_ = cell.parameters()
        linear(values, of_input), linear(values, of_state)
        return torch.empty_like(values), tuple(torch.empty_like(state) for state in before)
    first = before[0][None] if len(before) == 1 else tuple(state[None] for state in before)
    outputs, last = cell(values, first)
    return outputs, (last[0],) if len(before) == 1 else tuple(state[0] for state in last)


#: torch's functions for a single step, by the attribute ``mode`` of a torch.nn recurrence
CELLS: dict[str, Callable[..., Any]] = {
    "RNN_TANH": torch.rnn_tanh_cell,
    "RNN_RELU": torch.rnn_relu_cell,
    "GRU": torch.gru_cell,
    "LSTM": torch.lstm_cell,
}


def initialise(cell: nn.RNNBase, open_gate: int | None = None) -> None:
    """Initialise each gate's input matrix by Glorot's method, its state matrix as orthogonal, and biases as zero.

    An orthogonal matrix neither shrinks nor grows the state from step to step (Saxe et al., 2014). ``open_gate`` is the
    index, in torch's order, of the gate that keeps the state (the forget gate of an LSTM): its bias of 1 lets a state
    persist from the start of training (Gers et al., 2000; Jozefowicz et al., 2015).
    """
    size = cell.hidden_size
    for name, parameter in cell.named_parameters():
        if parameter.dim() == 1:
            nn.init.zeros_(parameter)
        elif not parameter.is_meta:
            draw: Callable[[Tensor], Tensor] = nn.init.xavier_uniform_
            if name.startswith("weight_hh"):
                draw = nn.init.orthogonal_
            for gate in parameter.data.split(size):
                draw(gate)
    if open_gate is not None and cell.bias:
        nn.init.ones_(cell.get_parameter("bias_ih_l0").data[open_gate * size : (open_gate + 1) * size])


def weights(cell: nn.RNNBase) -> list[Tensor]:
    """The weights of a recurrence's only layer, in the order of torch's single-step functions."""
    return [getattr(cell, name) for name in cell._all_weights[0]]


class FirstState(nn.Module):
    """The initial hidden state: zero, or the vector ``initial``, projected if its width differs."""

    def __init__(self, hidden: int, initial_dim: int | None) -> None:
        super().__init__()
        self.hidden = hidden
        self.enter = nn.Linear(initial_dim, hidden) if initial_dim not in (None, hidden) else None

    def forward(self, batch: int, initial: Vec | None, like: Tensor) -> Tensor:
        """(B, H), in the parameters' dtype."""
        if initial is None:
            return like.new_zeros(batch, self.hidden)
        values = initial.values if self.enter is None else self.enter(initial.values)
        return values.to(like.dtype)


class Unrolled(Recurrence):
    """A torch.nn recurrence whose output is its hidden state, h, (B, D)."""

    causal = True
    ordered = True

    def __init__(self, cell: nn.RNN | nn.GRU, initial_dim: int | None) -> None:
        super().__init__()
        initialise(cell)
        self.cell = cell
        self.first = FirstState(cell.hidden_size, initial_dim)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        return {"h": self.first(batch, initial, like=next(self.cell.parameters()))}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        h = self._kernel(x, state["h"], *self._weights)
        return h, {"h": h}

    def forward(self, x: Seq, state: State | None = None, initial: Vec | None = None) -> tuple[Seq, State | None]:
        before = state or self.start(x.batch, initial)
        with full_precision(x.values):
            values = x.filled().to(before["h"].dtype)
            if torch.compiler.is_exporting():  # torch.export would unroll the fused kernel to one fixed length
                outputs, _ = through_time(self.advance, Seq(values), before)
            else:
                outputs, _ = unroll(self.cell, values, before["h"])  # (B, T, D)
        return x.like(outputs), None if state is None else {"h": last_state(outputs, x, before["h"])}

    @cached_for_generation
    def _kernel(self) -> Callable[..., Tensor]:
        return CELLS[self.cell.mode]

    @cached_for_generation
    def _weights(self) -> list[Tensor]:
        return weights(self.cell)


#: The longest memory of a recurrence at its initialisation, in steps.
Timescale: TypeAlias = Annotated[int, Range(low=2)] | None


class Blended(Recurrence):
    """A hidden state blended with a candidate by gates that do not depend on the state, so that one scan computes it.

    The state is h, (B, H), for H = expansion * D. If H is not D, a linear layer projects the output back to D.

    timescale: the longest memory at initialisation, in steps; None for biases of zero, with which about half of a state
        is left after one step
    """

    causal = True
    ordered = True

    def __init__(
        self,
        gates: int,
        dim: int,
        initial_dim: int | None,
        expansion: float,
        candidate: str,
        bias: bool,
        timescale: Timescale,
    ) -> None:
        super().__init__()
        if timescale is not None and not bias:
            raise Invalid("timescale", "sets the first biases of the gates, but bias is false. Set bias: true.")
        hidden = max(1, round(dim * expansion))
        self.project = unit_linear(dim, (gates + 1) * hidden, bias=bias)
        self.output = unit_linear(hidden, dim, bias=bias) if hidden != dim else None
        self.first = FirstState(hidden, initial_dim)
        self.positive = candidate == "positive"
        if timescale is not None:
            self._remember(timescale)

    def _remember(self, timescale: int) -> None:
        """Chrono initialisation: at first, and without an input, a state keeps sigmoid(b) of itself in a step.

        b = log u for u ~ U(1, timescale - 1), so that the units forget within u + 1 steps, from 2 to the timescale.
        The gate that lets the candidate in has the bias -b; the forget gate of a minLSTM, which comes first, has b.
        """
        bias = self.project.bias.data.view(-1, self.first.hidden)  # (gates + 1, H): the candidate comes last
        kept = torch.empty_like(bias[0]).uniform_(1, timescale - 1).log_()
        bias[-2] = -kept
        if len(bias) > 2:
            bias[0] = kept

    def start(self, batch: int, initial: Vec | None = None) -> State:
        return {"h": self.first(batch, initial, like=self.project.weight)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        h = blend_step(linear(x, self._weight, self.project.bias), state["h"], self.positive)
        return h if self.output is None else self.output(h), {"h": h}

    @cached_for_generation
    def _weight(self) -> Tensor:
        return by_columns(self.project.weight)

    def forward(self, x: Seq, state: State | None = None, initial: Vec | None = None) -> tuple[Seq, State | None]:
        before = (state or self.start(x.batch, initial))["h"]
        raw = self.project(x.filled()).to(before.dtype)  # (B, T, gates H + H): the candidate comes last
        h = blend(raw, before, self.positive)  # (B, T, H)
        y = h if self.output is None else self.output(h)
        return x.like(y), None if state is None else {"h": last_state(h, x, before)}


class ShortConvolution(nn.Module):
    """A causal depthwise convolution (each channel by itself), y_t = sum_k w_k * x_{t-K+k} + b for k = 1..K.

    Its state is the last K - 1 inputs, (B, D) each, by their age: "1" is the input of the step before. As tensors of
    their own they move on from step to step without a copy.
    """

    def __init__(self, dim: int, kernel: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(kernel, dim).normal_(std=kernel**-0.5))  # keeps the size of its input
        self.bias = nn.Parameter(torch.zeros(dim))

    def start(self, batch: int) -> State:
        kernel, dim = self.weight.shape
        return {str(age): self.weight.new_zeros(batch, dim) for age in range(kernel - 1, 0, -1)}

    def advance(self, x: Tensor, before: State) -> tuple[Tensor, State]:
        """One step of every row: the output (B, D) and the next state, for the input (B, D)."""
        oldest, *others = *before.values(), x
        y = torch.addcmul(self.bias, self._taps[0], oldest)
        for weight, value in zip(self._taps[1:], others, strict=True):
            y.addcmul_(weight, value)
        return y, dict(zip(before, others, strict=True))

    @cached_for_generation
    def _taps(self) -> tuple[Tensor, ...]:
        return self.weight.unbind(0)

    def forward(self, x: Seq, before: State) -> tuple[Tensor, State]:
        """The outputs (B, T, D), and the state after each row's last real step."""
        past = [value[:, None] for value in before.values()]
        known = torch.cat([*past, x.filled().to(self.weight.dtype)], dim=1)  # (B, K - 1 + T, D)
        y: Tensor = self.bias
        for k, weight in enumerate(self.weight):
            y = torch.addcmul(y, weight, known[:, k : k + x.time])
        return y, dict(zip(before, recent(known, x, len(past)).unbind(1), strict=True))
