"""Data sets read with Hugging Face's ``datasets``: from the hub, its local cache, or a local file or folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from composer.core.extras import extra
from composer.core.problems import Invalid, did_you_mean, listed
from composer.data.fields.field_type import FieldKeys
from composer.data.files.bad_rows import BadRow
from composer.data.files.lines import kind_of
from composer.data.layout import Numerals
from composer.data.source import Split
from composer.data.splits.splits import Splits
from composer.data.tables.readers import ColumnReader
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, TableRow

#: File suffix -> the builder of ``datasets`` that reads such a file.
BUILDERS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}

#: The files by which a folder that ``Dataset.save_to_disk`` wrote is recognised.
SAVED = ("dataset_dict.json", "state.json")

#: The number of rows read at a time.
CHUNK = 1000


@dataclass(frozen=True)
class HubData:
    """A data set.

    name: its name on the hub, or a file or folder that ``datasets`` reads
    config: its configuration, where it has several
    train: the split to train on
    download: whether the network may be used; otherwise only local files and the local cache are read
    """

    name: str | None = None
    config: str | None = None
    train: str = "train"
    download: bool = False


class HubDataSet:
    """The splits of a data set, each of which is like a file: its path is name[split].

    key: the keys of the YAML, for messages
    """

    def __init__(self, given: HubData, key: FieldKeys) -> None:
        self.given, self.key = given, key

    def path(self, part: str, key: str) -> Path:
        """The path of one of the splits. ``key``: the YAML key that names the split, for the error message."""
        if part not in self._parts:
            near = did_you_mean(part, self._parts)
            raise Invalid(key, f"'{self.given.name}' has no split '{part}'.{near}  (splits: {listed(self._parts)})")
        return Path(f"{self.given.name}[{part}]")

    def rows(self, path: Path) -> Any:
        """The rows of a split, with the parts of nested columns as columns: translation.en."""
        return self._parts[path.name.rpartition("[")[2][:-1]].flatten()

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The splits of the data set by name."""
        given = self.given
        if not given.name:
            message = f"names no data. Give a data set's name, a file or a folder, e.g. data.{self.key('name')}=imdb."
            raise Invalid(self.key("name"), message)
        library = extra("datasets", "data of the Hugging Face hub", "hub")
        path = Path(given.name).expanduser()
        with _quiet(library, given.download):
            try:
                found = self._load(library, path, given.name)
            except (OSError, ValueError) as error:
                raise Invalid(self.key("name"), self._missing(path, error)) from error
        return dict(found) if isinstance(found, library.DatasetDict) else {given.train: found}

    def _load(self, library: Any, path: Path, name: str) -> Any:
        if any((path / saved).is_file() for saved in SAVED):
            return library.load_from_disk(str(path))
        if path.is_file() and kind_of(path) in BUILDERS:
            more = {"sep": "\t"} if kind_of(path) == "tsv" else {}
            return library.load_dataset(BUILDERS[kind_of(path)], data_files=str(path), **more)
        return library.load_dataset(str(path) if path.exists() else name, self.given.config)

    def _missing(self, path: Path, error: Exception) -> str:
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if path.exists() or self.given.download:
            return f"'{self.given.name}' cannot be loaded: {said}."
        return (
            f"'{self.given.name}' is no file or folder here (looked in {Path.cwd()}), and not in the cache: {said}. "
            f"To fetch it from the hub, set data.{self.key('download')}=true."
        )


@dataclass(frozen=True)
class HubReader(ColumnReader):
    """Rows of a data set. A class that is stored as a number becomes its name, a picture its pixels."""

    data: HubDataSet
    reading: Reading

    def read(self, path: Path) -> Iterator[TableRow]:
        rows = self.data.rows(path)
        where = {name: self._find(name, rows.column_names) for name in self.columns}
        wanted = list(dict.fromkeys(where.values()))
        convert = {column: _Cell(rows.features[column], column) for column in wanted}
        row, numerals = 0, Numerals(missing=self.reading.given.missing or ())
        for chunk in rows.select_columns(wanted).iter(CHUNK):
            for values in zip(*(chunk[column] for column in wanted), strict=True):
                row += 1
                cells = dict(zip(wanted, values, strict=True))
                record = TableRow(path, row, {}, numerals)
                try:
                    record.values.update({n: convert[c].read(cells[c], record) for n, c in where.items()})
                except BadRow as error:
                    self.reading.bad.met(error)
                    continue
                yield record

    def _find(self, name: str, names: list[str]) -> str:
        column: Column = self.columns[name]
        if isinstance(column, int) and 1 <= column <= len(names):
            self.reading.named(column, names[column - 1])
            return names[column - 1]
        if column not in names:
            near = did_you_mean(column, names)
            message = f"'{self.data.given.name}' has no column '{column}'.{near}  (has: {listed(names)})"
            raise Invalid(self.keys[name], message)
        return str(column)


class _Cell:
    """The cells of a column of this feature, as a reader of files would give them."""

    def __init__(self, feature: Any, column: str) -> None:
        self.column = column
        self.labels: list[str] | None = feature.names if type(feature).__name__ == "ClassLabel" else None
        self.picture = type(feature).__name__ == "Image"

    def read(self, value: Any, record: TableRow) -> Any:
        if self.labels is not None and isinstance(value, int):
            if not 0 <= value < len(self.labels):  # data sets of the hub mark a missing label with -1
                raise BadRow(
                    f"{record.place}: column '{self.column}' holds {value}, which is no class. Remove the row."
                )
            return self.labels[value]
        if self.picture and value is not None:
            numpy: Any = extra("numpy", "pictures of a data set", "hub")
            return record.file, numpy.asarray(value if value.mode == "L" else value.convert("RGB"))
        return value


class HubSplits(Splits):
    """The division of a data set's rows: ``valid`` and ``test`` are shares of the training split, or other splits."""

    def __init__(self, *arguments: Any, data: HubDataSet, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.data, self.key = data, data.key("name")

    def undivided(self) -> Splits:
        return HubSplits(self.read, None, 0.0, 0.0, data=self.data, whole=True)

    @cached_property
    def files(self) -> dict[Split, list[Path]]:
        found: dict[Split, list[Path]] = {"train": [self.data.path(self.data.given.train, self.data.key("train"))]}
        for split in ("valid", "test"):
            share = self.shares[split]
            found[split] = [self.data.path(share, split)] if isinstance(share, str) else []
        return found


@contextmanager
def _quiet(library: Any, download: bool) -> Iterator[None]:
    """Switch the network and progress bars off, unless downloads are allowed."""
    if download:
        yield
        return
    hub: Any = extra("huggingface_hub.constants", "data of the Hugging Face hub", "hub")
    before = library.config.HF_HUB_OFFLINE, hub.HF_HUB_OFFLINE
    bars = library.are_progress_bars_disabled()
    library.config.HF_HUB_OFFLINE = hub.HF_HUB_OFFLINE = True
    library.disable_progress_bars()
    try:
        yield
    finally:
        library.config.HF_HUB_OFFLINE, hub.HF_HUB_OFFLINE = before
        if not bars:
            library.enable_progress_bars()
