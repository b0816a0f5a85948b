"""A sound: the log-mel spectrogram of a WAV file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from composer.core.block import Positive, Scale
from composer.core.registry import register
from composer.core.signals import Field, Seq, Signal
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.codecs.mel import Recording, log_mel, read_wave
from composer.data.codecs.number_codec import Moments, NumberCodec
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.files.bad_rows import BadRow, in_row
from composer.data.files.lines import typed_file
from composer.data.packed.packed_rows import PackedRows
from composer.data.tables.table import Column


@register("field", "audio")
class Audio(FieldType):
    """Log-mel frames of a recording. A cell is the path of its WAV file, relative to the table.

    bands: mel bands: the width of a frame
    window: seconds of sound in a frame
    hop: seconds from one frame to the next
    """

    reads_files = True

    def __init__(
        self, key: FieldKeys, *, column: Column, bands: Positive = 40, window: Scale = 0.025, hop: Scale = 0.01
    ) -> None:
        super().__init__(key, {"column": column}, Frames(bands, window, hop))

    def value(self, cells: Cells) -> Any:
        return cells.file()

    def written(self, value: Any) -> str:
        return str(value)


class Frames(Codec):
    """Recordings as log-mel frames, standardised to mean 0 and standard deviation 1 over the training split.

    A value is the path of a WAV file, or a Recording that is in memory.
    """

    def __init__(self, bands: int, window: float, hop: float) -> None:
        self.bands, self.window, self.hop = bands, window, hop
        self.rate: int | None = None
        self.numbers = NumberCodec(bands, sequence=True)

    @property
    def field(self) -> Field:
        return Field("seq", dim=self.bands)

    def learn(self, values: Reread) -> None:
        """Nothing: the width of a frame is known, and the scales are measured on the packed frames, read once."""

    def measure(self, packed: PackedRows) -> None:
        moments = Moments()
        for piece in packed.values.split(10000):
            moments.add(piece)
        self.numbers.mean, self.numbers.deviation = moments.scale()

    @property
    def measured(self) -> bool:
        return hasattr(self.numbers, "mean")

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        found = []
        for i, value in enumerate(values):
            with in_row(place(i)):
                samples, rate = value if isinstance(value, Recording) else read_wave(value)
                self.rate = self.rate or rate
                if rate != self.rate:
                    raise BadRow(f"{value}: has {rate} samples a second, others {self.rate}. Convert them to one rate.")
            found.append(log_mel(samples, rate, self.bands, self.window, self.hop))
        return found

    def parse(self, text: str) -> Path:
        return typed_file(text)

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        values, lengths = packed.pad(rows)
        values.sub_(self.numbers.mean).div_(self.numbers.deviation)
        return Seq(Seq(values, lengths).filled(), lengths)

    def show(self, signal: Signal) -> list[str]:
        seconds = (count * self.hop for count in signal.counts.tolist())  # type: ignore[attr-defined]
        return [f"{time:.2f} s of sound" for time in seconds]

    def state(self) -> dict[str, Any]:
        return {"rate": self.rate, **self.numbers.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.rate = state["rate"]
        self.numbers.restore(state)
