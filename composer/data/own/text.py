"""Plain text for language modelling: windows of one or several files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid, UserError
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.codecs import COUNTED, TextCodec, id_rows, rarity
from composer.data.files import PIECE
from composer.data.packed_rows import Packer, ids_dtype, padded
from composer.data.reading import Reading
from composer.data.source import SPLITS, RowNumbers, Source, Split, check_state, read_late
from composer.data.splits import Share, Splits
from composer.data.tokeniser import Tokeniser, Tokenising
from composer.data.windows import Windows


class Running(Source):
    """target: windows of a running text. A subclass defines ``pieces``, which are joined to one text."""

    def __init__(self, length: int, stride: int | None, valid_length: int | None, tokeniser: Tokenising) -> None:
        if tokeniser.max_length is not None:
            raise Invalid("tokeniser.max_length", "has no effect on a running text. Use data.length.")
        if tokeniser.type == "auto":
            raise Invalid(
                "tokeniser.type", "'auto' looks at texts one by one, but a running text is one. Name the type."
            )
        self.length, self.stride = length, stride or length
        self.valid_length = valid_length or length
        self.running = self.stride == self.length
        self.codec = TextCodec(tokeniser)
        self.whole = False  # whether the whole text is the test split

    def pieces(self, split: Split) -> Iterator[str]:
        """The text of a split in pieces that end between words."""
        raise NotImplementedError

    @property
    def fields(self) -> dict[str, Field]:
        return {"target": self.codec.field}

    def check_files(self) -> None:
        if not any(self.pieces("train")):
            raise UserError("the training split of this text is empty. Give a longer text, or a smaller share.")

    def open(self) -> None:
        self.check_files()
        self.codec.tokeniser = Tokeniser.learn(self.codec.options, lambda: self._spread(self.codec.options.rows))
        self.codec.idf = rarity(len(self.codec.tokeniser.tokens), self._counted())

    def _spread(self, limit: int | None) -> Iterator[str]:
        """At most ``limit`` pieces of the training split, evenly spread."""
        every = 1 if limit is None else max(1, -(-self._pieces // limit))
        return islice(self._learned_from(), 0, None, every)

    def _learned_from(self) -> Iterator[str]:
        for source in self.together or (self,):
            assert isinstance(source, Running), "a mixture has sources of one family"
            yield from source.pieces("train")

    def _counted(self) -> Iterator[list[int]]:
        """The windows from which inverse document frequencies are computed."""
        for piece in self._spread(-(-COUNTED * self.length // PIECE)):
            ids = self.codec.tokeniser.encode([piece])[0]
            yield from (ids[i : i + self.length] for i in range(0, len(ids), self.length))

    @cached_property
    def _pieces(self) -> int:
        return sum(1 for _ in self._learned_from())

    @cached_property
    def _windows(self) -> dict[Split, Windows]:
        with read_late():
            return {split: self._cut(split) for split in SPLITS}

    def _cut(self, split: Split) -> Windows:
        packer = Packer(ids_dtype(len(self.codec.tokeniser.tokens)))
        for piece in self.pieces(split):
            packer.add(self.codec.tokeniser.encode([piece]))
        packed = packer.finish(tail=max(self.length, self.valid_length))
        total = int(packed.offsets[-1])
        if split == "train" and total < self.length and not self.whole:
            message = f"is {self.length}, but the training split has {total} tokens. Take a smaller one."
            raise Invalid("length", message)
        length = self.length if split == "train" else self.valid_length
        stride = self.stride if length == self.length else length
        return Windows(packed.flat, torch.tensor([0, total]), length, stride, short=split != "train")

    def size(self, split: Split) -> int:
        return len(self._windows[split])

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"target": self._windows[split].starts(torch.as_tensor(rows, dtype=torch.long))[1]}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        return {"target": Ids(*self._windows[split].take(torch.as_tensor(rows, dtype=torch.long)))}

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        return Ids(*padded(self.codec.tokeniser.encode(list(values))))

    def unknown(self, field: str, value: Any) -> list[str]:
        return self.codec.unknown(value)

    def show(self, field: str, signal: Signal) -> list[str]:
        return [self.codec.tokeniser.decode(row) for row in id_rows(signal)]

    def state(self) -> dict[str, Any]:
        return {"target": self.codec.state()}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        check_state(state, ("target",))
        self.codec.restore(state["target"])


@register("data", "text")
class RunningText(Running):
    """target: ``length`` tokens of the text. A held-out share is taken from the end of the text."""

    every_row: Split = "test"

    def __init__(
        self,
        *,
        path: str | None = None,
        length: Positive = 128,
        stride: Positive | None = None,
        valid_length: Positive | None = None,
        encoding: str | None = None,
        valid: Share = 0.1,
        test: Share = 0.0,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(length, stride, valid_length, tokeniser)
        self.reading = Reading(encoding=encoding)
        self.files = Splits(lambda path: iter(()), path, valid, test)
        self.shares = {"valid": valid, "test": test}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is not None:
            self.whole, self.files = True, self.files.undivided()

    @property
    def remarks(self) -> list[str]:
        return self.reading.remarks

    def pieces(self, split: Split) -> Iterator[str]:
        if self.whole:
            return whole_words(self._characters("train")) if split == "test" else iter(())
        share = self.shares.get(split)
        if isinstance(share, str):
            return whole_words(self._characters(split))
        start, stop = self._bounds[split]
        return whole_words(between(self._characters("train"), start, stop))

    def _characters(self, split: Split) -> Iterator[str]:
        for path in self.files.files[split]:
            yield from self.reading.characters(path)

    @cached_property
    def _bounds(self) -> dict[Split, tuple[int, int]]:
        """The characters [start, stop) of every split that is a share: first train, then valid, then test."""
        count = sum(len(piece) for piece in self._characters("train"))
        parts = {split: share for split, share in self.shares.items() if not isinstance(share, str)}
        bounds: dict[Split, tuple[int, int]] = {}
        end = count
        for split in ("test", "valid"):
            size = count - int(count * (1 - parts.get(split, 0.0)))
            bounds[split] = (end - size, end)
            end -= size
        return {**bounds, "train": (0, end)}


def between(pieces: Iterator[str], start: int, stop: int) -> Iterator[str]:
    """The characters [start, stop) of a text that is given in pieces."""
    at = 0
    for piece in pieces:
        if at >= stop:
            return
        if wanted := piece[max(0, start - at) : stop - at]:
            yield wanted
        at += len(piece)


def whole_words(pieces: Iterator[str]) -> Iterator[str]:
    """The same text in pieces that end between words, so that no word is cut. A piece without spaces stays as it is."""
    left = ""
    for piece in pieces:
        text = left + piece
        end = max(text.rfind(" "), text.rfind("\n"))
        if end <= 0 or len(text) < PIECE:
            end = len(text) if len(text) >= PIECE else 0
        if end:
            yield text[:end]  # the space belongs to the next word, as byte-level BPE expects
        left = text[end:]
    if left:
        yield left
