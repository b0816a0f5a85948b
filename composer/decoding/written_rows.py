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
        # Steps since rows last left the batch: which rows were finished before a step, and the columns (R,) of it.
        self._steps: list[tuple[Tensor, ...]] = []
        # Earlier steps, in segments during which no row left: the rows in the batch, and their columns (R, T).
        self._segments: list[tuple[Tensor, list[Tensor]]] = []

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
        lengths = torch.zeros(self.batch, dtype=torch.long, device=self.done.device)
        if not self._segments:
            return lengths, []
        time = sum(over.shape[1] for _, (over, *_) in self._segments)
        whole = [column.new_zeros(self.batch, time, *column.shape[2:]) for column in self._segments[0][1][1:]]
        start = 0
        for rows, (over, *columns) in self._segments:
            stop = start + over.shape[1]
            for target, column in zip(whole, columns, strict=True):
                target[rows, start:stop] = column.masked_fill(over.view(*over.shape, *(1,) * (column.dim() - 2)), 0)
            lengths[rows] += (~over).sum(1)
            start = stop
        return lengths, whole

    def _close(self) -> None:
        if self._steps:
            columns = [torch.stack(column, dim=1) for column in zip(*self._steps, strict=True)]
            self._segments.append((self.present, columns))
            self._steps = []
