"""1,797 handwritten digits of 8 x 8 pixels, from scikit-learn (Alpaydin and Kaynak, 1998), to a class or its name."""

from __future__ import annotations

from typing import Any, Literal

import torch

from composer.core.block import Probability
from composer.core.extras import extra, need
from composer.core.registry import register
from composer.data.codecs.class_codec import ClassCodec
from composer.data.codecs.codec import Codec
from composer.data.codecs.text_codec import TextCodec
from composer.data.fields.image import Form, Pictures
from composer.data.list_source import ListSource
from composer.data.tokenisers.tokeniser import Tokenising

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


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
        self.names = [str(i) for i in range(10)] if output == "class" else list(NAMES)
        target_codec: Codec = ClassCodec() if output == "class" else TextCodec(Tokenising())
        self.codecs = {"source": Pictures(form, colour=False, size=[8, 8]), "target": target_codec}

    def open(self) -> None:
        self.codecs["target"].learn(lambda limit: self.names)
        need("sklearn", "data=digits")  # a missing package is reported now, not when training starts

    def examples(self) -> list[tuple[Any, Any, Any]]:
        found = extra("sklearn.datasets", "data=digits").load_digits()
        pictures = torch.tensor(found.images, dtype=torch.float32) / 16  # 0 to 16 in the file
        return [(row, pictures[row][None], self.names[digit]) for row, digit in enumerate(found.target.tolist())]
