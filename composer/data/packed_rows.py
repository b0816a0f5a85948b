"""Rows of different lengths in one flat tensor, from which a padded batch is gathered in one operation.

Above a limit the values are written to a temporary file, which is memory-mapped. So data larger than memory can be
used: the operating system keeps the pages in use and drops the others.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import IO, Any

import torch
from torch import Tensor

from composer.core.problems import UserError

#: The number of bytes above which the values of a split are written to a file.
MEMORY = 256 * 2**20


class PackedRows:
    """``offsets`` (N + 1,) into ``flat``: row i is ``flat[offsets[i]:offsets[i + 1]]``. Zeros follow the last row."""

    def __init__(self, flat: Tensor, offsets: Tensor) -> None:
        self.flat = flat
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def values(self) -> Tensor:
        """(total, ...), all rows one after the other, without the zeros at the end."""
        return self.flat[: int(self.offsets[-1])]

    def lengths(self, rows: Tensor) -> Tensor:
        return self.offsets.index_select(0, rows + 1) - self.offsets.index_select(0, rows)

    def pad(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, ...) with zeros in the padding, and the lengths (B,)."""
        starts = self.offsets.index_select(0, rows)
        lengths = self.offsets.index_select(0, rows + 1) - starts
        return take(self.flat, starts, lengths, int(lengths.max()) if len(rows) else 0), lengths


def take(flat: Tensor, starts: Tensor, lengths: Tensor | None, time: int) -> Tensor:
    """(B, time, ...): the steps from ``starts`` (B,) on, with zeros after ``lengths`` (B,). Integers become int64.

    ``flat`` must have ``time`` steps after every start. For the last row, ``Packer.finish`` appends them.
    """
    found = flat.unfold(0, max(time, 1), 1).index_select(0, starts)[..., :time]  # (B, ..., time)
    found = found.movedim(-1, 1)
    found = found.contiguous() if found.is_floating_point() else found.long()
    if lengths is None:
        return found
    real = torch.arange(time) < lengths[:, None]  # (B, T)
    return found.mul_(real.view(*real.shape, *(1,) * (found.dim() - 2)))


class Packer:
    """Collects rows and returns them as PackedRows."""

    def __init__(self, dtype: torch.dtype, width: tuple[int, ...] = ()) -> None:
        self.dtype, self.width = dtype, width
        self.held: list[Tensor] = []
        self.held_bytes = 0
        self.lengths: list[Tensor] = []
        self.file: IO[bytes] | None = None

    def add(self, rows: list[Any]) -> None:
        """Add rows, which are lists of numbers or tensors."""
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

    def finish(self, tail: int = 0) -> PackedRows:
        """All rows, followed by as many zeros as the longest row has steps, and at least ``tail``."""
        lengths = torch.cat(self.lengths) if self.lengths else torch.zeros(0, dtype=torch.long)
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
        longest = int(lengths.max()) if len(lengths) else 0
        self.held.append(torch.zeros(max(tail, longest, 1), *self.width, dtype=self.dtype))
        if self.file is None:
            return PackedRows(torch.cat(self.held), offsets)
        self._spill()
        self.file.flush()
        mapped = mmap.mmap(self.file.fileno(), 0)  # keeps the file's pages until the tensor is freed
        self.file.close()
        return PackedRows(torch.frombuffer(mapped, dtype=self.dtype).view(-1, *self.width), offsets)

    def _spill(self) -> None:
        """Move the values in memory to the file."""
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile()  # noqa: SIM115 - without a name, so that a kill leaves nothing
            for values in self.held:
                self.file.write(values.numpy().tobytes())
        except OSError as error:
            raise UserError(
                f"cannot keep the data in '{tempfile.gettempdir()}': {error.strerror}. "
                "Free space there, or name another folder in the environment variable TMPDIR."
            ) from error
        self.held, self.held_bytes = [], 0


def ids_dtype(vocabulary: int) -> torch.dtype:
    """The smallest integer type that holds every id of a vocabulary."""
    return torch.int16 if vocabulary <= torch.iinfo(torch.int16).max else torch.int32


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """A few rows of numbers as (B, T) with zeros in the padding, and their lengths (B,)."""
    packer = Packer(torch.int64)
    packer.add(rows)
    return packer.finish().pad(torch.arange(len(rows)))
