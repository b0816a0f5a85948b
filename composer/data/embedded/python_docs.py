"""The language reference that comes with Python: half a million characters of English, for a language model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from composer.core.block import Positive, Probability
from composer.core.registry import register
from composer.data.own.text import Running
from composer.data.source import Split
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "python_docs")
class PythonDocs(Running):
    """target: ``length`` tokens of the text. The validation split is the last topics in alphabetical order, the test
    split those before."""

    def __init__(
        self,
        *,
        length: Positive = 128,
        stride: Positive | None = None,
        valid_length: Positive | None = None,
        valid: Probability = 0.1,
        test: Probability = 0.1,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(length, stride, valid_length, tokeniser)
        self.valid, self.test = valid, test

    @cached_property
    def _topics(self) -> list[str]:
        from pydoc_data.topics import topics

        return [topics[name] for name in sorted(topics)]

    def pieces(self, split: Split) -> Iterator[str | None]:
        valid = len(self._topics) - round(self.valid * len(self._topics))
        test = max(0, valid - round(self.test * len(self._topics)))
        bounds = {"train": (0, test), "test": (test, valid), "valid": (valid, len(self._topics))}
        return (f"{topic}\n" for topic in self._topics[slice(*bounds[split])])
