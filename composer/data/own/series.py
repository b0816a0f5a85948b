"""Time series in the columns of a CSV file: ``length`` steps are given, the next ``horizon`` steps are forecast."""

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
from composer.core.signals import Field, Seq, Signal
from composer.data.codecs import Moments, NumberCodec, encoded
from composer.data.layout.cutting import is_number
from composer.data.packed_rows import PackedRows, Packer
from composer.data.reading import Reading
from composer.data.source import SPLITS, RowNumbers, Source, Split, check_state, read_late
from composer.data.splits import Share, Splits
from composer.data.tables import Columns, Table, TableRow, number
from composer.data.windows import Windows

#: The number of rows that are read at a time.
CHUNK = 5000


@register("data", "series")
class Series(Source):
    """source: ``length`` steps of all channels; target: the next ``horizon`` steps of the channels to forecast.

    Every channel is standardised to mean 0 and standard deviation 1 over the training split. The training split is the
    beginning of a series; the validation and test splits follow it.
    """

    every_row: Split = "test"

    def __init__(
        self,
        *,
        path: str | None = None,
        channels: Columns | None = None,
        forecast: Columns | None = None,
        length: Positive = 96,
        horizon: Positive = 24,
        stride: Positive = 1,
        header: bool | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        valid: Share = 0.1,
        test: Share = 0.0,
        normalise: bool = True,
        skip_bad: bool = False,
    ) -> None:
        self.reading = Reading(encoding=encoding, delimiter=delimiter, header=header, skip_bad=skip_bad)
        self.channels, self.wanted = channels, forecast
        self.length, self.horizon, self.stride, self.normalise = length, horizon, stride, normalise
        self.shares: dict[str, Share] = {"valid": valid, "test": test}
        self.parts = Splits(lambda path: iter(()), path, valid, test)
        self.names: list[str]  # of the channels
        self.ahead: list[int]  # the indices of the channels to forecast
        self.codec = NumberCodec(sequence=True)
        self.targets = True  # whether examples include the steps to forecast

    @property
    def span(self) -> int:
        """The number of steps in an example."""
        return self.length + (self.horizon if self.targets else 0)

    @property
    def fields(self) -> dict[str, Field]:
        ahead = tuple(self.names[place] for place in self.ahead)
        return {
            "source": Field("seq", dim=len(self.names), steps=self.length, names=tuple(self.names)),
            "target": Field("seq", dim=len(ahead), steps=self.horizon, names=ahead),
        }

    def open(self) -> None:
        first = self.parts.files["train"][0]
        columns = self.channels
        if columns is None:
            columns = self._numeric(first)
        if not columns:
            raise Invalid("channels", "is empty. Name at least one column, or leave it null for all.")
        self.columns = columns
        self.names = [str(column) for column in columns]
        for column in self.wanted or []:
            if str(column) not in self.names:
                raise Invalid("forecast", f"'{column}' is none of the channels {', '.join(self.names)}.")
        self.ahead = [self.names.index(str(column)) for column in self.wanted or columns]
        next(self._table(columns).read(first), None)  # raises an error where a column is missing

    def check_files(self) -> None:
        self.open()

    def _numeric(self, file: Path) -> Columns:
        """All columns of numbers. A column of dates, which often comes first, is left out."""
        every = Table({}, reading=self.reading).every_column(file)
        row = next(self._table(every).read(file), None)
        if row is not None and not any(map(is_number, row.values.values())) and self.reading.header is None:
            self.reading.header = True  # a first row without any number can only hold names
            return self._numeric(file)
        if row is None:
            raise UserError(f"{file}: has a header, but no row below it.")
        found = [column for column in every if is_number(row.values[str(column)])]
        if not found:
            raise Invalid("channels", f"no column of '{file}' starts with a number. Name the channels.")
        return found  # type: ignore[return-value]

    def _table(self, columns: Columns) -> Table:
        return Table({str(c): c for c in columns}, {str(c): "channels" for c in columns}, reading=self.reading)

    @property
    def remarks(self) -> list[str]:
        return self.reading.remarks

    def _read(self, path: Path) -> Iterator[list[float]]:
        return self.reading.bad.each(self._table(self.columns).read(path), _numbers)

    @cached_property
    def _files(self) -> dict[Split, list[PackedRows]]:
        """The numbers of every file, by split. The files of ``path`` belong to "train" until they are divided."""
        with read_late():
            return {split: [self._pack(path) for path in self.parts.files[split]] for split in SPLITS}

    def _pack(self, path: Path) -> PackedRows:
        packer = Packer(torch.float32, (len(self.names),))
        rows = self._read(path)
        while chunk := list(islice(rows, CHUNK)):
            packer.add([torch.tensor(chunk, dtype=torch.float32)])
        return packer.finish()

    @cached_property
    def _stretches(self) -> dict[Split, list[Tensor]]:
        """The steps of every split. A held-out split includes the ``length`` steps before it, which are inputs only."""
        found: dict[Split, list[Tensor]] = {split: [file.values for file in self._files[split]] for split in SPLITS}
        whole = found["train"]
        if self.parts.whole:
            return {"train": [], "valid": [], "test": whole}
        drawn = {split: share for split, share in self.shares.items() if not isinstance(share, str) and share > 0}
        found["train"] = []
        for steps in whole:
            end = len(steps)
            for split in ("test", "valid"):
                if split in drawn:
                    start = end - max(1, round(drawn[split] * len(steps)))
                    found[split].append(steps[max(0, start - self.length) : end])
                    end = start
            found["train"].append(steps[:end])
        return found

    def _learn(self) -> None:
        """Compute the scales of the channels from the training split, unless they are known already."""
        if self.codec.dim is not None:
            return
        self.codec.dim = len(self.names)
        self.codec.mean, self.codec.deviation = torch.zeros(self.codec.dim), torch.ones(self.codec.dim)
        if self.normalise:
            moments = Moments()
            for source in self.together or (self,):
                assert isinstance(source, Series), "a mixture has sources of one family"
                for piece in (piece for steps in source._stretches["train"] for piece in steps.split(CHUNK)):
                    moments.add(piece)
            self.codec.mean, self.codec.deviation = moments.scale()

    @cached_property
    def _windows(self) -> dict[Split, list[Windows]]:
        found: dict[Split, list[Windows]] = {
            split: [Windows(s, torch.tensor([0, len(s)]), self.span, self.stride) for s in stretches]
            for split, stretches in self._stretches.items()
        }
        first: Split = "test" if self.parts.whole else "train"
        if not any(len(windows) for windows in found[first]):
            longest = max(len(steps) for steps in self._stretches[first])
            needs = f"data.length {self.length}" + (f" and data.horizon {self.horizon}" if self.targets else "")
            has = "the training split has" if first == "train" else "the longest file has"
            raise UserError(f"{needs} need {self.span} steps, but {has} {longest}. Take smaller ones.")
        return found

    def size(self, split: Split) -> int:
        return sum(len(windows) for windows in self._windows[split])

    def overlap(self, split: Split) -> int:
        return -(-self.span // self.stride)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": torch.full((len(rows),), self.length), "target": torch.full((len(rows),), self.horizon)}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        self._learn()
        index = torch.as_tensor(rows, dtype=torch.long)
        values = torch.empty(len(index), self.span, len(self.names))
        first = 0
        for windows in self._windows[split]:
            here = (index >= first) & (index < first + len(windows))
            if bool(here.any()):
                values[here] = windows.take(index[here] - first)[0]
            first += len(windows)
        values.sub_(self.codec.mean).div_(self.codec.deviation)
        given: dict[str, Signal] = {"source": Seq(values[:, : self.length])}
        return given | ({"target": Seq(values[:, self.length :, self.ahead])} if self.targets else {})

    def show(self, field: str, signal: Signal) -> list[str]:
        assert isinstance(signal, Seq)
        return self._scaled(field).show(signal)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        return encoded(self._scaled(field), values)

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        return self._scaled(field).unscaled(values)

    def _scaled(self, field: str) -> NumberCodec:
        """The codec for the channels of a field."""
        self._learn()
        places = list(range(len(self.names))) if field == "source" else self.ahead
        codec = NumberCodec(len(places), sequence=True)
        codec.mean, codec.deviation = self.codec.mean[places], self.codec.deviation[places]
        return codec

    def state(self) -> dict[str, Any]:
        self._learn()
        return {"columns": list(self.columns), "ahead": list(self.ahead), **self.codec.state()}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        """As in ``Source``. Without the field ``target``, the examples include the last window of each file."""
        check_state(state, ("columns", "ahead", "mean", "deviation"))
        self.columns = list(state["columns"])
        self.names = [str(column) for column in self.columns]
        self.ahead = list(state["ahead"])
        self.codec.restore(state)
        if fields is not None:
            self.parts, self.targets = self.parts.undivided(), "target" in fields


def _numbers(record: TableRow) -> list[float]:
    return [number(record, name, name) for name in record.values]
