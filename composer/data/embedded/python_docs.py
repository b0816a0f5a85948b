"""The language reference that comes with Python: half a million characters of English, for a language model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from composer.core.block import Positive, Probability
from composer.core.registry import register
from composer.data.own.text import Running
from composer.data.source import Split
from composer.data.splits import check_shares
from composer.data.tokeniser import Tokenising


@register("data", "python_docs")
class PythonDocs(Running):
    """target: ``length`` tokens of the text.

    The validation split is the last topics in alphabetical order, and the test split those before them.
    """

    def __init__(
        self,
        *,
        length: Positive = 128,
        stride: Positive | None = None,
        valid_length: Positive | None = None,
        valid: Probability = 0.1,
        test: Probability = 0.0,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(length, stride, valid_length, tokeniser)
        check_shares(valid, test)
        self.valid, self.test = valid, test

    @cached_property
    def _topics(self) -> list[str]:
        from pydoc_data.topics import topics

        return [topics[name] for name in sorted(topics)]

    def pieces(self, split: Split) -> Iterator[str | None]:
        count = len(self._topics)
        last = count - round(self.valid * count)
        first = last - round(self.test * count)
        chosen = {"train": self._topics[:first], "valid": self._topics[last:], "test": self._topics[first:last]}[split]
        return (f"{topic}\n" for topic in chosen)
