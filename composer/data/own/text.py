"""Plain text for language modelling: windows of files, or of the documents in JSONL and Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid, UserError
from composer.core.registry import register
from composer.core.signals import Ids, Signal
from composer.data.cache import Entry, values_file
from composer.data.cache.key import digest
from composer.data.codec_source import CodecSource
from composer.data.codecs.codec import COUNTED, id_rows
from composer.data.codecs.text_codec import TextCodec
from composer.data.codecs.token_statistics import TokenStatistics
from composer.data.file_keys import FileKeys, reads_files
from composer.data.files.lines import PIECE, kind_of
from composer.data.packed.packed_rows import PackedRows, padded
from composer.data.packed.shards import Piece, ShardEncoder
from composer.data.packed.windows import Windows
from composer.data.progress import Progress
from composer.data.source import SPLITS, RowNumbers, Split, read_late
from composer.data.splits.splits import Splits
from composer.data.tables.table import Table, text
from composer.data.tokenisers.pieces import between, whole_words
from composer.data.tokenisers.tokeniser import Tokeniser, Tokenising

#: The least number of zeros after the tokens, so that the same tokens serve windows of many lengths.
TAIL = 2**16

#: Files of these kinds hold documents, each in a column of a record.
DOCUMENTS = ("jsonl", "ndjson", "parquet")


class Running(CodecSource):
    """target: windows of a running text. A subclass defines ``pieces``, which are joined to one text."""

    learned_without = ("stride", "valid_length")

    #: The number of processes that encode a long text; None: as many as there are processors.
    workers: int | None = None

    def __init__(self, length: int, stride: int | None, valid_length: int | None, tokeniser: Tokenising) -> None:
        if tokeniser.max_length is not None:
            raise Invalid("tokeniser.max_length", "has no effect on a running text. Use data.length.")
        if tokeniser.type == "auto":
            raise Invalid(
                "tokeniser.type", "'auto' looks at texts one by one, but a running text is one. Name the type."
            )
        self.around = len(tokeniser.frame or ())  # tokens of a window that are no part of the text
        for key, steps in (("length", length), ("valid_length", valid_length or length)):
            if steps <= self.around:
                raise Invalid(
                    key, f"{steps} leaves no token of the text inside its frame. Take {self.around + 1} or more."
                )
        self.length, self.stride = length, stride or length - self.around
        self.valid_length = valid_length or length
        self.running = self.stride == self.length and not self.around  # between two texts there is their frame
        self.codec = TextCodec(tokeniser)
        self.codecs = {"target": self.codec}
        self.whole = False  # whether the whole text is the test split

    def pieces(self, split: Split) -> Iterator[Piece]:
        """The text of a split in pieces that end between words, with None at the end of every document."""
        raise NotImplementedError

    def check_files(self) -> None:
        if not any(self.pieces("train")):
            raise UserError("the training split of this text is empty. Give a longer text, or a smaller share.")

    def learn(self) -> None:
        self.check_files()
        with Progress("learning the vocabulary", None, "characters") as progress:
            rows = self.codec.options.rows
            self.codec.know(Tokeniser.learn(self.codec.options, lambda: progress.over(self._spread(rows))))
        self.codec.statistics = TokenStatistics.of(len(self.codec.tokens), self._counted())

    def _spread(self, limit: int | None) -> Iterator[str]:
        """At most ``limit`` pieces of the training split, evenly spread."""
        every = 1 if limit is None else max(1, -(-self._pieces // limit))
        return islice(self._texts(), 0, None, every)

    def _texts(self) -> Iterator[str]:
        for source in self.together or (self,):
            assert isinstance(source, Running), "a mixture has sources of one family"
            yield from (piece for piece in source.pieces("train") if piece is not None)

    def _counted(self) -> Iterator[list[int]]:
        """The windows from which the statistics of tokens are computed."""
        for piece in self._spread(-(-COUNTED * self.length // PIECE)):
            ids = self.codec.tokeniser.encode([piece])[0]
            yield from (ids[i : i + self.length] for i in range(0, len(ids), self.length))

    @cached_property
    def _pieces(self) -> int:
        return sum(1 for _ in self._texts())

    @cached_property
    def _windows(self) -> dict[Split, Windows]:
        """The windows of every split. The tokens do not depend on the length of a window."""
        tail = max(TAIL, self.length, self.valid_length)
        tail = 1 << (tail - 1).bit_length()

        def depends() -> Any:
            return {"tokeniser": digest(self.codec.tokeniser.state()), "whole": self.whole, "tail": tail}

        with read_late():
            free = ("length", "stride", "valid_length", "tokeniser")
            entry = self.cache.get("tokens", depends, lambda folder: self._encoded(folder, tail),
                                    free=free, resumable=True)  # fmt: skip
            if not entry.fresh:
                self.recall_found(entry.facts["found"])
            return {split: self._cut(split, entry.rows[split]) for split in SPLITS}

    def _encoded(self, folder: Path | None, tail: int) -> Entry:
        with Progress("tokenising", self.characters(), "characters") as progress:
            encoder = ShardEncoder(self.codec.tokeniser, self.workers, progress)
            rows: dict[str, PackedRows] = {
                split: encoder.packed(self.pieces(split), folder, split, values_file(folder, number), tail)
                for number, split in enumerate(SPLITS)
            }
        return Entry({"found": self.found()}, rows)

    def characters(self) -> int | None:
        """The number of characters of all splits, where it is known."""
        return None

    def _cut(self, split: Split, packed: PackedRows) -> Windows:
        total = int(packed.offsets[-1])
        if split == "train" and total < self.length and not self.whole:
            message = f"is {self.length}, but the training split has {total} tokens. Take a smaller one."
            raise Invalid("length", message)
        length = (self.length if split == "train" else self.valid_length) - self.around
        stride = self.stride if length == self.length - self.around else length
        return Windows(packed.flat, packed.offsets[:-1], packed.offsets[1:], length, stride, short=split != "train")

    def size(self, split: Split) -> int:
        return len(self._windows[split])

    def overlap(self, split: Split) -> int:
        return -(-self._windows[split].length // self._windows[split].stride)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"target": self._windows[split].starts(torch.as_tensor(rows, dtype=torch.long))[1] + self.around}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        windows = Ids(*self._windows[split].take(torch.as_tensor(rows, dtype=torch.long)))
        frame = self.codec.tokeniser.frame
        return {"target": windows if frame is None else framed(windows, *frame)}

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        before, after = self.codec.tokeniser.around
        return Ids(*padded([[*before, *row, *after] for row in self.codec.tokeniser.encode(list(values))]))

    def show(self, field: str, signal: Signal) -> list[str]:
        return [self._written(row) for row in id_rows(signal)]

    def _written(self, ids: list[int]) -> str:
        """The text of a window, in which <eos> between documents is a blank line."""
        stop, decode = self.codec.tokeniser.stop, self.codec.tokeniser.decode
        parts: list[list[int]] = [[]]
        for token in ids[:-1] if ids[-1:] == [stop] else ids:
            if token == stop:
                parts.append([])
            else:
                parts[-1].append(token)
        return "\n\n".join(decode(part) for part in parts)


def framed(windows: Ids, before: int, after: int) -> Ids:
    """The windows between two tokens."""
    values, counts = windows.filled(0), windows.counts
    inside = torch.nn.functional.pad(values, (1, 1))  # (B, 1 + T + 1)
    inside[:, 0] = before
    inside.scatter_(1, counts[:, None] + 1, after)
    return Ids(inside, None if windows.lengths is None else windows.lengths + 2)


@register("data", "text")
class RunningText(Running):
    """target: ``length`` tokens of the text. A held-out share is taken from the end of the text.

    A document of a JSONL or Parquet file is followed by <eos>; plain files are joined as they are.
    """

    every_row: Split = "test"

    @reads_files("encoding")
    def __init__(
        self,
        files: FileKeys,
        *,
        column: str = "text",
        length: Positive = 128,
        stride: Positive | None = None,
        valid_length: Positive | None = None,
        workers: Positive | None = None,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(length, stride, valid_length, tokeniser)
        self.reading, self.files = files, Splits(files)
        self.column, self.workers = column, workers
        self.table = Table({"text": column}, {"text": "column"}, reading=self.reading)

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is not None:
            self.whole = True
            self.files.undivide()

    def inputs(self) -> list[Path]:
        return [file for split in SPLITS for file in self.files.files[split]]

    def found(self) -> dict[str, Any]:
        return self.reading.found()

    def recall_found(self, found: Mapping[str, Any]) -> None:
        self.reading.recall(found)

    @property
    def remarks(self) -> list[str]:
        return self.reading.remarks + self.cache.remarks

    def pieces(self, split: Split) -> Iterator[Piece]:
        if self.whole:
            return whole_words(self._characters("train")) if split == "test" else iter(())
        share = self.files.shares.get(split)
        if isinstance(share, str):
            return whole_words(self._characters(split))
        start, stop = self._bounds[split]
        return whole_words(between(self._characters("train"), start, stop)) if start < stop else iter(())

    def _characters(self, split: Split) -> Iterator[Piece]:
        for path in self.files.files[split]:
            yield from self._documents(path) if kind_of(path) in DOCUMENTS else self.reading.characters(path)

    def _documents(self, path: Path) -> Iterator[Piece]:
        """The documents of a file in pieces, with None after each of them. A document without text is left out."""
        for document in self.reading.bad.each(self.table.read(path), lambda row: text(row, "text", self.column)):
            if document:
                yield from (document[at : at + PIECE] for at in range(0, len(document), PIECE))
                yield None

    def characters(self) -> int | None:
        return None if self.whole else self._training_characters

    @cached_property
    def _training_characters(self) -> int:
        """The number of characters in the files of ``path``."""
        with Progress("reading", None, "characters") as progress:
            pieces = (piece for piece in self._characters("train") if piece is not None)
            return sum(map(len, progress.over(pieces)))

    @cached_property
    def _bounds(self) -> dict[Split, tuple[int, int]]:
        """The characters [start, stop) of every split that is a share: first train, then valid, then test."""
        count = self._training_characters
        parts = {split: share for split, share in self.files.shares.items() if not isinstance(share, str)}
        bounds: dict[Split, tuple[int, int]] = {}
        end = count
        for split in ("test", "valid"):
            size = count - int(count * (1 - parts.get(split, 0.0)))
            bounds[split] = (end - size, end)
            end -= size
        return {**bounds, "train": (0, end)}
