"""949 colours and their names: RGB to text, from the XKCD survey (CC0), as it is contained in matplotlib."""

from __future__ import annotations

from typing import Any

from composer.core.block import Probability
from composer.core.extras import extra
from composer.core.registry import register
from composer.data.codecs.number_codec import NumberCodec
from composer.data.codecs.text_codec import TextCodec
from composer.data.list_source import ListSource
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "colours")
class Colours(ListSource):
    """source: red, green and blue, each from 0 to 1; target: the colour's name."""

    def __init__(
        self, *, valid: Probability = 0.1, seed: int = 0, tokeniser: Tokenising = Tokenising()  # noqa: B008 - frozen
    ) -> None:  # fmt: skip
        super().__init__(valid, seed)
        self.codecs = {"source": NumberCodec(3, normalise=False), "target": TextCodec(tokeniser)}

    def examples(self) -> list[tuple[Any, Any, Any]]:
        table = extra("matplotlib._color_data", "data=colours").XKCD_COLORS
        return [(name, _rgb(code), name.removeprefix("xkcd:")) for name, code in table.items()]


def _rgb(code: str) -> list[float]:
    """'#ff8000' -> 1.0, 0.5, 0.0"""
    return [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
