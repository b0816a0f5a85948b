"""A source whose examples are a list in memory. A random share of them is the validation split."""

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


class ListSource(ExampleSource):
    def __init__(self, valid: float, seed: int) -> None:
        self.valid, self.seed = valid, seed

    @abstractmethod
    def examples(self) -> list[tuple[Any, Any, Any]]:
        """Every example: its name, its source and its target. Examples of the same name belong to the same split."""

    @cached_property
    def _divided(self) -> dict[Split, list[tuple[Any, Any, Any]]]:
        examples = self.examples()
        names = list(dict.fromkeys(name for name, _, _ in examples))
        random.Random(self.seed).shuffle(names)
        chosen = set(names[: max(1, round(self.valid * len(names)))])
        found: dict[Split, list[tuple[Any, Any, Any]]] = {split: [] for split in SPLITS}
        for example in examples:
            found["valid" if example[0] in chosen else "train"].append(example)
        return found

    def records(self, split: Split) -> Iterator[TableRow]:
        for row, (name, given, target) in enumerate(self._divided[split], 1):
            yield TableRow(Path(str(name)), row, {"source": given, "target": target})
