"""Whether the rows of a table are steps in time: the columns of their times, as a series would read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from composer.data.series.series_columns import LookedAt, find_time
from composer.data.series.steps import regular_share
from composer.data.tables.table import Column

#: Rows have times of their own where this share of the times differ.
OWN = 0.9


@dataclass(frozen=True)
class RowTimes:
    """
    columns: of the times
    own: whether hardly any two rows have the same time: they are steps of one series
    ordered: whether every row is later than the one before
    gaps: the number of rows that are no regular step later than the one before
    """

    columns: list[Column]
    own: bool
    ordered: bool
    gaps: int


def row_times(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]]) -> RowTimes | None:
    """The times of the rows; None where no column holds dates.

    columns: by the names that the rows have for them
    """
    looked = LookedAt(columns, {name: [row[name] for row in rows] for name in columns})
    form = find_time(looked, ())
    if form is None:
        return None
    times = [time for cells in looked.together(form.names) if (time := form.read(cells)) is not None]
    own, ordered = len(set(times)) >= OWN * len(rows), all(before < after for before, after in pairwise(times))
    gaps = round((1 - regular_share(sorted(set(times)))) * (len(times) - 1))
    return RowTimes(form.columns, own, ordered, gaps)
