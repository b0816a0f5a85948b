"""Rows of different lengths in one flat tensor, from which a padded batch is gathered in one operation.

Above a limit the values are written to a temporary file, which is memory-mapped. So data larger than memory can be
used: the operating system keeps the pages in use and drops the others. A packer that is given a file writes its values
there in any case, so that they can be kept for later runs (composer/data/cache).
"""

from __future__ import annotations

import mmap
import tempfile
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy
import torch
from torch import Tensor

from composer.core.problems import UserError

Array = numpy.ndarray[Any, Any]

#: The number of bytes above which the values of a split are written to a file.
MEMORY = 256 * 2**20

#: The same for values that are written to a file in any case.
BUFFER = 32 * 2**20


class CannotKeep(Exception):
    """Data cannot be written where it was to be kept for later runs. The message gives the reason."""


class Joined(NamedTuple):
    """Rows one after the other, and their lengths: arrays, which processes give to each other without shared memory."""

    values: Array
    lengths: Array


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


def mapped(file: IO[bytes], dtype: torch.dtype, width: tuple[int, ...] = ()) -> Tensor:
    """The values of a file, mapped into memory, with or without a name. Processes share the pages until the tensor is
    freed, and a write would stay in its process."""
    return torch.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), dtype=dtype).view(-1, *width)


class Packer:
    """Collects rows and returns them as PackedRows.

    into: the file for the values; None: memory, and above a limit a temporary file
    """

    def __init__(self, dtype: torch.dtype, width: tuple[int, ...] = (), into: Path | None = None) -> None:
        self.dtype, self.width, self.into = dtype, width, into
        self.held: list[Tensor] = []
        self.held_bytes = 0
        self.lengths: list[Tensor] = []
        self.file: IO[bytes] | None = None

    def add(self, rows: list[Any]) -> None:
        """Add rows, which are lists of numbers or tensors."""
        if rows:
            self.add_joined(*self.join(rows))

    def join(self, rows: list[Any]) -> Joined:
        """Rows, which are lists of numbers or tensors, one after the other."""
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        if rows and isinstance(rows[0], Tensor):
            values = torch.cat([row.reshape(-1, *self.width) for row in rows]).to(self.dtype)
        else:
            values = torch.tensor(list(chain.from_iterable(rows)), dtype=self.dtype).view(-1, *self.width)
        return Joined(values.numpy(), lengths.numpy())

    def add_joined(self, values: Array, lengths: Array) -> None:
        self.lengths.append(torch.from_numpy(lengths))
        self.held.append(torch.from_numpy(values))
        self.held_bytes += values.nbytes
        if self.held_bytes > (MEMORY if self.into is None else BUFFER):
            self._spill()

    def finish(self, tail: int = 0) -> PackedRows:
        """All rows, followed by as many zeros as the longest row has steps, and at least ``tail``."""
        lengths = torch.cat(self.lengths) if self.lengths else torch.zeros(0, dtype=torch.long)
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
        longest = int(lengths.max()) if len(lengths) else 0
        self.held.append(torch.zeros(max(tail, longest, 1), *self.width, dtype=self.dtype))
        if self.file is None and self.into is None:
            return PackedRows(torch.cat(self.held), offsets)
        self._spill()
        assert self.file is not None
        self.file.flush()
        flat = mapped(self.file, self.dtype, self.width)
        self.file.close()
        return PackedRows(flat, offsets)

    def _spill(self) -> None:
        """Move the values in memory to the file."""
        try:
            if self.file is None and self.into is not None:
                self.file = self.into.open("w+b")
            elif self.file is None:
                self.file = tempfile.TemporaryFile()  # noqa: SIM115 - without a name, so that a kill leaves nothing
            for values in self.held:
                self.file.write(values.contiguous().numpy().data)
        except OSError as error:
            if self.into is not None:
                raise CannotKeep(error.strerror or str(error)) from error
            raise cannot_spill(error.strerror) from error
        self.held, self.held_bytes = [], 0


def cannot_spill(reason: object) -> UserError:
    """The error for values that are too many for memory and cannot be written to a temporary file."""
    return UserError(
        f"cannot keep the data in '{tempfile.gettempdir()}': {reason}. "
        "Free space there, or name another folder in the environment variable TMPDIR."
    )


def ids_dtype(vocabulary: int) -> torch.dtype:
    """The smallest integer type that holds every id of a vocabulary."""
    return torch.int16 if vocabulary <= torch.iinfo(torch.int16).max else torch.int32


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """A few rows of numbers as (B, T) with zeros in the padding, and their lengths (B,)."""
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
    time = max(map(len, rows), default=0)
    whole = torch.tensor([row + [0] * (time - len(row)) for row in rows], dtype=torch.long)
    return whole.view(len(rows), time), lengths
