"""1,797 handwritten digits of 8 x 8 pixels, from scikit-learn (Alpaydin and Kaynak, 1998), to a class or its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from composer.core.block import Probability
from composer.core.extras import extra, need
from composer.core.problems import UserError
from composer.core.registry import register
from composer.data.codecs.class_codec import ClassCodec
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.codecs.picture_forms import Form
from composer.data.codecs.text_codec import TextCodec
from composer.data.fields.image import Pictures
from composer.data.list_source import ListSource
from composer.data.tokenisers.tokeniser import Tokenising

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SHAPE = (1, 8, 8)


@register("data", "digits")
class Digits(ListSource):
    """source: the picture, as a sequence of its rows or as pixels; target: its class, or its name as a text."""

    def __init__(
        self,
        *,
        form: Form = "rows",
        output: Literal["class", "name"] = "class",
        valid: Probability = 0.2,
        seed: int = 0,
    ) -> None:
        super().__init__(valid, seed)
        self.output = output
        target_codec: Codec = ClassCodec() if output == "class" else TextCodec(Tokenising())
        codecs: dict[str, Codec] = {"source": Pixels(form), "target": target_codec}
        self.codecs = codecs

    def open(self) -> None:
        names = [str(i) for i in range(10)] if self.output == "class" else list(NAMES)
        self.codecs["target"].learn(lambda limit: names)
        need("sklearn", "data=digits")  # a missing package is reported now, not when training starts

    def examples(self) -> list[tuple[Any, Any, Any]]:
        found = extra("sklearn.datasets", "data=digits").load_digits()
        names = [str(i) for i in range(10)] if self.output == "class" else NAMES
        pictures = torch.tensor(found.images, dtype=torch.float32) / 16  # 0 to 16 in the file
        return [(row, pictures[row][None], names[digit]) for row, digit in enumerate(found.target.tolist())]


class Pixels(Pictures):
    """Pictures of 8 x 8 pixels, which are given as tensors."""

    def __init__(self, form: Form) -> None:
        super().__init__(form, colour=False, size=None)
        self.shape = SHAPE

    def learn(self, values: Reread) -> None:
        """Nothing: the shape is known."""

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        return [value[None] for value in values]

    def parse(self, text: str) -> Any:
        raise UserError("a picture of a digit cannot be typed: use the data itself, without --given.")

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing, either."""
