"""A picture: a file, or an array that was read from one; as pixels, or as a sequence of pixel rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.extras import extra
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Image, Seq, Signal
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.files.arrays import load_array
from composer.data.files.bad_rows import BadRow, in_row
from composer.data.files.lines import typed_file
from composer.data.packed.packed_rows import PackedRows, Packer
from composer.data.tables.table import Column

#: How a model reads a picture.
Form = Literal["image", "rows"]

#: The characters that show a pixel, from dark to bright.
SHADES = " .:-=+*#%@"


@register("field", "image")
class ImageType(FieldType):
    """Pixels of a picture, or a sequence of its rows. A cell is the path of its file, relative to the table.

    form: image (pixels), or rows: a sequence of pixel rows from top to bottom
    colour: whether picture files are read in colour; false: greyscale
    size: [height, width] to resize all pictures to; null: no resizing, all pictures must have the same size
    """

    reads_files = True

    def __init__(
        self,
        key: FieldKeys,
        *,
        column: Column,
        form: Form = "image",
        colour: bool = True,
        size: list[Positive] | None = None,
    ) -> None:
        if size is not None and len(size) != 2:
            raise Invalid(key("size"), f"expected [height, width], found {size}.")
        super().__init__(key, {"column": column}, Pictures(form, colour, size, key("size")))

    def value(self, cells: Cells) -> Any:
        cell = cells.value()
        return cell if isinstance(cell, tuple) else cells.file()

    def written(self, value: Any) -> str:
        return str(value[0] if isinstance(value, tuple) else value)


class Pictures(Codec):
    """Pictures as tensors (C, H, W) between 0 and 1.

    A value is a path, a path and the array that was read there, or the tensor itself.
    """

    def __init__(self, form: Form, colour: bool, size: list[int] | None, key: str = "size") -> None:
        self.form: Form = form
        self.colour, self.size, self.key = colour, size, key
        self.shape: tuple[int, ...]
        if size is not None:
            self.shape = (3 if colour else 1, *size)  # unless the training split has another

    @property
    def field(self) -> Field:
        channels, height, width = self.shape
        if self.form == "image":
            return Field("image", channels=channels, height=height, width=width)
        return Field("seq", dim=channels * width)

    def learn(self, values: Reread) -> None:
        problem: BadRow | None = None
        for value in values(None):
            try:
                self.shape = tuple(self._pixels(value).shape)
                return
            except BadRow as error:  # which is reported where all pictures are read
                problem = problem or error
        assert problem is not None
        raise problem

    def _pixels(self, value: Path | tuple[Path, Any] | Tensor) -> Tensor:
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Path):
            if value.suffix.lower() != ".npy":
                return self._decoded(value)
            value = value, load_array(value)
        path, array = value
        if array.dtype.kind not in "uif":
            raise BadRow(f"{path}: holds {array.dtype}, not numbers.")
        whole = array.dtype.kind in "ui"
        pixels = torch.from_numpy(array.astype("float32"))
        if pixels.dim() == 2:
            pixels = pixels[None]
        elif pixels.dim() == 3 and pixels.shape[-1] in (1, 3, 4) and pixels.shape[0] not in (1, 3, 4):
            pixels = pixels.permute(2, 0, 1)
        if pixels.dim() != 3:
            raise BadRow(
                f"{path}: a picture has the shape {tuple(array.shape)}. Expected (H, W), (C, H, W) or (H, W, C)."
            )
        if self.size is not None and list(pixels.shape[1:]) != self.size:
            pixels = torch.nn.functional.interpolate(pixels[None], tuple(self.size), mode="bilinear", antialias=True)[0]
        return pixels / 255 if whole else pixels

    def _decoded(self, path: Path) -> Tensor:
        library = extra("PIL.Image", f"reading '{path}'")
        try:
            with library.open(path) as file:
                picture = file.convert("RGB" if self.colour else "L")
                if self.size is not None:
                    picture = picture.resize((self.size[1], self.size[0]), library.Resampling.BILINEAR)
                flat = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
        except OSError as error:  # Pillow's errors are subclasses of OSError
            raise BadRow(f"{path}: cannot be read as a picture: {error}. Convert it, or remove it.") from error
        return flat.view(picture.height, picture.width, -1).permute(2, 0, 1).float() / 255

    def packer(self) -> Packer:
        return Packer(torch.float32, self.shape)

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = []
        for row, value in enumerate(values):
            with in_row(place(row)):
                pixels = self._pixels(value)
            if tuple(pixels.shape) != self.shape:
                raise BadRow(
                    f"{place(row)}: is a picture of {tuple(pixels.shape)} (channels, height, width), the first one of "
                    f"{self.shape}. Bring them to one size, e.g. data.{self.key}=[{self.shape[1]},{self.shape[2]}]."
                )
            rows.append(pixels[None])
        return rows

    def parse(self, text: str) -> Path:
        return typed_file(text)

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return self.formed(packed.values[rows])

    def formed(self, pixels: Tensor) -> Signal:
        """The signal of pictures (B, C, H, W) between 0 and 1."""
        if self.form == "image":
            return Image(pixels)
        return Seq(pixels.permute(0, 2, 1, 3).flatten(2))  # (B, H, C * W)

    def show(self, signal: Signal) -> list[str]:
        """Every picture as ASCII art, with denser characters for higher values."""
        values = signal.values.detach().float().cpu()
        if self.form == "rows":
            values = values.unflatten(2, (self.shape[0], -1)).permute(0, 2, 1, 3)
        levels = (values.mean(1).clamp(0, 1) * (len(SHADES) - 1)).round().long()  # (B, H, W)
        return ["\n".join("".join(SHADES[i] for i in row) for row in picture) for picture in levels.tolist()]

    def state(self) -> dict[str, Any]:
        return {"shape": list(self.shape)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.shape = tuple(state.get("shape") or self.shape)  # older checkpoints of data=digits have no shape
