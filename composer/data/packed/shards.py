"""The tokens of a running text, encoded by several processes in shards that outlive a process that is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from composer.data.packed.packed_rows import CannotKeep, PackedRows, cannot_spill, ids_dtype, mapped
from composer.data.progress import Progress
from composer.data.tokenisers.tokeniser import Tokeniser
from composer.data.workers import in_order

#: The number of characters in a shard.
SHARD = 2**22

#: A piece of text, or None, which ends a document.
Piece = str | None


class Shard(NamedTuple):
    number: int
    pieces: list[Piece]

    @property
    def characters(self) -> int:
        return sum(len(piece) for piece in self.pieces if piece is not None)


class ShardEncoder:
    """Encodes the pieces of a text.

    workers: the number of processes; None: as many as there are processors
    """

    def __init__(self, tokeniser: Tokeniser, workers: int | None, progress: Progress) -> None:
        self.tokeniser, self.workers, self.progress = tokeniser, workers, progress
        self.dtype = ids_dtype(len(tokeniser.tokens))

    def packed(self, pieces: Iterable[Piece], folder: Path | None, name: str, number: int, tail: int) -> PackedRows:
        """The tokens of all pieces as one row, followed by ``tail`` zeros.

        folder: where the shards are written, and the values as the ``number``-th of an entry of the cache. A shard that
            is there already is not encoded again. None: a temporary folder, which is deleted
        name: of the text, unique in the folder
        """
        shards = _cut(pieces)
        first = list(islice(shards, 2))
        if len(first) < 2:  # so short that processes would take longer
            for shard in first:
                self.progress.add(shard.characters)
            ids = [self._ids(shard) for shard in first]
            count = sum(map(len, ids))
            return PackedRows(torch.cat([*ids, torch.zeros(tail, dtype=self.dtype)]), torch.tensor([0, count]))
        every = chain(first, shards)
        if folder is not None:
            return self._encoded(every, folder, name, folder / f"{number}.values", tail)
        try:
            with tempfile.TemporaryDirectory(prefix="composer-") as space:  # the mapping outlives the file's name
                return self._encoded(every, Path(space), name, Path(space) / "values", tail)
        except CannotKeep as error:
            raise cannot_spill(error) from error

    def _encoded(self, shards: Iterable[Shard], folder: Path, name: str, values: Path, tail: int) -> PackedRows:
        done = {int(file.stem.split("-")[1]): file for file in folder.glob(f"{name}-*-*.ids") if self._whole(file)}
        todo = self._left(shards, done)
        for shard, file in in_order(lambda shard: self._write(shard, folder, name), todo, self.workers):
            done[shard.number] = file
        return self._joined([done[shard] for shard in sorted(done)], values, tail)

    def _left(self, shards: Iterable[Shard], done: dict[int, Path]) -> Iterator[Shard]:
        """The shards that are not done. Progress is counted when a shard is begun."""
        known = set(done)
        for shard in shards:
            self.progress.add(shard.characters, before=shard.number in known)
            if shard.number not in known:
                yield shard

    def _ids(self, shard: Shard) -> Tensor:
        stop = torch.tensor([self.tokeniser.stop])
        parts = [stop if piece is None else self.tokeniser.encode_one(piece) for piece in shard.pieces]
        return torch.cat([part.to(self.dtype) for part in parts])

    def _write(self, shard: Shard, folder: Path, name: str) -> Path:
        """Encode a shard and write its tokens, in a worker. The file's name holds their number."""
        ids = self._ids(shard)
        part = folder / f"{name}-{shard.number}.part"
        file = folder / f"{name}-{shard.number}-{len(ids)}.ids"
        try:
            with part.open("wb") as opened:
                opened.write(ids.numpy().data)
                opened.flush()
                os.fsync(opened.fileno())
            part.rename(file)
        except OSError as error:
            raise CannotKeep(error.strerror or str(error)) from error
        return file

    def _whole(self, file: Path) -> bool:
        return file.stat().st_size == int(file.stem.split("-")[2]) * self.dtype.itemsize

    def _joined(self, files: list[Path], values: Path, tail: int) -> PackedRows:
        try:
            with values.open("wb") as whole:
                for file in files:
                    with file.open("rb") as part:
                        shutil.copyfileobj(part, whole, 2**20)
                whole.write(torch.zeros(tail, dtype=self.dtype).numpy().data)
        except OSError as error:
            raise CannotKeep(error.strerror or str(error)) from error
        flat = mapped(values, self.dtype)
        return PackedRows(flat, torch.tensor([0, len(flat) - tail]), values)


def _cut(pieces: Iterable[Piece]) -> Iterator[Shard]:
    """The pieces in shards of about ``SHARD`` characters."""
    held: list[Piece] = []
    size = number = 0
    for piece in pieces:
        held.append(piece)
        size += 0 if piece is None else len(piece)
        if size >= SHARD:
            yield Shard(number, held)
            held, size, number = [], 0, number + 1
    if held:
        yield Shard(number, held)
