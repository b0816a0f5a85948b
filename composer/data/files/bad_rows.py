"""Rows that cannot be read: an error with the file and line, or, with ``skip_bad``, left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TypeVar

from composer.core.problems import UserError

Given = TypeVar("Given")
Read = TypeVar("Read")

#: The number of reasons that a remark lists.
SHOWN = 3

#: The number of rows in which others without a value are counted.
COUNTED = 100_000


class BadRow(UserError):
    """One row of a file cannot be read; the rows around it can. The message begins with the row's file and line."""


class MissingValue(BadRow):
    """A row lacks a value that a field needs."""


@contextmanager
def in_row(place: str) -> Iterator[None]:
    """Give an error about a file that a row names the place of the row, too."""
    try:
        yield
    except BadRow as error:
        if str(error).startswith(place):
            raise
        raise BadRow(f"{place}: {error}") from error


class BadRows:
    """The bad rows of one source. Files are read several times, so rows are counted by their messages.

    skip: whether a bad row is left out; otherwise it is an error
    offered: whether the config has a key for that, which the error names
    """

    def __init__(self, skip: bool = False, offered: bool = False) -> None:
        self.skip, self.offered = skip, offered
        self.reasons: dict[str, None] = {}  # in the order in which they were met
        self.met_so_far = 0  # rows, each as often as its file was read

    def met(self, error: BadRow) -> None:
        """Count a bad row, or raise its error."""
        if not self.skip:
            raise BadRow(f"{error} Or leave such rows out: skip_bad=true.") if self.offered else error
        self.reasons[str(error)] = None
        self.met_so_far += 1

    def each(self, rows: Iterable[Given], read: Callable[[Given], Read]) -> Iterator[Read]:
        """``read`` applied to each row, without the bad rows."""
        left = iter(rows)
        for row in left:
            try:
                found = read(row)
            except BadRow as error:
                counted = isinstance(error, MissingValue) and not self.skip
                self.met(BadRow(f"{error}{_lacking(left, read)}") if counted else error)
                continue
            yield found

    @property
    def remarks(self) -> list[str]:
        """A sentence about the rows that were left out; none where there were none."""
        if not self.reasons:
            return []
        count, first = len(self.reasons), list(self.reasons)[:SHOWN]
        more = f" ... and {count - SHOWN:,} more." if count > SHOWN else ""
        return [f"{count:,} bad row{'s' * (count > 1)} left out (skip_bad): {' '.join(first)}{more}"]


def _lacking(rows: Iterator[Given], read: Callable[[Given], Read]) -> str:
    """How many of the rows that follow lack a value, too."""
    count = 0
    with suppress(BadRow):  # of the reader itself, which ends with its error
        for row in islice(rows, COUNTED):
            try:
                read(row)
            except BadRow as error:
                count += isinstance(error, MissingValue)
    return f" {count:,} more row{'s lack' if count > 1 else ' lacks'} a value, too." if count else ""
