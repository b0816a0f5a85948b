"""Stack manipulation: the stack that is left after pops and pushes, from its top (Deletang et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Ids
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource
from composer.data.source import RowNumbers, Split
from composer.data.synthetic.sequences import NOTHING, Sequences

POP, PUSH = 2, 3  # bits come before, and PUSH + bit pushes a bit
END = 2  # after the bits of the target


@register("data", "stack_manipulation")
class StackManipulation(Sequences):
    """source: the bits of a stack from bottom to top, at least one, then actions: pop, push0 or push1. To pop an empty
    stack does nothing; target: the bits of the stack that is left, from top to bottom.

    aligned: as in other sequences, with one <ask> more than there are bits and actions: the stack ends with <end>;
        after <end>, the target is <blank>
    """

    length: Positive = 40

    def prepare(self) -> None:
        self.given = ("0", "1", "pop", "push0", "push1")
        self.wanted = ("0", "1", "<end>") if self.aligned else ("0", "1")

    def choose(self, split: Split, rows: Tensor, lengths: Tensor, time: int) -> Tensor:
        """A stack of 1 to ``length - 1`` bits, all equally likely, then actions; a source of one step is a bit."""
        draws = self.draw("symbols", split, rows, time)
        bits = 1 + below(self.draw("bits", split, rows, 1)[:, 0], (lengths - 1).clamp(min=1))
        return torch.where(torch.arange(time) < bits[:, None], below(draws, 2), POP + below(draws, 3))

    def counts(self, lengths: Tensor) -> Tensor:
        """The steps <ask>."""
        return lengths + 1

    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        stack, height = left(values, lengths)
        popped = Ids(stack, height).reversed().values
        if not self.aligned:
            return popped, height
        steps = torch.arange(stack.shape[1])
        after = torch.where(steps == height[:, None], END, NOTHING)
        return torch.where(steps < height[:, None], popped, after), self.counts(lengths)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return super().lengths(split, rows) if self.aligned else GeneratedSource.lengths(self, split, rows)


def left(values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The stacks (B, T + 1) from the bottom after all steps of every row, and their heights (B,)."""
    B, T = values.shape
    stack, height = torch.zeros(B, T + 1, dtype=torch.long), torch.zeros(B, 1, dtype=torch.long)
    bits = torch.where(values >= PUSH, values - PUSH, values)
    real = torch.arange(T) < lengths[:, None]
    moves = torch.where(values == POP, -1, 1) * real
    for step in range(T):
        # what stands above the height is never read, so a pop may write there
        stack.scatter_(1, height, bits[:, step : step + 1])
        height = (height + moves[:, step : step + 1]).clamp(min=0)
    return stack, height[:, 0]
