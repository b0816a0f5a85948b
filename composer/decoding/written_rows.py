"""Which rows of a batch are still under way. Those that are done leave it once they are the half of it."""

from __future__ import annotations

import torch
from torch import Tensor


class WrittenRows:
    """What every row has written, whether or not it is still there."""

    def __init__(self, batch: int, device: torch.device) -> None:
        self.batch = batch
        self.present = torch.arange(batch, device=device)  # (R,), rows of the whole batch
        self.done = torch.zeros(batch, dtype=torch.bool, device=device)  # (R,), of the present ones
        self._since: list[tuple[Tensor, ...]] = []  # what was written since rows last left: done before it, columns
        self._before: list[tuple[Tensor, list[Tensor]]] = []  # and until then: the rows then present, columns (R, T)

    def write(self, *columns: Tensor, ended: Tensor | None = None) -> None:
        """A step of every present row, one or more tensors (R,), and which rows ended with it."""
        self._since.append((self.done, *columns))
        if ended is not None:
            self.done = self.done | ended

    def going_on(self) -> Tensor | None:
        """Which of the present rows (R,) to go on with, if some are to leave; empty when all are done."""
        count = int(self.done.sum())
        if 2 * count < len(self.done):
            return None
        left = (~self.done).nonzero()[:, 0]
        self._close()
        self.present, self.done = self.present[left], self.done[left]
        return left

    def together(self) -> tuple[Tensor, list[Tensor]]:
        """Every row's length, (B,), and the columns, (B, T), zero behind it."""
        self._close()
        lengths = torch.zeros(self.batch, dtype=torch.long, device=self.done.device)
        if not self._before:
            return lengths, []
        time = sum(over.shape[1] for _, (over, *_) in self._before)
        whole = [column.new_zeros(self.batch, time) for column in self._before[0][1][1:]]
        start = 0
        for rows, (over, *columns) in self._before:
            stop = start + over.shape[1]
            for target, column in zip(whole, columns, strict=True):
                target[rows, start:stop] = column.masked_fill(over, 0)
            lengths[rows] += (~over).sum(1)
            start = stop
        return lengths, whole

    def _close(self) -> None:
        if self._since:
            columns = [torch.stack(column, dim=1) for column in zip(*self._since, strict=True)]
            self._before.append((self.present, columns))
            self._since = []
