"""How often the tokens of a vocabulary occur in the rows of a training split."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TokenStatistics:
    """
    idf: the inverse document frequency log(N / n_j) of every token j, which occurs in n_j of N rows; n_j >= 1
    frequency: the share of every token in the tokens of all rows; None in checkpoints of older versions
    """

    idf: tuple[float, ...]
    frequency: tuple[float, ...] | None

    @classmethod
    def of(cls, vocabulary: int, rows: Iterable[list[int]]) -> TokenStatistics:
        containing, counts, total = [0] * vocabulary, [0] * vocabulary, 0
        for row in rows:
            total += 1
            for token in set(row):
                containing[token] += 1
            for token in row:
                counts[token] += 1
        idf = tuple(math.log(max(total, 1) / max(count, 1)) for count in containing)
        tokens = max(sum(counts), 1)
        return cls(idf, tuple(count / tokens for count in counts))

    def state(self) -> dict[str, Any]:
        """The statistics as plain data for a checkpoint."""
        return {"idf": list(self.idf), "frequency": None if self.frequency is None else list(self.frequency)}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> TokenStatistics:
        frequency = state.get("frequency")
        return cls(tuple(state["idf"]), None if frequency is None else tuple(frequency))
