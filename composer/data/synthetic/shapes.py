"""Pictures of a shape, described in words: "a small dark red circle at the top left"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import torch
from torch import Tensor

from composer.core.block import Range
from composer.core.registry import register
from composer.core.signals import Contents, Field, Signal
from composer.data.codecs.codec import encoded
from composer.data.counter_random import below, normal
from composer.data.fields.image import Form, Pictures
from composer.data.generated_source import GeneratedSource, ended
from composer.data.packed.packed_rows import padded
from composer.data.source import RowNumbers, Split

SIDE = 16  # pixels
SIZES = {"small": 2, "large": 4}  # pixels from the centre of a shape to its edge
LIGHTS = {"dark": (0.35, 0.55), "bright": (0.8, 1.0)}
COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0), "white": (1, 1, 1)}
SHAPES = ("circle", "square", "triangle", "cross")
PLACES = (
    "at the top left", "at the top", "at the top right", "at the left", "in the centre", "at the right",
    "at the bottom left", "at the bottom", "at the bottom right",
)  # fmt: skip

WORDS = ("a", *SIZES, *LIGHTS, *COLOURS, *SHAPES, "at", "in", "the", "top", "left", "right", "centre", "bottom")
TOKENS = ("<sos>", "<eos>", *WORDS)


@register("data", "shapes")
class Shapes(GeneratedSource):
    """picture: 16 x 16 pixels in colour; caption: the size, brightness, colour, shape and place of the shape in it.

    There are 720 captions, all equally frequent in every split. Brightness, and the place by a pixel, vary within a
    caption, and every pixel is noisy.
    """

    form: Form = "image"
    noise: Annotated[float, Range(low=0)] = 0.05

    def prepare(self) -> None:
        self.pictures = Pictures(self.form, True, [SIDE, SIDE])

    def bare_fields(self) -> dict[str, Field]:
        caption = Field("ids", vocabulary=len(TOKENS), start=0, stop=1, contents=Contents(tokens=TOKENS, text=True))
        return {"picture": self.pictures.field, "caption": caption}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        numbers = torch.as_tensor(rows, dtype=torch.long)
        found = {"caption": self.counted(split, numbers)["caption"].counts}  # type: ignore[attr-defined]
        return found if self.form == "image" else {"picture": torch.full((len(numbers),), SIDE), **found}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        sizes, lights, colours, shapes, places = self._drawn(split, rows)
        draws = self.draw("look", split, rows, 3)
        reach = torch.tensor(list(SIZES.values()))[sizes]  # (B,)
        down = _centre(places // 3, reach, below(draws[:, 0], 2))
        right = _centre(places % 3, reach, below(draws[:, 1], 2))
        inside = torch.stack(_drawings(down, right, reach))[shapes, torch.arange(len(rows))]  # (B, H, W)
        low, high = torch.tensor(list(LIGHTS.values()), dtype=torch.float64)[lights].unbind(1)
        brightness = low + (high - low) * draws[:, 2]
        ink = torch.tensor(list(COLOURS.values()))[colours] * brightness[:, None]  # (B, 3)
        pixels = ink[:, :, None, None] * inside[:, None]
        noise = normal(self.seed, f"{split}/noise", rows, pixels[0].numel()).view_as(pixels) if len(rows) else 0
        pixels = (pixels + self.noise * noise).clamp(0, 1).float()
        return {"picture": self.pictures.formed(pixels), **self.counted(split, rows)}

    def counted(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        sizes, lights, colours, shapes, places = self._drawn(split, rows)
        groups = ((SIZES, sizes), (LIGHTS, lights), (COLOURS, colours), (SHAPES, shapes))
        start = torch.full_like(sizes, TOKENS.index("a"))
        first = torch.stack([start, *(TOKENS.index(next(iter(names))) + chosen for names, chosen in groups)], dim=1)
        ids, counts = padded([[TOKENS.index(word) for word in place.split()] for place in PLACES])
        caption = torch.cat([first, ids[places]], dim=1)
        return {"caption": ended(caption, first.shape[1] + counts[places])}

    def _drawn(self, split: Split, rows: Tensor) -> tuple[Tensor, ...]:
        """(B,) each: the size, brightness, colour, shape and place of every picture."""
        limits = torch.tensor([len(SIZES), len(LIGHTS), len(COLOURS), len(SHAPES), len(PLACES)])
        return self.integers("caption", split, rows, len(limits), limits).unbind(1)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """Pictures as files, resized to 16 x 16; captions as texts."""
        return encoded(self.pictures, values) if field == "picture" else super().encode(field, values)

    def show(self, field: str, signal: Signal) -> list[str]:
        return self.pictures.show(signal) if field == "picture" else super().show(field, signal)


def _centre(third: Tensor, reach: Tensor, shift: Tensor) -> Tensor:
    """The pixel at the centre of a shape along one axis: at most a pixel from an edge, or one of the two in the middle.

    third: 0, 1 or 2: the first third of the axis, the middle or the last third
    """
    centres = torch.stack([reach + shift, SIDE // 2 - 1 + shift, SIDE - 1 - reach - shift])  # (3, B)
    return centres[third, torch.arange(len(third))]


def _drawings(down: Tensor, right: Tensor, reach: Tensor) -> list[Tensor]:
    """(B, H, W) for each of SHAPES: whether a pixel is inside, for centres and reaches (B,)."""
    steps = torch.arange(SIDE)
    y, x = steps[:, None] - down[:, None, None], steps - right[:, None, None]
    reach = reach[:, None, None]
    within = (y.abs() <= reach) & (x.abs() <= reach)
    circle = x.square() + y.square() <= (reach + 0.5).square()
    triangle = within & (x.abs() <= (y + reach) // 2)
    cross = within & (torch.minimum(x.abs(), y.abs()) <= reach // 4)
    return [circle, within, triangle, cross]
