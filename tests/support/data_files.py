"""What the tests of data share: reading a source as a person would, and making files for it."""

import wave

import pytest
import torch

from composer.core.problems import UserError
from composer.data import SPLITS, load_source

BYTES = {"type": "bytes"}  # nothing is unknown


def rows(source, split, field):
    count = source.size(split)
    return source.show(field, source.batch(split, range(count))[field]) if count else []


def pairs(source):
    return {
        split: list(zip(rows(source, split, "source"), rows(source, split, "target"), strict=True)) for split in SPLITS
    }


def refused(config):
    with pytest.raises(UserError) as caught:
        load_source(config).size("train")
    return " ".join(str(caught.value).split())


def tone(path, frequency=1000, rate=8000, seconds=0.5, width=2, channels=1):
    time = torch.arange(int(seconds * rate)) / rate
    samples = 0.5 * torch.sin(2 * torch.pi * frequency * time)
    whole = (samples * (2 ** (8 * width - 1) - 1)).round().long() + (128 if width == 1 else 0)
    frames = b"".join(int(v).to_bytes(width, "little", signed=width > 1) * channels for v in whole)
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return samples
