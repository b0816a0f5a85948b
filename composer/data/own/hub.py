"""Texts with another text, a class or a value as target, read with Hugging Face's ``datasets``.

The data comes from the hub, from the local cache of the hub, or from a local file or folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from composer.core.extras import extra, need
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.registry import register
from composer.data.class_codec import ClassCodec
from composer.data.codecs import Codec, NumberCodec, TextCodec
from composer.data.example_source import ExampleSource
from composer.data.files import kind_of
from composer.data.source import SPLITS, Split
from composer.data.splits import Share, check_shares, deal
from composer.data.tables import TableRow, number, text
from composer.data.tokeniser import Tokenising

#: File suffix -> the builder of ``datasets`` that reads such a file.
BUILDERS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}

#: The files by which a folder that ``Dataset.save_to_disk`` wrote is recognised.
SAVED = ("dataset_dict.json", "state.json")

#: The number of rows read at a time.
CHUNK = 1000


@register("data", "hub")
class Hub(ExampleSource):
    """source: the text of one column; target: the text, class or value of another."""

    every_row: Split = "test"

    def __init__(
        self,
        *,
        name: str | None = None,
        config: str | None = None,
        source: str = "text",
        target: str = "label",
        output: Literal["text", "class", "value"] = "class",
        train: str = "train",
        valid: Share = 0.1,
        test: Share = 0.0,
        seed: int = 0,
        download: bool = False,
        tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
        target_tokeniser: Tokenising | None = None,
        normalise: bool = True,
    ) -> None:
        check_shares(valid, test)
        if target_tokeniser is not None and output != "text":
            raise Invalid("target_tokeniser", f"has no effect on a {output}: output is not text.")
        self.name, self.config, self.download, self.seed = name, config, download, seed
        self.columns = {"source": source, "target": target}
        self.output, self.train = output, train
        self.shares: dict[str, Share] = {"valid": valid, "test": test}
        key = "target_tokeniser" if target_tokeniser else "tokeniser"
        target_codecs: dict[str, Codec] = {
            "text": TextCodec(target_tokeniser or tokeniser, key=key),
            "class": ClassCodec(),
            "value": NumberCodec(1, normalise=normalise),
        }
        given = TextCodec(tokeniser, given=True, sentences="bpe" if output == "text" else "words")
        self.codecs = {"source": given, "target": target_codecs[output]}

    def open(self) -> None:
        need("datasets", "data=hub", "hub")
        for split, share in self.shares.items():
            if isinstance(share, str):
                self._part(share, split)
        super().open()

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is not None:
            self.only, self.shares = frozenset(fields), {}
            self.columns = {name: column for name, column in self.columns.items() if name in fields}

    def records(self, split: Split) -> Iterator[TableRow]:
        if self.only is not None:
            yield from self._of(self.train, "train") if split == "test" else ()
            return
        share = self.shares.get(split)
        if isinstance(share, str):
            yield from self._of(share, split)
            return
        code = SPLITS.index(split)
        for record, place in zip(self._of(self.train, "train"), self._dealt, strict=True):
            if place == code:
                yield record

    @cached_property
    def _dealt(self) -> bytearray:
        return deal(len(self._part(self.train, "train")), self.shares, self.seed, "name")

    def _of(self, part: str, key: str) -> Iterator[TableRow]:
        """The records of one of the splits of the data set."""
        data = self._part(part, key).flatten()
        for name, column in self.columns.items():
            if column not in data.column_names:
                near = did_you_mean(column, data.column_names)
                message = f"'{self.name}' has no column '{column}'.{near}  (has: {listed(data.column_names)})"
                raise Invalid(name, message)
        target = self.columns.get("target")
        labels = getattr(data.features[target], "names", None) if target else None  # of classes stored as numbers
        place, row = Path(f"{self.name}[{part}]"), 0
        for chunk in data.select_columns(list(dict.fromkeys(self.columns.values()))).iter(CHUNK):
            for values in zip(*(chunk[column] for column in self.columns.values()), strict=True):
                row += 1
                yield self._record(TableRow(place, row, dict(zip(self.columns, values, strict=True))), labels)

    def _record(self, record: TableRow, labels: list[str] | None) -> TableRow:
        values, column = record.values, self.columns.get("target")
        if self.reads("source"):
            values["source"] = text(record, "source", self.columns["source"])
        if column is None:
            return record
        if self.output == "value":
            values["target"] = [number(record, "target", column)]
        elif labels is not None and isinstance(values["target"], int):
            if not 0 <= values["target"] < len(labels):  # data sets of the hub mark a missing label with -1
                raise UserError(f"{record.place}: column '{column}' holds {values['target']}, which is no class.")
            values["target"] = labels[values["target"]]
        else:
            values["target"] = text(record, "target", column)
        return record

    def _part(self, part: str, key: str) -> Any:
        """One of the splits of the data set. ``key``: the YAML key that names the split, for the error message."""
        if part not in self._parts:
            near = did_you_mean(part, self._parts)
            raise Invalid(key, f"'{self.name}' has no split '{part}'.{near}  (splits: {listed(self._parts)})")
        return self._parts[part]

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The splits of the data set by name."""
        if not self.name:
            raise Invalid("name", "names no data. Give a data set's name, a file or a folder, e.g. data.name=imdb.")
        library = extra("datasets", "data=hub", "hub")
        path = Path(self.name).expanduser()
        with _quiet(library, self.download):
            try:
                found = self._load(library, path)
            except (OSError, ValueError) as error:
                raise Invalid("name", self._missing(path, error)) from error
        return dict(found) if isinstance(found, library.DatasetDict) else {self.train: found}

    def _load(self, library: Any, path: Path) -> Any:
        if any((path / name).is_file() for name in SAVED):
            return library.load_from_disk(str(path))
        if path.is_file() and kind_of(path) in BUILDERS:
            more = {"sep": "\t"} if kind_of(path) == "tsv" else {}
            return library.load_dataset(BUILDERS[kind_of(path)], data_files=str(path), **more)
        return library.load_dataset(str(path) if path.exists() else self.name, self.config)

    def _missing(self, path: Path, error: Exception) -> str:
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if path.exists() or self.download:
            return f"'{self.name}' cannot be loaded: {said}."
        return (
            f"'{self.name}' is no file or folder here (looked in {Path.cwd()}), and not in the cache: {said}. "
            "To fetch it from the hub, set data.download=true."
        )


@contextmanager
def _quiet(library: Any, download: bool) -> Iterator[None]:
    """Switch the network and progress bars off, unless downloads are allowed."""
    if download:
        yield
        return
    hub: Any = extra("huggingface_hub.constants", "data=hub", "hub")
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
