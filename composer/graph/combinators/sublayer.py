"""A sublayer of a stack: a block with its norm, its dropout and its residual connection."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import linear

from composer.core.capabilities import declared
from composer.core.problems import Invalid
from composer.core.recording import show_terms
from composer.core.registry import block_name
from composer.core.signals import Seq, State, Vec
from composer.core.streaming.block_steps import Call, pointwise_step
from composer.core.streaming.pointwise import Pointwise
from composer.core.streaming.recurrence import StateStep
from composer.core.streaming.streaming_copy import cached_for_generation

#: why the residual branch may be small beside the trunk (the residual stream), for the law ``signals``
BRANCH = "a branch that starts small or at zero lets a deep stack start as the identity"


class Resize(Pointwise):
    """A linear layer to another width, before a layer whose width is not that of the layer before it: y = W x + b.

    W is drawn from N(0, 1 / D), so that the outputs have the size of the inputs.
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.out_dim = width
        self.project = nn.Linear(dim, width)
        nn.init.normal_(self.project.weight, std=dim**-0.5)
        nn.init.zeros_(self.project.bias)

    def map(self, values: Tensor) -> Tensor:
        return linear(values, self.project.weight, self.project.bias)

    def contents(self) -> list[str]:
        return [f"to {self.project.out_features}"]


class Sublayer(nn.Module):
    def __init__(self, block: nn.Module, norm: nn.Module | None, order: str, residual: bool, dropout: float) -> None:
        super().__init__()
        self.call = Call(block)
        self.norm = norm
        self.order = order
        self.residual = residual
        self.dropout = nn.Dropout(dropout) if dropout else None

    def forward(self, x: Seq, state: State | None, **ports: Seq | Vec | None) -> tuple[Seq, State | None]:
        before = self.norm(x) if self.norm is not None and self.order == "pre" else x
        y, state = self.call(before, state, **ports)
        if y.dim != x.dim and y.dim != declared(self.call.block, "out_dim"):
            name = type(self.call.block).__name__
            raise Invalid("", f"{name} turns width {x.dim} into {y.dim}, which its attribute 'out_dim' does not say.")
        if self.dropout is not None:
            y = y.like(self.dropout(y.values))
        if self.residual:
            show_terms(self, lambda: {"trunk": x, "branch": y}, branch=BRANCH)
            y = y.like(x.values + y.values)
        if self.norm is not None and self.order == "post":
            y = self.norm(y)
        return y, state

    def opened(self) -> tuple[str, nn.Module]:
        """Norm, block and sum in the order of their use, and the block."""
        parts = [block_name(self.call.block), *(["+"] if self.residual else [])]
        norm = [] if self.norm is None else [f"{block_name(self.norm)} norm"]
        return " → ".join([*norm, *parts] if self.order == "pre" else [*parts, *norm]), self.call.block

    @cached_for_generation
    def step(self) -> StateStep:
        """One step of every row, in evaluation mode, so without dropout."""
        call, residual = self.call.step, self.residual
        norm = pointwise_step(self.norm) if self.norm is not None else None
        if norm is None and not residual:
            return call
        before, after = (norm, None) if self.order == "pre" else (None, norm)

        def step(x: Tensor, state: State) -> tuple[Tensor, State]:
            y, state = call(x if before is None else before(x), state)
            if residual:
                y = x + y
            return y if after is None else after(y), state

        return step
