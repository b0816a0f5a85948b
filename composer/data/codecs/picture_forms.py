"""Pictures as signals: an image of pixels, or a sequence of pixel rows from top to bottom."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from composer.core.signals import Field, Image, Seq, Signal

#: How a model reads a picture.
Form = Literal["image", "rows"]

SHADES = " .:-=+*#%@"


def picture_field(form: Form, shape: tuple[int, int, int]) -> Field:
    """The field of pictures of the shape (C, H, W)."""
    channels, height, width = shape
    if form == "image":
        return Field("image", channels=channels, height=height, width=width)
    return Field("seq", dim=channels * width)


def picture_signal(form: Form, values: Tensor) -> Signal:
    """The signal of pictures (B, C, H, W) between 0 and 1."""
    if form == "image":
        return Image(values)
    return Seq(values.permute(0, 2, 1, 3).flatten(2))  # (B, H, C * W)


def sketch(form: Form, signal: Signal, channels: int) -> list[str]:
    """Every picture as ASCII art, with denser characters for higher values."""
    values = signal.values.detach().float().cpu()
    if form == "rows":
        values = values.unflatten(2, (channels, -1)).permute(0, 2, 1, 3)
    levels = (values.mean(1).clamp(0, 1) * (len(SHADES) - 1)).round().long()  # (B, H, W)
    return ["\n".join("".join(SHADES[i] for i in row) for row in picture) for picture in levels.tolist()]
