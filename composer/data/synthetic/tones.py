"""Telephone keys by their sound: a key is the sum of two sines (DTMF, ITU-T Q.23), heard on a noisy line at 8 kHz.

    x_t = a (sin(2 pi f_row t + p) + b sin(2 pi f_column t + q)) + noise

The recordings become log-mel frames in the same way as the WAV files of data=audio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor

from composer.core.block import Positive, Range, Scale
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Label, Signal
from composer.data.codecs.codec import encoded
from composer.data.codecs.mel import Recording, frame_count
from composer.data.counter_random import normal
from composer.data.fields.audio_field import Frames
from composer.data.generated_source import COUNTED, DrawnLength, Spans, ended, ended_field, vocabulary_field
from composer.data.source import RowNumbers, Split, check_state

RATE = 8000
ROWS = (697.0, 770.0, 852.0, 941.0)
COLUMNS = (1209.0, 1336.0, 1477.0, 1633.0)
PAD = "123A456B789C*0#D"  # row by row
KEYPADS = {"digits": "0123456789", "telephone": "0123456789*#", "all": "0123456789*#ABCD"}
FIRST = 2  # the keys of a dialled number come after <sos> and <eos>

#: The lowest and the highest amplitude of the sine of the row, where 1 is the loudest that a WAV file holds.
LEVELS = (0.05, 0.4)


class DialledKeys(NamedTuple):
    """What is drawn of every recording. Samples are whole numbers; a row has K keys, of which ``counts`` are dialled.

    keys: (B, K), indices into the keypad
    tones, gaps: (B, K), the samples of every key and of the silence after it
    onset: (B,), the samples before the first key
    """

    counts: Tensor
    keys: Tensor
    tones: Tensor
    gaps: Tensor
    onset: Tensor

    @property
    def samples(self) -> Tensor:
        """(B,), the samples of each recording."""
        dialled = torch.arange(self.keys.shape[1]) < self.counts[:, None]
        return self.onset + ((self.tones + self.gaps) * dialled).sum(1)


@register("data", "tones")
class Tones(DrawnLength):
    """source: log-mel frames of a recording; target: its key (a class), or the keys that are dialled in it.

    Level, twist, detuning and the signal-to-noise ratio are drawn for every recording, durations and phases for every
    key. Frames are standardised by the mean and standard deviation of the first training examples.
    """

    output: Literal["class", "keys"] = "class"
    keypad: Literal["digits", "telephone", "all"] = "digits"
    length: Positive = 6
    min_length: Positive = 3
    min_tone: Scale = 0.06
    max_tone: Scale = 0.2
    min_gap: Scale = 0.04
    max_gap: Scale = 0.15
    twist: Annotated[float, Range(low=0)] = 6.0
    detune: Annotated[float, Range(low=0, high=0.03)] = 0.015
    min_snr: float = 0.0
    max_snr: float = 20.0
    bands: Positive = 40
    window: Scale = 0.025
    hop: Scale = 0.01

    def prepare(self) -> None:
        self.tone, self.gap = (self.min_tone, self.max_tone), (self.min_gap, self.max_gap)
        for name, (low, high) in (("tone", self.tone), ("gap", self.gap), ("snr", (self.min_snr, self.max_snr))):
            if low > high:
                raise Invalid(f"min_{name}", f"{low:g} is more than max_{name}, {high:g}.")
        if self.output == "class":
            self.spans = Spans.of("length", 1, None, None)
        self.keys = KEYPADS[self.keypad]
        self.frames = Frames(self.bands, self.window, self.hop)
        self.frames.rate = RATE

    def bare_fields(self) -> dict[str, Field]:
        if self.output == "class":
            target = vocabulary_field("label", tuple(self.keys))
        else:
            target = ended_field(tuple(self.keys))
        return {"source": self.frames.field, "target": target}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        layout = self._layout(split, torch.as_tensor(rows, dtype=torch.long))
        frames = {"source": frame_count(layout.samples, RATE, self.frames.window, self.frames.hop)}
        return frames if self.output == "class" else {**frames, "target": layout.counts + 1}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        return {"source": encoded(self._scaled(), self.recordings(split, rows)), **self.counted(split, rows)}

    def counted(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        layout = self._layout(split, rows)
        if self.output == "class":
            return {"target": Label(layout.keys[:, 0])}
        return {"target": ended(FIRST + layout.keys, layout.counts)}

    def recordings(self, split: Split, rows: Tensor) -> list[Recording]:
        """The sounds themselves, each made alone, because they differ in length."""
        layout = self._layout(split, rows)
        drawn = self.draw("line", split, rows, 5)
        phases = self.draw("phases", split, rows, 2 * layout.keys.shape[1]).unflatten(1, (-1, 2))
        made = []
        for row, number in enumerate(rows):
            level, twist, one, other, snr = drawn[row].tolist()
            quiet, loud = LEVELS
            amplitude = quiet * (loud / quiet) ** level
            amplitudes = torch.tensor([1.0, 10 ** ((2 * twist - 1) * self.twist / 20)], dtype=torch.float64) * amplitude
            tuning = 1 + self.detune * (2 * torch.tensor([one, other], dtype=torch.float64) - 1)
            sound = torch.zeros(int(layout.samples[row]), dtype=torch.float64)
            at = int(layout.onset[row])
            for key in range(int(layout.counts[row])):
                count = int(layout.tones[row, key])
                turns = torch.arange(count)[:, None] * (self._pitches(layout.keys[row, key]) * tuning) / RATE
                sound[at : at + count] = (2 * math.pi * (turns + phases[row, key])).sin() @ amplitudes
                at += count + int(layout.gaps[row, key])
            low, high = self.min_snr, self.max_snr
            power = float(amplitudes.square().sum()) / 2 / 10 ** ((low + (high - low) * snr) / 10)
            noise = normal(self.seed, f"{split}/noise", number[None], len(sound))[0]
            made.append(Recording(sound + math.sqrt(power) * noise, RATE))
        return made

    def _layout(self, split: Split, rows: Tensor) -> DialledKeys:
        most = self.spans.most(split)
        counts = self.row_lengths(split, rows)
        keys = self.integers("keys", split, rows, most, len(self.keys))
        tones = _samples(self.draw("tones", split, rows, most), self.tone)
        gaps = _samples(self.draw("gaps", split, rows, most + 1), self.gap)
        return DialledKeys(counts, keys, tones, gaps[:, 1:], gaps[:, 0])

    def _pitches(self, key: Tensor) -> Tensor:
        """The two frequencies of a key, (2,)."""
        row, column = divmod(PAD.index(self.keys[int(key)]), len(COLUMNS))
        return torch.tensor([ROWS[row], COLUMNS[column]], dtype=torch.float64)

    # The scale of the frames is learned; all else follows from the knobs.

    def _scaled(self) -> Frames:
        if not self.frames.measured:
            packer = self.frames.packer()
            for source in self.together or (self,):
                if isinstance(source, Tones):
                    first = torch.arange(min(COUNTED, source.sizes["train"]))
                    packer.add(self.frames.encode(list(source.recordings("train", first)), str))
            self.frames.measure(packer.finish())
        return self.frames

    def state(self) -> dict[str, Any]:
        return {"source": self._scaled().state()}

    def restore(self, state: Mapping[str, Any], fields: object = None) -> None:
        check_state(state, ("source",))
        self.frames.restore(state["source"])

    # What a person gives and sees.

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """Recordings as WAV files; frames as numbers, and keys, as they are typed for other generated data."""
        if field == "source" and all(str(value).lower().endswith(".wav") for value in values):
            return encoded(self._scaled(), values)
        return super().encode(field, values)

    def show(self, field: str, signal: Signal) -> list[str]:
        return self.frames.show(signal) if field == "source" else super().show(field, signal)


def _samples(draws: Tensor, span: tuple[float, float]) -> Tensor:
    """Durations in samples, for uniform numbers in [0, 1) and the shortest and longest duration in seconds."""
    low, high = span
    return ((low + (high - low) * draws) * RATE).round().long().clamp(min=1)
