"""Calling a block without knowing whether it keeps a state, which ports it has, or how it takes a single step.

A step is a chunk of length one. When decoding, most of the time goes into finding and starting operations, so a block
may also have ``stepper()``: a function for one step of every row, (B, D), without a time axis, with all it needs at
hand and the fewest operations: ``y, state = step(x, state)``, or ``y = step(x)`` where it keeps no state. It is made
when a generation begins, and only for evaluation. A law holds it to what ``forward`` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from torch import Tensor, nn

from composer.core.block import Signature
from composer.core.capabilities import is_causal
from composer.core.signals import Seq, Signal, State

#: One step of every row, (B, D), without and with a state, and of a whole graph by name.
Step = Callable[[Tensor], Tensor]
StateStep = Callable[[Tensor, State], tuple[Tensor, State]]
GraphStep = Callable[[Mapping[str, Tensor], State], tuple[dict[str, Tensor], State]]


class CannotStream(RuntimeError):
    """Asked to go step by step, a block that needs the whole sequence says so with this."""


def refuse_to_stream(module: nn.Module) -> NoReturn:
    raise CannotStream(f"{type(module).__name__} reads the future, so it cannot go step by step. Use a causal block.")


class Call(nn.Module):
    """A block with one way to call it: ``y, state = call(x, state, **ports)``.

    Ports that the block does not have are left out; a block that keeps no state gives None back.
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

    def forward(self, x: Seq, state: State = None, **ports: Any) -> tuple[Seq, State]:
        ports = {name: value for name, value in ports.items() if name in self.ports and value is not None}
        if state is not None:
            ports = dict.fromkeys(self.once) | ports  # read into the state when it started
        if self.stateful:
            return self.block(x, state=state, **ports)
        return self.block(x, **ports), state

    def stepper(self) -> StateStep:
        """A function for one step of every row, (B, D): the ports have been read into the state."""
        if not self.stateful:
            alone = stepper(self.block)
            return lambda x, state: (alone(x), state)
        if has_stepper(self.block):
            return self.block.stepper()

        def chunk(x: Tensor, state: State) -> tuple[Tensor, State]:
            y, state = self(Seq(x[:, None]), state)
            return y.values[:, 0], state

        return chunk


def has_stepper(block: nn.Module) -> bool:
    """Whether a block has a shorter way to take a single step."""
    return not block.training and getattr(type(block), "stepper", None) is not None


def stepper(block: Any) -> Step:
    """A function for one step of every row, (B, D), through a block without state and further ports."""
    return block.stepper() if has_stepper(block) else lambda x: block(Seq(x[:, None])).values[:, 0]
