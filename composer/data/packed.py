"""Rows of different lengths in one flat tensor: a batch is a gather, however the rows were stored before.

Past a limit the values go to a temporary file that is mapped into memory, so that data larger than memory can be used:
the operating system keeps the pages in use and drops the others.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import torch
from torch import Tensor

from composer.problems import UserError

#: Bytes of values a split may hold in memory.
MEMORY = 256 * 2**20


class Packed:
    """``values`` (total, ...) and ``offsets`` (N + 1,): row i is ``values[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, values: Tensor, offsets: Tensor) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self, rows: Tensor) -> Tensor:
        return self.offsets[rows + 1] - self.offsets[rows]

    def pad(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, ...) with zeros in the padding, and the lengths (B,)."""
        starts, lengths = self.offsets[rows], self.lengths(rows)
        time = int(lengths.max()) if len(rows) else 0
        return take(self.values, starts, lengths, time), lengths


def take(values: Tensor, starts: Tensor, lengths: Tensor, time: int) -> Tensor:
    """(B, time, ...): the steps from ``starts`` on, zero past ``lengths``. Integers become long, as indices are."""
    steps = torch.arange(time)
    real = steps < lengths[:, None]  # (B, T)
    index = torch.where(real, starts[:, None] + steps, 0)
    found = values[index] if len(values) else values.new_zeros(*index.shape, *values.shape[1:])
    if not found.is_floating_point():
        found = found.long()
    return found.masked_fill_(~real.view(*real.shape, *(1,) * (found.dim() - 2)), 0)


class Packer:
    """Takes rows one after the other and gives a Packed."""

    def __init__(self, dtype: torch.dtype, width: tuple[int, ...] = ()) -> None:
        self.dtype, self.width = dtype, width
        self.held: list[Tensor] = []
        self.held_bytes = 0
        self.lengths: list[Tensor] = []
        self.file: tempfile._TemporaryFileWrapper | None = None

    def add(self, rows: list[Any]) -> None:
        """Rows that are lists of numbers, or tensors."""
        if not rows:
            return
        self.lengths.append(torch.tensor([len(row) for row in rows]))
        if isinstance(rows[0], Tensor):
            joined = torch.cat([row.reshape(-1, *self.width) for row in rows]).to(self.dtype)
        else:
            joined = torch.tensor([value for row in rows for value in row], dtype=self.dtype)
        self.held.append(joined)
        self.held_bytes += joined.nbytes
        if self.held_bytes > MEMORY:
            self._spill()

    def finish(self) -> Packed:
        lengths = torch.cat(self.lengths) if self.lengths else torch.zeros(0, dtype=torch.long)
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
        if self.file is None:
            values = torch.cat(self.held) if self.held else torch.zeros(0, *self.width, dtype=self.dtype)
            return Packed(values, offsets)
        self._spill()
        self.file.flush()
        count = os.path.getsize(self.file.name) // torch.empty(0, dtype=self.dtype).element_size()
        values = torch.from_file(self.file.name, shared=False, size=count, dtype=self.dtype).view(-1, *self.width)
        self.file.close()  # the name goes; the mapping keeps the pages until the tensor is gone
        return Packed(values, offsets)

    def _spill(self) -> None:
        """Move what is held to the file."""
        try:
            if self.file is None:
                self.file = tempfile.NamedTemporaryFile(prefix="composer-", suffix=".packed")  # noqa: SIM115
            for values in self.held:
                self.file.write(values.numpy().tobytes())
        except OSError as error:
            raise UserError(
                f"cannot keep the data in '{tempfile.gettempdir()}': {error.strerror}. "
                "Free space there, or name another folder in the environment variable TMPDIR."
            ) from error
        self.held, self.held_bytes = [], 0


def ids_dtype(vocabulary: int) -> torch.dtype:
    """The smallest type that holds every id."""
    return torch.int16 if vocabulary <= torch.iinfo(torch.int16).max else torch.int32


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """A few rows of numbers as (B, T) with zeros in the padding, and their lengths."""
    packer = Packer(torch.int64)
    packer.add(rows)
    return packer.finish().pad(torch.arange(len(rows)))
