"""A source whose examples are records. Every field has a codec, which learns from the training split.

The examples are encoded and packed when they are first used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.signals import Signal
from composer.data.cache import Entry, values_file
from composer.data.cache.key import digest
from composer.data.codec_source import CodecSource
from composer.data.codecs.codec import Codec, TokenCodec
from composer.data.codecs.kept_texts import TEXTS, KeptTexts, column, kept_texts
from composer.data.files.bad_rows import BadRow, BadRows
from composer.data.packed.packed_rows import Joined, PackedRows, Packer
from composer.data.progress import Progress
from composer.data.source import SPLITS, RowNumbers, Split, read_late
from composer.data.tables.record_batch import RecordBatch, batches_of
from composer.data.tables.table import TableRow
from composer.data.workers import in_order

#: What is packed of an example.
Packs = Codec | KeptTexts


class ExampleSource(CodecSource):
    #: The fields that are read, where every row belongs to one split; None where all fields of all splits are read.
    only: frozenset[str] | None = None

    #: The rows that cannot be read, and the places of those that only their codec could tell.
    bad: BadRows = BadRows()
    left_out: frozenset[str] = frozenset()

    def reads(self, field: str) -> bool:
        return self.only is None or field in self.only

    @property
    def _read_codecs(self) -> dict[str, Codec]:
        return {name: codec for name, codec in self.codecs.items() if self.reads(name)}

    @abstractmethod
    def records(self, split: Split) -> Iterator[TableRow]:
        """The examples of a split one after the other, each with a value for every codec."""

    def batches(self) -> Iterator[tuple[Split, RecordBatch]]:
        """The examples of all splits, each batch with its split."""
        for split in SPLITS:
            yield from ((split, batch) for batch in batches_of(self.records(split)))

    def column(self, name: str) -> Iterator[Any]:
        """The values of a field in the training split."""
        return (record.values[name] for record in self.records("train"))

    def forget(self) -> None:
        """Release the records, which are no longer needed once they are packed."""

    def check_files(self) -> None:
        if not any(True for _ in self.column(next(iter(self.codecs)))):
            raise UserError("the training split of this data has no example. Give a longer file, or a smaller share.")

    def learn(self) -> None:
        """Learn all codecs from the training split."""
        self.check_files()
        for name, codec in self.codecs.items():
            codec.learn(partial(self.values, name))

    def values(self, name: str, limit: int | None) -> Iterable[Any]:
        """The values of a field in the training split, at most ``limit`` of them, evenly spread."""
        every = 1 if limit is None else max(1, -(-self._count // limit))
        return islice(self._learned_from(name), 0, None, every)

    def _learned_from(self, name: str) -> Iterator[Any]:
        for source in self.together or (self,):
            assert isinstance(source, ExampleSource), "a mixture has sources of one family"
            yield from source.column(name)

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self._learned_from(next(iter(self.codecs))))

    def size(self, split: Split) -> int:
        return len(next(iter(self._packed[split].values())))

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        index = torch.as_tensor(rows, dtype=torch.long)
        packed = self._packed[split]
        own = (n for n, f in self.fields.items() if n in packed and f.timed and f.is_own_axis(n))
        return {name: packed[name].lengths(index) for name in own}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        index = torch.as_tensor(rows, dtype=torch.long)
        return {name: codec.signal(self._packed[split][name], index) for name, codec in self._read_codecs.items()}

    def references(self, field: str, split: Split, rows: RowNumbers) -> list[list[str]] | None:
        """As in ``Source``. Texts of the training split, which is seldom scored, are read from the files when asked."""
        if field not in self._read_codecs or not isinstance(self.codecs[field], TokenCodec):
            return None
        kept = self._train_texts if split == "train" else self._packed[split]
        return kept_texts(kept[field + TEXTS], torch.as_tensor(rows, dtype=torch.long).tolist())

    @cached_property
    def _train_texts(self) -> dict[str, PackedRows]:
        with read_late():
            rows = self._pack({"train": self._kept_texts}, None)
        return {name: rows[f"train/{name}"] for name in self._kept_texts}

    @property
    def _kept_texts(self) -> dict[str, KeptTexts]:
        return {
            name + TEXTS: KeptTexts(each) for name, each in self._read_codecs.items() if isinstance(each, TokenCodec)
        }

    def state(self) -> dict[str, Any]:
        if not all(codec.measured for codec in self.codecs.values()):
            _ = self._packed  # packing the training split measures what is left
        return super().state()

    @cached_property
    def _packed(self) -> dict[Split, dict[str, PackedRows]]:
        """All splits, packed at once, so that a bad line of any split is found before training."""
        with read_late():
            entry = self.cache.get("packed", self._given, self._pack_all)
        if not entry.fresh:
            self.recall(entry.facts)
        self.forget()
        return {split: {name: entry.rows[f"{split}/{name}"] for name in self._columns(split)} for split in SPLITS}

    def _columns(self, split: Split) -> dict[str, Packs]:
        """What is packed of a split, by name: the fields, and the texts of those that may be scored as texts."""
        return {**self._read_codecs, **(self._kept_texts if split != "train" else {})}

    def _given(self) -> Any:
        """What the packed rows depend on besides the files and the section, as plain data."""
        learned = {name: codec.state() for name, codec in self._read_codecs.items() if codec.measured}
        read = None if self.only is None else sorted(self.only)
        return {"learned": digest([learned, self.notes]), "fields": read, "new_files": asdict(self.new_files)}

    def _pack_all(self, folder: Path | None) -> Entry:
        rows = self._pack({split: self._columns(split) for split in SPLITS}, folder)
        for name, codec in self._read_codecs.items():
            if not codec.measured:
                codec.measure(rows[f"train/{name}"])
        return Entry(self.facts(), rows)

    def _pack(self, columns: Mapping[Split, Mapping[str, Packs]], folder: Path | None) -> dict[str, PackedRows]:
        """The packed rows of these columns of every split, with values in files of the folder."""
        packers = {
            f"{split}/{name}": codec.packer() for split, found in columns.items() for name, codec in found.items()
        }
        for number, packer in enumerate(packers.values()):
            packer.into = values_file(folder, number)
        with Progress("packing", None, "rows") as progress:
            for split, rows in self._encoded(columns, packers):
                for name, joined in rows.items():
                    packers[f"{split}/{name}"].add_joined(*joined)
                progress.add(len(next(iter(rows.values()))[1]))
        return {name: packer.finish() for name, packer in packers.items()}

    def _encoded(
        self, columns: Mapping[Split, Mapping[str, Packs]], packers: Mapping[str, Packer]
    ) -> Iterator[tuple[Split, dict[str, Joined]]]:
        """The encoded rows of all splits, batch by batch. Those of a row that cannot be encoded are left out.

        Several processes encode the rows of large files. A codec that is still measured learns while it encodes, and so
        stays in this process.
        """

        def encoded(split: Split, batch: RecordBatch) -> dict[str, Joined]:
            return {
                name: packers[f"{split}/{name}"].join(codec.encode(column(batch, name), batch.place))
                for name, codec in columns[split].items()
            }

        def tried(task: tuple[Split, RecordBatch]) -> dict[str, Joined] | None:
            with suppress(BadRow):
                return encoded(*task)
            return None

        many = self.cache.large and all(codec.measured for codec in self._read_codecs.values())
        tasks = (task for task in self.batches() if task[0] in columns)
        for (split, batch), rows in in_order(tried, tasks, None if many else 1):
            if rows is not None:
                yield split, rows
                continue
            for record in batch.records():
                try:
                    yield split, encoded(split, RecordBatch.of([record]))
                except BadRow as error:
                    self.bad.met(error)
                    self.left_out |= {record.place}
