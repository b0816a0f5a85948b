"""Calling a block without knowing whether it keeps a state or which ports it has."""

from __future__ import annotations

from typing import Any, NoReturn

from torch import nn

from composer.block import Signature
from composer.signals import Seq, Signal, State


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
        return bool(getattr(self.block, "causal", True))

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
