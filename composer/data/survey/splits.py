"""Files of the other splits beside a file, and rows that occur in several places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

#: How people call the files of a split.
CALLED = {"train": ("train", "training"), "valid": ("valid", "validation", "val", "dev"), "test": ("test", "testing")}


def of_splits(files: Sequence[Path]) -> dict[str, Path] | None:
    """The files by split, where every name has the word of one split and no two have the same."""
    found: dict[str, Path] = {}
    for file in files:
        words = [split for split, names in CALLED.items() if any(name in file.name.lower() for name in names)]
        if len(words) != 1 or words[0] in found:
            return None
        found[words[0]] = file
    return found if "train" in found and len(found) > 1 else None


def beside(file: Path) -> dict[str, Path]:
    """The files of the validation and test split beside a training file: their names differ in that word alone."""
    named = re.search("train(ing)?", file.name)
    found: dict[str, Path] = {}
    for split in ("valid", "test") if named else ():
        for word in CALLED[split]:
            other = file.with_name(file.name.replace(named[0], word))  # type: ignore[index]
            if other.is_file():
                found.setdefault(split, other)
    return found


def repeated(rows: Sequence[tuple[str, ...]]) -> int:
    """The number of rows that are copies of an earlier row."""
    return sum(count - 1 for count in Counter(rows).values())
