"""The files of every split, and the random division of records, or of groups of them, by shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import torch

from composer.core.problems import Invalid, listed
from composer.data.file_keys import FileKeys, Share
from composer.data.files.lines import find_files
from composer.data.source import SPLITS, Split

#: Finds the files of a path; the key of the YAML that holds the path is for messages.
FindFiles = Callable[[str | None, str], list[Path]]

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
    """The files of every split, and the shares of those that are drawn from the files of ``path``.

    given: the path, the shares, and the columns that name the split or the group of a record
    find: finds the files of a path, which stands under a key of the YAML
    whole: whether all records are in the test split
    """

    def __init__(self, given: FileKeys, find: FindFiles = find_files) -> None:
        self.given, self.find, self.whole = given, find, False
        self.shares: dict[Split, Share] = {"valid": given.valid, "test": given.test}
        check_shares(given.valid, given.test)

    def undivide(self) -> None:
        """Take the files of ``path`` with all records in the test split, whatever shares, files and columns say."""
        self.whole, self.shares = True, {"valid": 0.0, "test": 0.0}
        self.__dict__.pop("files", None)

    @cached_property
    def files(self) -> dict[Split, list[Path]]:
        """The files of every split. The files of 'valid' and 'test' are removed from those of 'train'."""
        found: dict[Split, list[Path]] = {"train": self.find(self.given.path, "path")}
        for split, share in self.shares.items():
            found[split] = self.find(share, split) if isinstance(share, str) else []
        taken = {file.resolve() for split in self.shares for file in found[split]}
        found["train"] = [file for file in found["train"] if file.resolve() not in taken]
        if not found["train"]:
            raise Invalid("valid", "takes every file, so none is left to train on.")
        return found


def check_shares(valid: Share, test: Share) -> None:
    drawn = [share for share in (valid, test) if not isinstance(share, str)]
    if sum(drawn) >= 1:
        raise Invalid("valid", f"valid and test take {sum(drawn):g} of the rows, so none is left to train on.")


def draw_rows(count: int, shares: Mapping[Split, Share], seed: int) -> bytearray:
    """For each of ``count`` rows, the index of its split in SPLITS, drawn from the shares and the seed."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    drawn = bytearray(count)
    end = count
    for split in ("test", "valid"):
        share = shares[split]
        if isinstance(share, str) or share == 0:
            continue
        taken = max(1, round(share * count))
        for row in order[max(0, end - taken) : end].tolist():
            drawn[row] = SPLITS.index(split)
        end -= taken
    if end <= 0:
        message = f"takes every one of the {count} rows: too few to split. Give more, or set valid=0 and test=0."
        raise Invalid("valid", message)
    return drawn


def draw_groups(groups: list[str], shares: Mapping[Split, Share], seed: int) -> bytearray:
    """For each row, of which ``groups`` holds the group, the index of its split in SPLITS. A group is never divided.

    Groups in random order fill a split until it has its share of the rows, and at least one group.
    """
    sizes = Counter(groups)
    order = sorted(sizes)
    left = [order[i] for i in torch.randperm(len(order), generator=torch.Generator().manual_seed(seed)).tolist()]
    drawn: dict[str, int] = {}
    for split in ("test", "valid"):
        share = shares[split]
        taken = 0
        while not isinstance(share, str) and share > 0 and (not taken or taken < share * len(groups) - 0.5) and left:
            group = left.pop()
            drawn[group] = SPLITS.index(split)
            taken += sizes[group]
    if not left:
        raise Invalid(
            "split_by", f"gives {len(order)} groups ({listed(order)}): too few to split. Take smaller shares."
        )
    return bytearray(drawn.get(group, 0) for group in groups)
