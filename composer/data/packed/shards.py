"""The tokens of a running text, encoded by several processes in shards that outlive a process that is killed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy
import torch

from composer.core.storage.atomic_files import replaced
from composer.data.packed.packed_rows import Array, CannotKeep, PackedRows, Packer, ids_dtype
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

    def packed(
        self, pieces: Iterable[Piece], folder: Path | None, name: str, into: Path | None, tail: int
    ) -> PackedRows:
        """The tokens of all pieces as one row, followed by ``tail`` zeros.

        folder: where the shards are kept; one that is there already is not encoded again. None: none is kept
        name: of the text, unique in the folder
        into: the file for the tokens; see ``Packer``
        """

        def file_of(shard: Shard) -> Path | None:
            return None if folder is None else folder / f"{name}-{shard.number}.ids"

        def begun() -> Iterator[Shard]:
            for shard in chain(first, shards):
                file = file_of(shard)
                self.progress.add(shard.characters, before=file is not None and file.is_file())
                yield shard

        shards = _cut(pieces)
        first = list(islice(shards, 2))
        workers = 1 if len(first) < 2 else self.workers  # processes would take longer for a short text
        packer = Packer(self.dtype, into=into)
        for _, ids in in_order(lambda shard: self._encoded(shard, file_of(shard)), begun(), workers):
            packer.add_joined(numpy.load(ids) if isinstance(ids, Path) else ids, numpy.zeros(0, dtype=numpy.int64))
        flat = packer.finish(tail).flat
        return PackedRows(flat, torch.tensor([0, len(flat) - tail]))

    def _encoded(self, shard: Shard, file: Path | None) -> Array | Path:
        """The tokens of a shard, in a worker, or its file, if it has one: pipes between processes are slow."""
        if file is not None and file.is_file():
            return file
        stop = torch.tensor([self.tokeniser.stop])
        parts = [stop if piece is None else self.tokeniser.encode_one(piece) for piece in shard.pieces]
        ids = torch.cat([part.to(self.dtype) for part in parts]).numpy()
        if file is not None:
            try:
                with replaced(file) as temporary, temporary.open("wb") as opened:
                    numpy.save(opened, ids)
            except OSError as error:
                raise CannotKeep(error.strerror or str(error)) from error
            return file
        return ids


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
