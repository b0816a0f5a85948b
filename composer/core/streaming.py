"""Taking a block step by step, without knowing whether it keeps a state, which ports it has, or how it steps.

A step is a chunk of length one, so every block that streams can take one through its ``forward``. When decoding, most
of the time goes into finding and starting operations; a block is quicker if its class has one of two methods, which
see no time axis and no lengths:

    map(values) -> values                  a block that looks at every step by itself: (..., D), see pointwise.py
    advance(x, state) -> output, state     a block with a state: one step of every row, (B, D), see recurrence.py

The ports that streaming reads once are in the state by then. The law ``steps`` holds both methods to what ``forward``
gives. Quick attributes and calls come from the kernel, which takes the steps on a streaming copy of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from torch import Tensor, nn

from composer.core.block import Signature
from composer.core.capabilities import is_causal, offers
from composer.core.recurrence import Recurrence, StateStep, in_full_precision
from composer.core.signals import Seq, Signal, State, Timed
from composer.core.streaming_copy import calls_forward_alone, constant, streaming_copy

#: One step of every row, (B, D), without a state, and of a whole graph by name.
Step = Callable[[Tensor], Tensor]
GraphStep = Callable[[Mapping[str, Tensor], State], tuple[dict[str, Tensor], State]]


class CannotStream(RuntimeError):
    """Asked to go step by step, a block that needs the whole sequence says so with this."""


def refuse_to_stream(module: nn.Module) -> NoReturn:
    raise CannotStream(f"{type(module).__name__} reads the future, so it cannot go step by step. Use a causal block.")


def has_own_step(block: nn.Module) -> bool:
    """Whether a block can take single steps by a method of its class.

    Not in training, where ``forward`` may do more, and not if hooks are to see every call of ``forward``.
    """
    offered = offers(type(block), "map") or offers(type(block), "advance")
    return offered and not block.training and calls_forward_alone(block)


def pointwise_step(block: Any, kind: type[Timed] = Seq) -> Step:
    """One step of every row through a block without a state: its ``map``, or a chunk of length one."""
    return block.map if has_own_step(block) else lambda x: block(kind(x[:, None])).values[:, 0]


def state_step(block: Any, kind: type[Timed] = Seq) -> StateStep:
    """One step of every row through any block that streams, with a state if it keeps one."""
    signature = Signature.of(type(block))
    if not signature.stateful:
        alone = pointwise_step(block, kind)
        return lambda x, state: (alone(x), state)
    if has_own_step(block):
        return in_full_precision(block) if isinstance(block, Recurrence) else block.advance
    read = dict.fromkeys(signature.once)  # into the state, when it started

    def chunk(x: Tensor, state: State) -> tuple[Tensor, State]:
        y, state = block(kind(x[:, None]), state=state, **read)
        return y.values[:, 0], state

    return chunk


class Call(nn.Module):
    """A block with one way to call it: ``y, state = call(x, state, **ports)``.

    Ports that the block does not have are left out; a block that keeps no state gives back the one that it was given.
    """

    block: Any

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block
        signature = Signature.of(type(block))
        self.stateful = signature.stateful
        self.ports = frozenset(signature.ports)
        self.once = frozenset(signature.once)

    @property
    def causal(self) -> bool:
        return is_causal(self.block)

    def start(self, batch: int, **ports: Signal | None) -> State:
        if not self.stateful:
            return {}
        return self.block.start(batch, **{name: value for name, value in ports.items() if name in self.once})

    def forward(self, x: Seq, state: State | None = None, **ports: Any) -> tuple[Seq, State | None]:
        ports = {name: value for name, value in ports.items() if name in self.ports and value is not None}
        if state is not None:
            ports = dict.fromkeys(self.once) | ports  # read into the state when it started
        if self.stateful:
            return self.block(x, state=state, **ports)
        return self.block(x, **ports), state

    @constant
    def step(self) -> StateStep:
        """One step of every row: the ports have been read into the state."""
        return state_step(self.block)

    def stepper(self) -> StateStep:
        """The step of a streaming copy, for one generation."""
        return streaming_copy(self).step
