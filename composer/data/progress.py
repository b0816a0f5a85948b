"""A line on stderr about work that takes more than a few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Self

#: The seconds before the first line, and between two lines on a terminal and in a file.
PATIENCE, TERMINAL, FILE = 3.0, 0.2, 30.0


class Progress:
    """
    what: the work, such as 'tokenising'
    total: the amount of all work; None if it is not known
    unit: of the amount
    """

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = 0
        self.skipped = 0  # done by an earlier run
        self.began = time.monotonic()
        self.live = sys.stderr.isatty()
        self.following = self.began + PATIENCE  # when the next line is due
        self.drawn = False

    def add(self, amount: int, *, before: bool = False) -> None:
        """Count work that is done; ``before``: by an earlier run."""
        self.done += amount
        self.skipped += amount if before else 0
        if time.monotonic() >= self.following:
            self._draw()

    def over(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts, each of which counts its length."""
        for text in texts:
            yield text
            self.add(len(text))

    def _draw(self) -> None:
        now = time.monotonic()
        self.following, self.drawn = now + (TERMINAL if self.live else FILE), True
        line = f"{self.what}: {self.done:,} {self.unit}"
        if self.total and self.done > self.skipped:
            left = (now - self.began) * max(0, self.total - self.done) / (self.done - self.skipped)
            line = f"{self.what}: {min(1.0, self.done / self.total):4.0%} of {self.total:,} {self.unit}, "
            line += f"{timedelta(seconds=round(left))} left"
        print(f"\r\033[K{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.drawn and self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
