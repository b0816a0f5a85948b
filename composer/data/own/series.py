"""Time series in the columns of a CSV file: ``length`` steps are given, the next ``horizon`` steps are forecast."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid, UserError
from composer.core.registry import register
from composer.core.signals import Contents, Field, Seq, Signal
from composer.data.codecs.codec import encoded
from composer.data.codecs.number_codec import NumberCodec
from composer.data.file_keys import FileKeys, reads_files
from composer.data.packed.windows import Windows
from composer.data.series.calendar import Feature, channel_names
from composer.data.series.date_ranges import DateRange, is_range
from composer.data.series.gaps import Fill, Stretches
from composer.data.series.segments import Pieces, divide_all, pieces_of
from composer.data.series.series_files import SeriesFiles, TimeColumns
from composer.data.series.series_rows import CHUNK
from composer.data.series.times import DAY
from composer.data.series.window_shape import WindowShape
from composer.data.source import SPLITS, RowNumbers, Source, Split, check_state, read_late
from composer.data.splits.splits import Splits
from composer.data.tables.table import Columns

#: The channel that tells which steps were measured, with ``fill: mask``.
MEASURED = "measured"


@register("data", "series")
class Series(Source):
    """source: ``length`` steps of all channels; target: the next ``horizon`` steps of the channels to forecast.

    Every channel is standardised to mean 0 and standard deviation 1 over the training split. The training split is the
    beginning of a series; the validation and test splits follow it. Calendar features and the mask of filled steps are
    further channels of the source.
    """

    every_row: Split = "test"

    @reads_files("header", "delimiter", "encoding", "decimal", "missing")
    def __init__(
        self,
        files: FileKeys,
        *,
        channels: Columns | None = None,
        forecast: Columns | None = None,
        time: TimeColumns = "auto",
        fill: Fill | None = None,
        sort: bool = False,
        calendar: list[Feature] | None = None,
        length: Positive = 96,
        horizon: Positive = 24,
        stride: Positive = 1,
        normalise: bool = True,
    ) -> None:
        self.reading, self.parts = files, Splits(files)
        shares = self.parts.shares
        self.ranges = {split: DateRange(split, str(share)) for split, share in shares.items() if is_range(share)}
        shares |= dict.fromkeys(self.ranges, 0.0)  # ranges name no files
        self.files = SeriesFiles(files, channels, time, sort=sort)
        self.wanted, self.fill, self.calendar = forecast, fill, list(calendar or [])
        self.length, self.horizon, self.stride, self.normalise = length, horizon, stride, normalise
        self.ahead: list[int]  # the indices of the channels to forecast
        self.targets = True  # whether examples include the steps to forecast
        self._read_as: dict[str, Any] | None = None  # the columns and the step with which the files were read

    @property
    def names(self) -> list[str]:
        """The names of the channels that are read from the files."""
        return self.files.names

    @property
    def further(self) -> list[str]:
        """The names of the input channels that are not read from the files."""
        return channel_names(self.calendar) + [MEASURED] * (self.fill == "mask")

    @property
    def shape(self) -> WindowShape:
        return WindowShape(self.length, self.horizon if self.targets else 0, self.stride, self.ahead)

    @property
    def fields(self) -> dict[str, Field]:
        names, ahead = (*self.names, *self.further), tuple(self.names[place] for place in self.ahead)
        given = Contents(names=names, fixed=tuple(self.further) or None)
        return {
            "source": Field("seq", dim=len(names), steps=self.length, contents=given),
            "target": Field("seq", dim=len(ahead), steps=self.horizon, contents=Contents(names=ahead)),
        }

    def open(self) -> None:
        self.files.choose(self.parts.files["train"][0])
        for column in self.wanted or []:
            if str(column) not in self.names:
                raise Invalid("forecast", f"'{column}' is none of the channels {', '.join(self.names)}.")
        self.ahead = [self.names.index(str(column)) for column in self.wanted or self.names]
        for name in self.further:
            if name in self.names:
                raise Invalid("channels", f"'{name}' is the name of a channel that is added. Rename the column.")
        self._forget_others()
        self._divided  # noqa: B018 - raises the errors that concern times and splits

    def check_files(self) -> None:
        self.open()

    def _check_dates(self) -> None:
        """Raise an error where a knob needs times that the files do not have."""
        form = self.files.form
        if self.calendar and (form is None or not form.dates):
            found = "no column of dates was found" if form is None else f"{', '.join(form.names)} holds plain numbers"
            raise Invalid("calendar", f"needs the dates of the steps, but {found}. Name the column: data.time=...")
        for chosen in self.ranges.values() if form is None else ():
            message = f"'{chosen.text}' is a range of times, but no column of times was found. Name it: data.time=..."
            raise Invalid(chosen.key, message)

    @property
    def remarks(self) -> list[str]:
        return [*self.files.remarks, *self.reading.remarks]

    # Reading

    def _forget_others(self) -> None:
        """Read the files again, unless they were read with the same columns and step."""
        for name in ("_windows",) if self._read_as == self.files.state() else ("_divided", "_windows"):
            self.__dict__.pop(name, None)

    @cached_property
    def _divided(self) -> tuple[Stretches, dict[Split, Pieces]]:
        """The steps of all files, and the pieces of every split.

        A file of ``path`` is divided, any other belongs to one split.
        """
        files = self.parts.files
        self.files.look_up_time(files["train"][0])
        self._check_dates()
        paths = [path for split in SPLITS for path in files[split]]
        steps = self.files.stretches([self.files.read(path) for path in paths], self.fill, self.length)
        self._read_as = self.files.state()
        if self.parts.whole:
            if not self.targets:
                self._remark_ends(paths, steps)
            return steps, pieces_of(torch.full_like(steps.times, SPLITS.index("test")), steps, self.length)
        times = steps.times.tensor_split(steps.ends_of_files[:-1])
        others = [SPLITS.index(split) for split in ("valid", "test") for _ in files[split]]
        count = len(paths) - len(others)
        numbers = divide_all(times[:count], self.parts.shares, self.ranges, self.files.form)
        numbers += [torch.full_like(own, number) for own, number in zip(times[count:], others, strict=True)]
        return steps, pieces_of(torch.cat(numbers), steps, self.length)

    @cached_property
    def codec(self) -> NumberCodec:
        """The scales of the channels, learned from the training split unless they are restored."""
        codec = NumberCodec(len(self.names), sequence=True, normalise=self.normalise)
        codec.learn(lambda limit: self._learned_from())
        return codec

    def _learned_from(self) -> Iterator[Tensor]:
        for source in self.together or (self,):
            assert isinstance(source, Series), "a mixture has sources of one family"
            steps, pieces = source._divided
            for start, end in zip(*pieces["train"], strict=True):
                yield from steps.values[start:end].split(CHUNK)

    # Windows

    @cached_property
    def _windows(self) -> dict[Split, Windows]:
        with read_late():
            steps, pieces = self._divided
        found = {split: self.shape.cut(steps, *pieces[split]) for split in SPLITS}
        first: Split = "test" if self.parts.whole else "train"
        if not len(found[first]):
            lengths = pieces[first].ends - pieces[first].starts
            raise UserError(self._too_short(int(lengths.max()) if len(lengths) else 0, first))
        return found

    def _too_short(self, longest: int, first: Split) -> str:
        needs = f"data.length {self.length}" + (f" and data.horizon {self.horizon}" if self.targets else "")
        what = "the training split" if first == "train" else "the longest file"
        said = f"{needs} need {self.shape.span} steps, but {what} has {longest}"
        if self.files.gaps is not None:
            return f"{said}{self.files.steps_in_words} without a gap between. Take smaller ones. {self.files.gaps}"
        return f"{said}. Take smaller ones."

    def _remark_ends(self, paths: Sequence[Path], steps: Stretches) -> None:
        """Say that there is no forecast after the end of a file, where its last stretch is too short."""
        stretches = torch.searchsorted(steps.starts, steps.ends_of_files).tolist()  # those before the end of each file
        for path, before, after in zip(paths, [0, *stretches], stretches, strict=False):
            if after - before < 2 or (count := int(steps.ends[after - 1] - steps.starts[after - 1])) >= self.length:
                continue
            said = f"after its last gap there are {count} steps, and the model reads {self.length}"
            more = " data.fill=previous fills gaps." if self.fill is None else ""
            self.files.remark(f"{path}: {said}: there is no forecast from the end of the file.{more}")

    def size(self, split: Split) -> int:
        return len(self._windows[split])

    def overlap(self, split: Split) -> int:
        return -(-self.shape.span // self.stride)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": torch.full((len(rows),), self.length), "target": torch.full((len(rows),), self.horizon)}

    def _places(self, split: Split, rows: RowNumbers) -> tuple[Stretches, Tensor]:
        """The steps of all files, and the first step of each of these windows, (B,)."""
        return self._divided[0], self._windows[split].starts(torch.as_tensor(rows, dtype=torch.long))[0]

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        steps, places = self._places(split, rows)
        values = self.shape.values(steps, places).sub_(self.codec.mean).div_(self.codec.deviation)
        further = self.shape.further(steps, places, self.calendar, mask=self.fill == "mask")
        source = values[:, : self.length]
        given: dict[str, Signal] = {"source": Seq(torch.cat([source, further], -1) if self.further else source)}
        return given | ({"target": Seq(values[:, self.length :, self.ahead])} if self.targets else {})

    def step_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        steps, places = self._places(split, rows)
        if not self.targets or steps.measured is None:
            return {}
        return {"target": self.shape.weights(steps.measured, places)}

    def times(self, field: str, split: Split, rows: RowNumbers, steps: int) -> list[list[str]] | None:
        form, step = self.files.form, self.files.step
        if form is None or step is None or field != "target":
            return None
        known, places = self._places(split, rows)
        last = known.times[places + self.length - 1]
        count = torch.arange(1, steps + 1).expand(len(rows), steps)
        found = step.later(last[:, None].expand_as(count).contiguous(), count)
        clock = form.dates and bool((found % DAY != 0).any() or (step.kind == "duration" and step.size % DAY))
        return [[form.show(time, clock=clock) for time in row] for row in found.tolist()]

    # Values that a person types or reads

    def show(self, field: str, signal: Signal) -> list[str]:
        assert isinstance(signal, Seq)
        codec = self._scaled(field)
        return codec.show(Seq(signal.values[..., : codec.dim], signal.lengths))

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        signal = encoded(self._scaled(field), values)
        if field != "source" or not self.further:
            return signal
        if self.calendar:
            raise UserError(
                f"the model reads calendar features ({', '.join(self.calendar)}), and typed steps have no times. "
                "Give a file: data.path=new.csv."
            )
        assert isinstance(signal, Seq)
        return Seq(torch.cat([signal.values, torch.ones_like(signal.values[..., :1])], -1), signal.lengths)

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        codec = self._scaled(field)
        return torch.cat([codec.unscaled(values[..., : codec.dim]), values[..., codec.dim :].detach().cpu()], -1)

    def _scaled(self, field: str) -> NumberCodec:
        """The codec for the channels of a field."""
        places = list(range(len(self.names))) if field == "source" else self.ahead
        codec = NumberCodec(len(places), sequence=True)
        codec.mean, codec.deviation = self.codec.mean[places], self.codec.deviation[places]
        return codec

    def state(self) -> dict[str, Any]:
        return {**self.files.state(), "ahead": list(self.ahead), **self.codec.state()}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        """As in ``Source``. Without the field ``target``, the examples include the last window of each file."""
        older = {name: None for name in ("time", "step") if name not in state}
        check_state({**older, **state}, ("columns", "time", "step", "ahead", "mean", "deviation"))
        self.files.restore(state)
        self.ahead = list(state["ahead"])
        self.codec = NumberCodec(sequence=True)
        self.codec.restore(state)
        self._forget_others()
        if fields is not None:
            self.__dict__.pop("_divided", None)  # of other files
            self.targets = "target" in fields
            self.parts.undivide()
