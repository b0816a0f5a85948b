"""Examples that are records of the user's files, as declared fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid, listed
from composer.data.cache.key import plugin_files
from composer.data.example_source import ExampleSource
from composer.data.fields.field_type import Cells, FieldType
from composer.data.file_keys import FileKeys
from composer.data.files.lines import find_files
from composer.data.files.new_files import Recognise, TrainedFile
from composer.data.source import SPLITS, RowNumbers, Split, WrittenRow
from composer.data.splits.grouped import grouped
from composer.data.splits.splits import GROUP_COLUMN, SPLIT_COLUMN, FindFiles, Splits
from composer.data.splits.stored_records import StoredRecords
from composer.data.tables.readers import PICTURES, SOUNDS
from composer.data.tables.reading import Reading
from composer.data.tables.record_batch import RecordBatch, batches_of
from composer.data.tables.table import Column, Reader, TableRow

#: Makes a reader of the wanted columns and of the YAML keys that chose them, both by names of our own.
MakeReader = Callable[[dict[str, Column], dict[str, str], Reading], Reader]


class FileSource(ExampleSource):
    """
    types: the type of every field, by name
    reader: how a file becomes records
    files: what the config says about the files and their splits
    find: finds the files of a path
    """

    every_row: Split = "test"

    def __init__(
        self, types: Mapping[str, FieldType], reader: MakeReader, files: FileKeys, find: FindFiles = find_files
    ) -> None:
        if files.split_column is not None and files.split_by is not None:
            raise Invalid("split_by", "has no effect: split_column names the split of every row.")
        self.reading, self.bad = files, files.bad
        self.types = dict(types)
        for name, field in types.items():
            self.types |= field.companions(name)
        self.codecs = {name: field.codec for name, field in self.types.items()}
        self.cells = {name: field.cells(name) for name, field in self.types.items()}
        every = [cell for field in self.cells.values() for cells in field.values() for cell in cells]
        columns, keys = {cell.name: cell.column for cell in every}, {cell.name: cell.key for cell in every}
        if files.split_column is not None:
            columns, keys = columns | {SPLIT_COLUMN: files.split_column}, keys | {SPLIT_COLUMN: "split_column"}
        if files.split_by is not None:
            columns, keys = columns | {GROUP_COLUMN: files.split_by}, keys | {GROUP_COLUMN: "split_by"}
        self.reader = reader(columns, keys, files)
        self.parts = Splits(files, find)
        for name, field in types.items():
            field.join(name, types)

    @cached_property
    def _stored(self) -> StoredRecords:
        """The records of all files, until they are packed."""
        return StoredRecords(self.parts, self._read)

    def _read(self, path: Path) -> Iterator[TableRow]:
        read = [(name, field, self.cells[name]) for name, field in self.types.items() if self.reads(name)]

        def value(record: TableRow) -> TableRow:
            values = {name: field.value(Cells(record, cells)) for name, field, cells in read}
            for _, field, _ in read:
                field.check(values, record.place)
            kept = {name: record.values[name] for name in (SPLIT_COLUMN, GROUP_COLUMN) if name in record.values}
            return TableRow(record.file, record.line, values | kept)

        yield from self.bad.each(self.reader.read(path), value)

    @property
    def remarks(self) -> list[str]:
        return [*self._twins(), *self.reading.remarks, *self.cache.remarks]

    def _column_names(self, name: str) -> list[str | int]:
        """The columns that a field is made of, by their names where they have any."""
        return [self.reading.name(cell.column) for cells in self.cells[name].values() for cell in cells]

    def _twins(self) -> Iterator[str]:
        """Fields of one column tell of each other. An autoencoder wants that; another model would find it too easy."""
        readers: dict[str | int, dict[str, None]] = {}
        for name in (name for name, field in self.types.items() if not field.shares_column):
            for column in self._column_names(name):
                readers.setdefault(column, {})[name] = None
        for column, names in readers.items():
            if len(names) > 1:
                made = f"{listed(names)} are made of the same column '{column}'"
                yield f"{made}: a model that reads one of them knows the others."

    @property
    def repeats(self) -> dict[str, set[str]]:
        """As in ``Source``. A field whose column is another's by design comes after the other, in whatever order."""
        alike: dict[tuple[Column, ...], list[str]] = {}
        for name in sorted(self.types, key=lambda name: self.types[name].shares_column):
            columns = tuple(cell.column for cells in self.cells[name].values() for cell in cells)
            alike.setdefault(columns, []).append(name)
        return {name: set(names[:place]) for names in alike.values() for place, name in enumerate(names) if place}

    @property
    def related(self) -> dict[str, set[str]]:
        columns = {name: set(self._column_names(name)) for name in self.types}
        return {
            name: {other for other in columns if other != name and not own.isdisjoint(columns[other])}
            for name, own in columns.items()
        }

    def inputs(self) -> list[Path] | None:
        """As in ``Source``. Files that only the rows of a table name are not known before the table is read."""
        files = [file for split in SPLITS for file in self.parts.files[split]]
        named = any(field.reads_files for name, field in self.types.items() if self.reads(name))
        if named and not all(file.suffix.lower() in (*PICTURES, *SOUNDS) for file in files):
            return None
        beside = [other for file in files for other in self.reader.beside(file)]
        return [*files, *beside, *plugin_files(chain(self.types.values(), self.codecs.values()))]

    def found(self) -> dict[str, Any]:
        return {"reading": self.reading.found(), "left_out": sorted(self.left_out)}

    def recall_found(self, found: Mapping[str, Any]) -> None:
        self.reading.recall(found["reading"])
        self.left_out = frozenset(found["left_out"])

    def learn(self) -> None:
        """Learn the codecs. Fields that share a vocabulary learn with the field that owns it."""
        self.check_files()
        values = {name: partial(self.values, name) for name in self.types}
        for name, field in self.types.items():
            if field.shares is None:
                field.learn(values[name], [(f, values[n]) for n, f in self.types.items() if f.shares == name])
        for name, field in self.types.items():
            field.check_learned(self.types, self._count, values[name])

    def loss_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        index, packed = torch.as_tensor(rows, dtype=torch.long), self._packed[split]
        found = {name: field.loss_weights(name, packed, index) for name, field in self.types.items()}
        return {name: weights for name, weights in found.items() if weights is not None}

    def forget(self) -> None:
        self.__dict__.pop("_stored", None)

    def column(self, name: str) -> Iterator[Any]:
        return self._stored.column(name)

    def batches(self) -> Iterator[tuple[Split, RecordBatch]]:
        """As in ``ExampleSource``. Held-out rows with several references come last, as one row for each input."""
        several = next((name for name, field in self.types.items() if field.grouped and self.reads(name)), None)
        held_out: dict[Split, list[TableRow]] = {"valid": [], "test": []}
        for split, batch in self._stored.batches():
            if self.left_out:
                batch = batch.taken([record.place not in self.left_out for record in batch.records()])
            if several is None or split == "train":
                yield split, batch
            else:
                held_out[split] += batch.records()
        if several is not None:
            for split, records in held_out.items():
                yield from ((split, batch) for batch in batches_of(grouped(records, several)))

    def records(self, split: Split) -> Iterator[TableRow]:
        for found, batch in self.batches():
            yield from batch.records() if found == split else ()

    def written(self, split: Split) -> Iterator[WrittenRow]:
        read = {name: field for name, field in self.types.items() if self.reads(name)}
        for record in self.records(split):
            place = {"file": str(record.file)} | ({"line": record.line} if record.line else {})
            yield WrittenRow(place, {name: field.written(record.values[name]) for name, field in read.items()})

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is None:
            return
        self.only = frozenset(fields)
        self.parts.undivide()
        self.forget()
        unread: dict[str, Recognise] = dict.fromkeys((SPLIT_COLUMN, GROUP_COLUMN), lambda cell: None)
        for name in (name for name in self.types if not self.reads(name)):
            unread |= {c.name: self.types[name].recognise for cells in self.cells[name].values() for c in cells}
        self.reading.new_files = self.new_files
        self.reader = self.reader.without(unread)

    def trained_file(self) -> TrainedFile | None:
        return self.reader.trained(self.parts.files["train"][0])


def check_names(names: Collection[str]) -> None:
    """Check the names of declared fields."""
    if not names:
        message = "declares no field. Name each with its type and column, e.g. {title: {type: text, column: 1}}."
        raise Invalid("fields", message)
    for name in names:
        if name == SPLIT_COLUMN or not name.isidentifier():
            raise Invalid(f"fields.{name}", f"'{name}' cannot be the name of a field. Use letters, digits and _.")
