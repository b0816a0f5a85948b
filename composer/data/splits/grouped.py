"""Held-out rows with several references: rows of the same input, each with another text that is right, as one row.

The row is the first of its group, and holds the texts of all. So an input is decoded once and counts once, as with
published figures of several references; in training, every text is a row of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from torch import Tensor

from composer.data.codecs.kept_texts import TEXTS
from composer.data.splits.splits import GROUP_COLUMN, SPLIT_COLUMN
from composer.data.tables.table import TableRow


def grouped(records: Iterable[TableRow], name: str) -> Iterator[TableRow]:
    """The records, those with equal values of all fields but ``name`` as one, in the order of the first of them."""
    groups: dict[bytes, tuple[TableRow, list[Any]]] = {}
    for record in records:
        _, texts = groups.setdefault(_key(record, name), (record, []))
        texts.append(record.values[name])
    for record, texts in groups.values():
        yield record._replace(values={**record.values, name + TEXTS: texts})


def _key(record: TableRow, name: str) -> bytes:
    """A digest of all values but those of a field, and of the columns that say how rows are divided."""
    found = hashlib.blake2b(digest_size=16)
    for other, value in record.values.items():
        if other not in (name, SPLIT_COLUMN, GROUP_COLUMN):
            found.update(f"{other}=".encode() + _bytes(value) + b"\0")
    return found.digest()


def _bytes(value: Any) -> bytes:
    """A value as bytes, all of them: a large array is not written out in full as a text."""
    if isinstance(value, Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return f"{value.shape}{value.dtype}".encode() + value.tobytes()
    return repr(value).encode("utf-8", "surrogatepass")
