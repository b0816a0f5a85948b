"""The division of records into splits: by random shares of records or of groups, by files, or by a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated

import torch

from composer.core.block import Range
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.data.files.lines import find_files
from composer.data.packed.stored_records import StoredRecords
from composer.data.source import SPLITS, Split
from composer.data.tables.table import TableRow

#: The size of a split: a share of all records, or the path of its own files.
Share = Annotated[float, Range(low=0, below=1)] | str

#: The names of splits in a column.
WORDS: dict[str, Split] = {
    "train": "train", "training": "train", "valid": "valid", "validation": "valid", "val": "valid", "dev": "valid",
    "test": "test", "testing": "test",
}  # fmt: skip

#: The name under which a record holds its split.
SPLIT_COLUMN = "split"

#: The name under which a record holds its group, all of whose records belong to one split.
GROUP_COLUMN = "group"


class Splits:
    """The records of every split. The records of a share are drawn at random from the seed.

    by_column: whether the value ``split`` of a record names its split
    by_group: whether all records with the same value ``group`` belong to the same split
    whole: whether all records are in the test split
    """

    #: The YAML key of the data, for messages.
    key = "path"

    #: Whether records are kept for later passes; otherwise they are read again.
    stores = True

    def __init__(
        self, read: Callable[[Path], Iterator[TableRow]], path: str | None, valid: Share, test: Share, *,
        seed: int = 0, by_column: bool = False, by_group: bool = False, suffixes: tuple[str, ...] = (),
        whole: bool = False,
    ) -> None:  # fmt: skip
        self.read, self.path, self.shares = read, path, {"valid": valid, "test": test}
        self.seed, self.by_column, self.by_group, self.suffixes, self.whole = seed, by_column, by_group, suffixes, whole
        self._stored = StoredRecords()
        check_shares(valid, test)

    def undivided(self) -> Splits:
        """The files of ``path`` with all records in the test split, whatever shares, files and columns say."""
        return Splits(self.read, self.path, 0.0, 0.0, suffixes=self.suffixes, whole=True)

    @cached_property
    def files(self) -> dict[Split, list[Path]]:
        """The files of every split. The files of 'valid' and 'test' are removed from those of 'train'."""
        found: dict[Split, list[Path]] = {"train": find_files(self.path, "path", self.suffixes)}
        for split in ("valid", "test"):
            share = self.shares[split]
            found[split] = find_files(share, split, self.suffixes) if isinstance(share, str) else []
        taken = {file.resolve() for split in ("valid", "test") for file in found[split]}
        found["train"] = [file for file in found["train"] if file.resolve() not in taken]
        if not found["train"]:
            raise Invalid("valid", "takes every file, so none is left to train on.")
        return found

    def records(self, split: Split) -> Iterator[TableRow]:
        """The records of a split, in the order of the files."""
        if self.whole:
            yield from self._of("train") if split == "test" else ()
        elif self.by_column:
            yield from (record for record in self._of("train") if self._named(record) == split)
        elif self.files[split] and split != "train":
            yield from self._of(split)
        else:
            code = SPLITS.index(split)
            membership = self._dealt
            yield from (record for i, record in enumerate(self._of("train")) if membership[i] == code)

    def _of(self, split: Split) -> Iterator[TableRow]:
        for file in self.files[split]:
            yield from self._stored.of(file, self.read) if self.stores else self.read(file)

    def forget(self) -> None:
        """Release the records, which have been packed."""
        self._stored = StoredRecords()

    def _named(self, record: TableRow) -> Split:
        word = str(record.values[SPLIT_COLUMN])
        if word.lower() not in WORDS:
            raise UserError(
                f"{record.place}: the split '{word}' is none of train, valid and test.{did_you_mean(word, WORDS)}"
            )
        return WORDS[word.lower()]

    @cached_property
    def _dealt(self) -> bytearray:
        """For every record of the training files, the index of its split in SPLITS."""
        if self.by_group:
            groups = [str(record.values[GROUP_COLUMN]) for record in self._of("train")]
            return deal_groups(groups, self.shares, self.seed)
        return deal(sum(1 for _ in self._of("train")), self.shares, self.seed, self.key)


def check_shares(valid: Share, test: Share) -> None:
    drawn = [share for share in (valid, test) if not isinstance(share, str)]
    if sum(drawn) >= 1:
        raise Invalid("valid", f"valid and test take {sum(drawn):g} of the rows, so none is left to train on.")


def deal(count: int, shares: Mapping[str, Share], seed: int, key: str) -> bytearray:
    """For each of ``count`` rows, the index of its split in SPLITS, drawn from the shares and the seed.

    key: the YAML key of the data, for the error message
    """
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    dealt = bytearray(count)
    end = count
    for split in ("test", "valid"):
        share = shares[split]
        if isinstance(share, str) or share == 0:
            continue
        taken = max(1, round(share * count))
        for row in order[max(0, end - taken) : end].tolist():
            dealt[row] = SPLITS.index(split)
        end -= taken
    if end <= 0:
        raise Invalid(key, f"holds {count} rows: too few to split. Give more, or set valid=0 and test=0.")
    return dealt


def deal_groups(groups: list[str], shares: Mapping[str, Share], seed: int) -> bytearray:
    """For each row, of which ``groups`` holds the group, the index of its split in SPLITS. A group is never divided.

    Groups in random order fill a split until it has its share of the rows, and at least one group.
    """
    sizes = Counter(groups)
    order = sorted(sizes)
    left = [order[i] for i in torch.randperm(len(order), generator=torch.Generator().manual_seed(seed)).tolist()]
    dealt: dict[str, int] = {}
    for split in ("test", "valid"):
        share = shares[split]
        taken = 0
        while not isinstance(share, str) and share > 0 and taken < share * len(groups) - 0.5 and left:
            group = left.pop()
            dealt[group] = SPLITS.index(split)
            taken += sizes[group]
    if not left:
        raise Invalid(
            "split_by", f"gives {len(order)} groups ({listed(order)}): too few to split. Take smaller shares."
        )
    return bytearray(dealt.get(group, 0) for group in groups)
