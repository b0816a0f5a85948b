"""Data sets read with Hugging Face's ``datasets``: from the hub, its local cache, or a local file or folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from composer.core.extras import extra
from composer.core.problems import Invalid, did_you_mean, listed
from composer.data.fields.field_type import FieldKeys
from composer.data.files.bad_rows import BadRow
from composer.data.files.lines import kind_of
from composer.data.layout import Numerals
from composer.data.tables.table import Column, Reader, TableRow

#: File suffix -> the builder of ``datasets`` that reads such a file.
BUILDERS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}

#: The files by which a folder that ``Dataset.save_to_disk`` wrote is recognised.
SAVED = ("dataset_dict.json", "state.json")

#: The number of rows read at a time.
CHUNK = 1000


@dataclass
class HubData:
    """A data set, each of whose splits is like a file: its path is name[split].

    name: its name on the hub, or a file or folder that ``datasets`` reads
    config: its configuration, where it has several
    train: the split to train on
    download: whether the network may be used; otherwise only local files and the local cache are read
    """

    name: str | None = None
    config: str | None = None
    train: str = "train"
    download: bool = False
    key: FieldKeys = field(default=FieldKeys("hub."), init=False)  # the keys of the YAML, for messages

    def find(self, part: str | None, key: str) -> list[Path]:
        """The path of a split, which the YAML names under this key; of the training split, where it names none."""
        if part is None:
            part, key = self.train, self.key("train")
        if part not in self._parts:
            near = did_you_mean(part, self._parts)
            raise Invalid(key, f"'{self.name}' has no split '{part}'.{near}  (splits: {listed(self._parts)})")
        return [Path(f"{self.name}[{part}]")]

    def rows(self, path: Path) -> Any:
        """The rows of a split, with the parts of nested columns as columns: translation.en."""
        return self._parts[path.name.rpartition("[")[2][:-1]].flatten()

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The splits of the data set by name."""
        if not self.name:
            message = f"names no data. Give a data set's name, a file or a folder, e.g. data.{self.key('name')}=imdb."
            raise Invalid(self.key("name"), message)
        library = extra("datasets", "data of the Hugging Face hub", "hub")
        path = Path(self.name).expanduser()
        with _quiet(library, self.download):
            try:
                found = self._load(library, path, self.name)
            except (OSError, ValueError) as error:
                raise Invalid(self.key("name"), self._missing(path, error)) from error
        return dict(found) if isinstance(found, library.DatasetDict) else {self.train: found}

    def _load(self, library: Any, path: Path, name: str) -> Any:
        if any((path / saved).is_file() for saved in SAVED):
            return library.load_from_disk(str(path))
        if path.is_file() and kind_of(path) in BUILDERS:
            more = {"sep": "\t"} if kind_of(path) == "tsv" else {}
            return library.load_dataset(BUILDERS[kind_of(path)], data_files=str(path), **more)
        return library.load_dataset(str(path) if path.exists() else name, self.config)

    def _missing(self, path: Path, error: Exception) -> str:
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if path.exists() or self.download:
            return f"'{self.name}' cannot be loaded: {said}."
        return (
            f"'{self.name}' is no file or folder here (looked in {Path.cwd()}), and not in the cache: {said}. "
            f"To fetch it from the hub, set data.{self.key('download')}=true."
        )


@dataclass(frozen=True, kw_only=True)
class HubReader(Reader):
    """Rows of a data set. A class that is stored as a number becomes its name, a picture its pixels."""

    data: HubData

    def read(self, path: Path) -> Iterator[TableRow]:
        rows = self.data.rows(path)
        where = {name: self._find(name, rows.column_names) for name in self.columns}
        wanted = list(dict.fromkeys(where.values()))
        features, numerals = rows.features, Numerals(missing=self.reading.missing or ())
        chunks = rows.select_columns(wanted).iter(CHUNK)
        cells = chain.from_iterable(zip(*(chunk[column] for column in wanted), strict=True) for chunk in chunks)
        for number, values in enumerate(cells, 1):
            record = TableRow(path, number, {}, numerals)
            try:
                read = {c: _cell(value, features[c], c, record) for c, value in zip(wanted, values, strict=True)}
            except BadRow as error:
                self.reading.bad.met(error)
                continue
            record.values.update({name: read[column] for name, column in where.items()})
            yield record

    def _find(self, name: str, names: list[str]) -> str:
        column: Column = self.columns[name]
        if isinstance(column, int) and 1 <= column <= len(names):
            self.reading.named(column, names[column - 1])
            return names[column - 1]
        if column not in names:
            near = did_you_mean(column, names)
            message = f"'{self.data.name}' has no column '{column}'.{near}  (has: {listed(names)})"
            raise self.wrong(name, message)
        return str(column)


def _cell(value: Any, feature: Any, column: str, record: TableRow) -> Any:
    """A cell of a column of this feature, as a reader of files would give it."""
    kind = type(feature).__name__
    if kind == "ClassLabel" and isinstance(value, int):
        if not 0 <= value < len(feature.names):  # data sets of the hub mark a missing label with -1
            raise BadRow(f"{record.place}: column '{column}' holds {value}, which is no class. Remove the row.")
        return feature.names[value]
    if kind == "Image" and value is not None:
        numpy: Any = extra("numpy", "pictures of a data set", "hub")
        return record.file, numpy.asarray(value if value.mode == "L" else value.convert("RGB"))
    return value


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
