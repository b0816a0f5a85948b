"""Modular arithmetic without brackets: the value of 3 + 4 * 2 - 1 modulo 5 (Deletang et al., 2022).

Multiplication comes before addition and subtraction, so that the state is the sum of the finished terms and the
product of the last term. Without it, the state is a sum: the cyclic group of the modulus.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.data.generated_source import numbered
from composer.data.source import SPLITS, RowNumbers, Split
from composer.data.synthetic.tracking import BLANK, Tracking

OPERATORS = ("+", "-", "*")
PLUS, MINUS, TIMES = range(3)


@register("data", "modular_arithmetic")
class ModularArithmetic(Tracking):
    """source: numbers from 0 to ``modulus - 1``, with an operator between two of them; target: the value of the
    expression modulo ``modulus``. Lengths are odd."""

    open_ended = True  # after an operator

    modulus: Positive = 5
    multiply: bool = True

    def prepare(self) -> None:
        for split in SPLITS:
            if self.spans.least(split) == self.spans.most(split) and self.spans.most(split) % 2 == 0:
                even = f"{self.spans.most(split)} is even, but numbers with operators between them are an odd number."
                raise self.spans.problem(split, even)
        self.states = numbered(self.modulus)
        self.operators = len(OPERATORS) if self.multiply else TIMES
        self.symbols = (*self.states, *OPERATORS[: self.operators])

    def row_lengths(self, split: Split, rows: RowNumbers) -> Tensor:
        """Odd lengths, all equally likely."""
        index = torch.as_tensor(rows, dtype=torch.long)
        fewest, most = (self.spans.least(split) + 2) // 2, (self.spans.most(split) + 1) // 2  # numbers in an expression
        return 2 * (fewest + self.integers("length", split, index, 1, most - fewest + 1)[:, 0]) - 1

    def choose(self, split: Split, rows: Tensor, time: int) -> Tensor:
        values = torch.empty(len(rows), time, dtype=torch.long)
        values[:, ::2] = self.integers("numbers", split, rows, (time + 1) // 2, self.modulus)
        values[:, 1::2] = self.modulus + self.integers("operators", split, rows, time // 2, self.operators)
        return values

    def track(self, values: Tensor) -> Tensor:
        numbers, operators = values[:, ::2], values[:, 1::2] - self.modulus
        states = torch.full_like(values, BLANK)
        total, term = torch.zeros_like(values[:, 0]), numbers[:, 0]  # (B,): the finished terms, and the last term
        states[:, 0] = term
        for step in range(operators.shape[1]):
            operator, number = operators[:, step], numbers[:, step + 1]
            product = operator == TIMES
            total = torch.where(product, total, total + term)
            term = torch.where(product, term * number, torch.where(operator == MINUS, -number, number)) % self.modulus
            states[:, 2 * step + 2] = (total + term) % self.modulus
        return states
