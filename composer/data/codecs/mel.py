"""Log-mel spectrograms: the energy of a sound in frequency bands of the mel scale, every few milliseconds.

    y_tm = log(sum_f M_mf |STFT(x)_tf|^2 + 1e-6),  mel(f) = 2595 log10(1 + f / 700)

Stevens, Volkmann and Newman, 1937; the triangles are those of HTK.
"""

from __future__ import annotations

import wave
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from composer.data.files.bad_rows import BadRow


class Recording(NamedTuple):
    """The samples of a sound, (samples,) between -1 and 1, and the number of samples a second."""

    samples: Tensor
    rate: int

    def __repr__(self) -> str:
        return f"a recording of {len(self.samples) / self.rate:.2f} s"


def read_wave(path: Path) -> Recording:
    """The recording of a WAV file, averaged over its channels."""
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise BadRow(
            f"{path}: cannot be read as a WAV file: {error or 'it ends too early'}. Convert it to PCM."
        ) from error
    except OSError as error:
        raise BadRow(f"{path}: cannot be read: {error.strerror}.") from error
    raw = raw[: len(raw) // (width * channels) * width * channels]
    if not raw:
        raise BadRow(f"{path}: holds no sound. Remove it.")
    return Recording(_samples(bytearray(raw), width).view(-1, channels).mean(1), rate)


def _samples(raw: bytearray, width: int) -> Tensor:
    """Decode PCM samples of 1 to 4 bytes, little endian; samples of one byte are unsigned."""
    if width == 1:
        return torch.frombuffer(raw, dtype=torch.uint8).float().sub(128).div(128)
    if width == 2:
        return torch.frombuffer(raw, dtype=torch.int16).float().div(2**15)
    if width == 4:
        return torch.frombuffer(raw, dtype=torch.int32).double().div(2**31).float()
    low, middle, high = torch.frombuffer(raw, dtype=torch.uint8).view(-1, 3).int().unbind(1)
    whole = low + (middle << 8) + (high << 16)
    return torch.where(whole >= 2**23, whole - 2**24, whole).float().div(2**23)


@lru_cache
def mel_filters(bands: int, frequencies: int, rate: int) -> Tensor:
    """(bands, frequencies): overlapping triangular filters, evenly spaced in mels from 0 to half the sampling rate."""
    top = 2595 * torch.log10(torch.tensor(1 + rate / 2 / 700, dtype=torch.float64))
    edges = 700 * (10 ** (torch.linspace(0, 1, bands + 2, dtype=torch.float64) * top / 2595) - 1)
    bins = torch.linspace(0, rate / 2, frequencies, dtype=torch.float64)
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(rising, falling).clamp(min=0)


def log_mel(samples: Tensor, rate: int, bands: int, window: float, hop: float) -> Tensor:
    """(T, bands) frames; ``window`` and ``hop`` are in seconds. A sound shorter than a window is one frame.

    They are computed in float64: the last bits of a spectrum depend on the processor, and the logarithm of a faint band
    enlarges them, up to 1e-4 in float32.
    """
    size, step = _sizes(rate, window, hop)
    points = 1 << (size - 1).bit_length()
    samples = torch.nn.functional.pad(samples.double(), (0, max(0, size - len(samples))))
    frames = samples.unfold(0, size, step) * torch.hann_window(size, dtype=torch.float64)  # (T, size)
    power = torch.fft.rfft(frames, n=points).abs().square()  # (T, F)
    return (power @ mel_filters(bands, power.shape[1], rate).T + 1e-6).log().float()


def frame_count(samples: Tensor, rate: int, window: float, hop: float) -> Tensor:
    """The number of frames that ``log_mel`` makes of so many samples."""
    size, step = _sizes(rate, window, hop)
    return (samples - size).clamp(min=0) // step + 1


def _sizes(rate: int, window: float, hop: float) -> tuple[int, int]:
    """The samples of a frame, and from one frame to the next."""
    return max(1, round(window * rate)), max(1, round(hop * rate))
