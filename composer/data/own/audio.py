"""A folder of WAV files to be classified: speech commands, spoken digits, sounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from composer.core.block import Positive, Scale
from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import Field, Seq, Signal
from composer.data.codecs import ClassCodec, Codec, FittedCodec, Moments, NumberCodec, Place, Reread
from composer.data.files import typed_file
from composer.data.folders import Folder, Naming
from composer.data.mel import log_mel, read_wave
from composer.data.packed_rows import PackedRows, Packer
from composer.data.source import Split
from composer.data.splits import Share


@register("data", "audio")
class Audio(Folder):
    """source: log-mel frames; target: the class."""

    def __init__(
        self,
        *,
        path: str | None = None,
        label: Naming = "auto",
        bands: Positive = 40,
        window: Scale = 0.025,
        hop: Scale = 0.01,
        valid: Share = 0.1,
        test: Share = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(path, label, valid, test, seed, (".wav",))
        frames = Frames(bands, window, hop)
        codecs: dict[str, Codec] = {"source": frames, "target": ClassCodec()}
        self.codecs = codecs
        self.frames = frames

    def open(self) -> None:
        self.learn("target", self.codecs["target"])  # the width of a frame is known without reading a recording

    def state(self) -> dict[str, Any]:
        assert self._packed  # packing the training split measures the scales of the bands
        return super().state()

    def _pack(self, split: Split) -> dict[str, PackedRows]:
        packed = super()._pack(split)
        if split == "train" and not self.frames.learned:
            self.frames.measure(packed["source"])
        return packed


class Frames(FittedCodec):
    """Paths of WAV files as log-mel frames, standardised to mean 0 and standard deviation 1 over the training split."""

    def __init__(self, bands: int, window: float, hop: float) -> None:
        self.bands, self.window, self.hop = bands, window, hop
        self.rate: int | None = None
        self.numbers = NumberCodec(bands, sequence=True)

    @property
    def field(self) -> Field:
        return Field("seq", dim=self.bands)

    def learn(self, values: Reread) -> None:
        raise NotImplementedError("recordings are read once: the scales are measured on the packed frames")

    def measure(self, packed: PackedRows) -> None:
        """Compute the mean and standard deviation of every band over these frames."""
        moments = Moments()
        for piece in packed.values.split(10000):
            moments.add(piece)
        self.numbers.mean, self.numbers.deviation = moments.scale()

    @property
    def learned(self) -> bool:
        return hasattr(self.numbers, "mean")

    def _frames(self, path: Path) -> Tensor:
        samples, rate = read_wave(path)
        self.rate = self.rate or rate
        if rate != self.rate:
            raise UserError(f"{path}: has {rate} samples a second, others {self.rate}. Convert them to one rate.")
        return log_mel(samples, rate, self.bands, self.window, self.hop)

    def packer(self) -> Packer:
        return self.numbers.packer()

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        return [self._frames(path) for path in values]

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
