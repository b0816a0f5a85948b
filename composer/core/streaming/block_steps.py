"""Streaming: one interface for running any block step by step, as autoregressive decoding does.

The caller does not need to know whether a block keeps a state (a hidden state, a KV cache), which ports it has, or how
it computes a step. A step is a chunk of length one, so every block that streams can compute a step by its ``forward``.
In decoding, most of the time goes into Python attribute lookups and kernel launches. A block is faster if its class has
one of two methods, which receive neither a time axis nor lengths:

    map(values) -> values                  a block that maps every step independently: (..., D), see pointwise.py
    advance(x, state) -> output, state     a block with a state: one step of every row, (B, D), see recurrence.py

The ports that streaming reads once, such as ``memory``, are already in the state when ``advance`` is called. The law
``steps`` checks that both methods return what ``forward`` returns. The steps run on a streaming copy of the block
(streaming_copy.py), whose attribute lookups and calls are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from torch import Tensor, nn

from composer.core.block import Signature
from composer.core.capabilities import is_causal, offers
from composer.core.signals import Seq, Signal, State
from composer.core.streaming.recurrence import Recurrence, StateStep, in_full_precision
from composer.core.streaming.streaming_copy import cached_for_generation, calls_forward_alone

#: One step of every row, (B, D): ``Step`` of a block without a state, ``GraphStep`` of all nodes of a graph, by name.
Step = Callable[[Tensor], Tensor]
GraphStep = Callable[[Mapping[str, Tensor], State], tuple[dict[str, Tensor], State]]


class CannotStream(RuntimeError):
    """Raised by a block that needs the whole sequence when it is asked to run step by step."""


def refuse_to_stream(module: nn.Module) -> NoReturn:
    raise CannotStream(f"{type(module).__name__} reads the future, so it cannot go step by step. Use a causal block.")


def has_own_step(block: nn.Module) -> bool:
    """Whether a block can compute single steps by ``map`` or ``advance`` of its class.

    It cannot in training, where ``forward`` may do more (dropout), and not if hooks have to see every ``forward``.
    """
    offered = offers(type(block), "map") or offers(type(block), "advance")
    return offered and not block.training and calls_forward_alone(block)


def pointwise_step(block: Any) -> Step:
    """One step of every row through a block without a state: its ``map``, or a chunk of length one."""
    return block.map if has_own_step(block) else lambda x: block(Seq(x[:, None])).values[:, 0]


def state_step(block: Any) -> StateStep:
    """One step of every row through any block that streams. A block without a state returns the given state."""
    signature = Signature.of(type(block))
    if not signature.stateful:
        pointwise = pointwise_step(block)
        return lambda x, state: (pointwise(x), state)
    if has_own_step(block):
        return in_full_precision(block) if isinstance(block, Recurrence) else block.advance
    none = dict.fromkeys(signature.once)  # None for each of these ports: ``start`` has read them into the state

    def chunk(x: Tensor, state: State) -> tuple[Tensor, State]:
        y, state = block(Seq(x[:, None]), state=state, **none)
        return y.values[:, 0], state

    return chunk


class Call(nn.Module):
    """A block with one way to call it: ``y, state = call(x, state, **ports)``.

    Ports that the block does not have are left out. A block without a state returns the state that it was given.
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
            ports = dict.fromkeys(self.once) | ports  # None for each: ``start`` has read these ports into the state
        if self.stateful:
            return self.block(x, state=state, **ports)
        return self.block(x, **ports), state

    @cached_for_generation
    def step(self) -> StateStep:
        """One step of every row; ``start`` has read the ports into the state."""
        return state_step(self.block)
