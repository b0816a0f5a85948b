"""The texts of rows as the user's files have them, kept where the tokens do not give them back.

A rare word is <unk> among the tokens, so a score of the tokens would take a predicted <unk> for that word. Scores are
those of texts: of the words in the file, in the form in which predictions are shown. That form is ``spelled``: the text
that ``show`` would give if the vocabulary had every word. It is kept as UTF-8 beside the packed tokens of a row, and
only for rows whose tokens are shown as something else, so that no data is stored twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from composer.core.signals import Ids
from composer.data.codecs.codec import Place, TokenCodec
from composer.data.packed.packed_rows import PackedRows, Packer, padded
from composer.data.tables.record_batch import RecordBatch

#: Appended to the name of a field: its kept texts among the packed rows, and its references among a record's values.
TEXTS = ".texts"

#: Between the texts of a row. This byte occurs in no UTF-8.
BETWEEN = b"\xff"


class KeptTexts:
    """Packs the texts of a field: for each row, the list of the values that count as its text."""

    measured = True

    def __init__(self, codec: TokenCodec) -> None:
        self.codec = codec

    def packer(self) -> Packer:
        return Packer(torch.uint8)

    def encode(self, values: list[Any], place: Place) -> list[bytes]:
        shown = self.codec.show(Ids(*padded(self.codec.encode([texts[0] for texts in values], place))))
        rows = [list(dict.fromkeys(map(self.codec.spelled, texts))) for texts in values]
        return [  # nothing for a row whose only text is the one that its tokens are shown as
            b"" if texts == [text] else BETWEEN.join(each.encode("utf-8", "surrogatepass") for each in texts)
            for texts, text in zip(rows, shown, strict=True)
        ]


def column(batch: RecordBatch, name: str) -> list[Any]:
    """The values of a field; by the name of its kept texts, for every record the list of all its values."""
    if name in batch.columns:
        return batch.columns[name]
    return [[value] for value in batch.columns[name.removesuffix(TEXTS)]]


def kept_texts(packed: PackedRows, rows: Sequence[int]) -> list[list[str]]:
    """The texts of these rows; none for a row whose text is the one that its tokens are shown as."""
    found = []
    for row in rows:
        start, stop = packed.offsets[row : row + 2].tolist()
        kept = packed.flat[start:stop].numpy().tobytes()
        # A row without kept texts is empty; one whose only text is empty cannot be told from it, and is shown as "".
        found.append([text.decode("utf-8", "surrogatepass") for text in kept.split(BETWEEN)] if kept else [])
    return found
