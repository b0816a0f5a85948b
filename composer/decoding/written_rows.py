"""The generated values of every row. Finished rows leave the batch once they make up half of it."""

from __future__ import annotations

import torch
from torch import Tensor


class WrittenRows:
    """The values, (B,) or (B, D) a step, that every row has generated, including the rows that have left the batch.

    R is the number of rows still in the batch, B the number of all rows.
    """

    def __init__(self, batch: int, device: torch.device) -> None:
        self.batch = batch
        self.present = torch.arange(batch, device=device)  # (R,), the numbers of the rows still in the batch
        self.done = torch.zeros(batch, dtype=torch.bool, device=device)  # (R,), whether such a row is finished
        # Steps since rows last left the batch: which rows were finished before a step, and the columns (R, ...) of it.
        self._steps: list[tuple[Tensor, ...]] = []
        # Earlier steps, in parts during which no row left: which rows were not finished, (B, T), and the columns.
        self._parts: list[list[Tensor]] = []

    def write(self, *columns: Tensor, ended: Tensor | None = None) -> None:
        """Append a step of every row in the batch: one or more tensors (R, ...), and which ended with it."""
        self._steps.append((self.done, *columns))
        if ended is not None:
            self.done = self.done | ended

    def going_on(self) -> Tensor | None:
        """The places, among the rows in the batch, of the rows to continue with; empty when all are finished.

        None where no row has to leave yet. Otherwise the finished rows leave the batch here.
        """
        count = int(self.done.sum())
        if 2 * count < len(self.done):
            return None
        left = (~self.done).nonzero()[:, 0]
        self._close()
        self.present, self.done = self.present[left], self.done[left]
        return left

    def together(self) -> tuple[Tensor, list[Tensor]]:
        """The length of every row, (B,), and the columns, (B, T, ...), with zeros after the end of a row."""
        self._close()
        if not self._parts:
            return torch.zeros(self.batch, dtype=torch.long, device=self.done.device), []
        going, *columns = (torch.cat(column, dim=1) for column in zip(*self._parts, strict=True))
        return going.sum(1), columns

    def _close(self) -> None:
        """Spread the last steps over all rows, with zeros where a row is finished or has left."""
        if not self._steps:
            return
        over, *columns = (torch.stack(column, dim=1) for column in zip(*self._steps, strict=True))  # (R, T, ...)
        part = [~over, *(c.masked_fill(over.view(*over.shape, *(1,) * (c.dim() - 2)), 0) for c in columns)]
        whole = [column.new_zeros(self.batch, *column.shape[1:]) for column in part]
        for target, column in zip(whole, part, strict=True):
            target[self.present] = column
        self._parts.append(whole)
        self._steps = []
