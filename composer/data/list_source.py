"""Sources whose examples are lists in memory."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from composer.data.example_source import ExampleSource
from composer.data.source import SPLITS, Split
from composer.data.tables.table import TableRow

#: The name of an example, its source and its target.
Example = tuple[object, Any, Any]


class DividedSource(ExampleSource):
    """A source that divides its examples itself."""

    @abstractmethod
    def divided(self) -> dict[Split, list[Example]]:
        """The examples of every split that has any."""

    @cached_property
    def _divided(self) -> dict[Split, list[Example]]:
        return self.divided()

    def records(self, split: Split) -> Iterator[TableRow]:
        for row, (name, given, target) in enumerate(self._divided.get(split, []), 1):
            yield TableRow(Path(str(name)), row, {"source": given, "target": target})


class ListSource(DividedSource):
    """A source of which a random share of the examples is the validation split."""

    def __init__(self, valid: float, seed: int) -> None:
        self.valid, self.seed = valid, seed

    @abstractmethod
    def examples(self) -> list[Example]:
        """Every example. Examples of the same name belong to the same split."""

    def divided(self) -> dict[Split, list[Example]]:
        examples = self.examples()
        names = list(dict.fromkeys(name for name, _, _ in examples))
        random.Random(self.seed).shuffle(names)
        chosen = set(names[: max(1, round(self.valid * len(names)))])
        found: dict[Split, list[Example]] = {split: [] for split in SPLITS}
        for example in examples:
            found["valid" if example[0] in chosen else "train"].append(example)
        return found
