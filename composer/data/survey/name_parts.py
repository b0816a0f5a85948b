"""The parts of the names of recordings and pictures: a class, and a group such as a speaker, which no split divides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What stands between two parts of a name.
BETWEEN = "_-"

#: A group has this number of files on average, or more.
FILES = 2


@dataclass(frozen=True)
class NameParts:
    """Names that all have the same parts.

    pattern: the names of the parts, as ``data.pattern`` takes them
    label: the part that is the class; None where the folder of a file is its class
    group: the part that names a group of files; None where no part looks like that
    different: the number of different values of every part
    """

    pattern: str
    label: str | None
    group: str | None
    different: dict[str, int]

    @property
    def told(self) -> bool:
        """Whether the class needs the pattern: without one, it is the name up to the first _."""
        return self.label is not None and not self.pattern.startswith(f"{{{self.label}}}_")

    @property
    def note(self) -> str:
        values = ", ".join(f"{name} {count:,}" for name, count in self.different.items())
        parts = f"the names have parts, with different values: {values}."
        if self.group is None:
            last = list(self.different)[-1]
            return f"{parts} 'data.pattern=\"{self.pattern}\"' names them, and data.split_by={last} divides no {last}."
        return f"{parts} All files of one {self.group} go to the same split (data.split_by)."


def name_parts(files: Sequence[Path], group: str) -> NameParts | None:
    """The parts of the names of these files; None where the names have no parts in common.

    group: what a group of files is called
    """
    for between in BETWEEN:
        names = [file.stem.split(between) for file in files]
        if len({len(name) for name in names}) == 1 and len(names[0]) > 1:
            break
    else:
        return None
    label = None if len({file.parent for file in files}) > 1 else "label"
    values = [set(part) for part in zip(*names, strict=True)]
    called = [label if label and place == 0 else f"part{place + 1}" for place in range(len(values))]
    groups = [place for place, seen in enumerate(values) if called[place] != label and _groups(seen, len(files))]
    if groups:
        called[max(groups, key=lambda place: len(values[place]))] = group
    pattern = between.join(f"{{{name}}}" for name in called) + files[0].suffix
    different = {name: len(seen) for name, seen in zip(called, values, strict=True)}
    return NameParts(pattern, label, group if groups else None, different)


def _groups(values: set[str], files: int) -> bool:
    """Whether values are names that come again. Numbers may count the files, so they name no group."""
    return 1 < len(values) <= files / FILES and not all(value.isdigit() for value in values)
