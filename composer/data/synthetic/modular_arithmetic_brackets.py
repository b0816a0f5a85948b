"""Modular arithmetic with brackets: the value of ((3 - 4) * (-2)) modulo 5 (Deletang et al., 2022).

An expression of 5 steps or more is (left operator right), where the length of left is uniform among those possible; the
shorter ones are d, -d, (d) and (-d). All expressions of a batch are divided at once, level by level.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Label, Signal
from composer.data.counter_random import below
from composer.data.generated_source import DrawnLength, cut, numbered, vocabulary_field
from composer.data.source import RowNumbers, Split

SIGNS = ("+", "-", "*", "(", ")")
PLUS, MINUS, TIMES, OPEN, CLOSE = range(5)
SHORTEST = 5  # of an expression with two parts


@register("data", "modular_arithmetic_brackets")
class ModularArithmeticBrackets(DrawnLength):
    """source: an expression of numbers from 0 to ``modulus - 1``, operators and brackets; target: its value modulo
    ``modulus``."""

    modulus: Positive = 5
    multiplication: bool = True

    def prepare(self) -> None:
        self.operators = 3 if self.multiplication else 2

    def bare_fields(self) -> dict[str, Field]:
        numbers = numbered(self.modulus)
        return {
            "source": vocabulary_field("ids", (*numbers, *SIGNS)),
            "target": vocabulary_field("label", numbers),
        }

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": self.row_lengths(split, rows)}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        """Parts of an expression are told apart by the step at which they begin: the draws of that step are theirs."""
        lengths = self.row_lengths(split, rows)
        time = int(lengths.max()) if len(rows) else 0
        splits = self.draw("splits", split, rows, time)
        operators = self.integers("operators", split, rows, time, self.operators)
        numbers = self.integers("numbers", split, rows, time, self.modulus)
        written = torch.zeros(len(rows), time, dtype=torch.long)
        row, start, size = torch.arange(len(rows)), torch.zeros(len(rows), dtype=torch.long), lengths
        levels = []
        while len(row):
            whole = size < SHORTEST
            self._write_number(written, row[whole], start[whole], size[whole], numbers)
            levels.append((whole, row, start, size))
            row, start, size = row[~whole], start[~whole], size[~whole]
            left = 1 + below(splits[row, start], size - 4)  # both parts have a step or more
            written[row, start], written[row, start + size - 1] = self.modulus + OPEN, self.modulus + CLOSE
            written[row, start + 1 + left] = self.modulus + operators[row, start]
            start, size = torch.cat([start + 1, start + left + 2]), torch.cat([left, size - left - 3])
            row = row.repeat(2)
        values = torch.zeros(0, dtype=torch.long)
        for whole, row, start, size in reversed(levels):
            one, other = values.chunk(2) if len(values) else (values, values)
            operator = operators[row, start][~whole]
            found = torch.where(operator == TIMES, one * other, one + torch.where(operator == MINUS, -other, other))
            number = numbers[row, start]
            values = torch.where(size % 2 == 0, -number, number)
            values[~whole] = found
            values = values % self.modulus
        return {"source": cut(written, lengths), "target": Label(values)}

    def _write_number(self, written: Tensor, row: Tensor, start: Tensor, size: Tensor, numbers: Tensor) -> None:
        """d, -d, (d) or (-d), for sizes from 1 to 4."""
        framed, negative = size > 2, size % 2 == 0
        written[row[framed], start[framed]] = self.modulus + OPEN
        written[row[framed], (start + size - 1)[framed]] = self.modulus + CLOSE
        written[row[negative], (start + framed)[negative]] = self.modulus + MINUS
        written[row, start + framed + negative] = numbers[row, start]
