"""Files for a trained model, which may lack what it predicts: which cells hold the columns that are read.

Names decide where a file has names. Elsewhere the number of columns tells which of them are missing, and where the
first word of a line is cut off as its label, the classes of the training tell whether the line has one. What stays in
doubt is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from composer.core.problems import UserError, listed

#: Whether a cell may hold the value of a field; None: that cannot be told from a cell.
Recognise = Callable[[str], bool | None]

#: Fewer lines than this share begin with a class by chance.
CHANCE = 0.1

#: How a user says what a file does not tell.
SAY = "Say whether the file holds what is predicted (--targets or --no-targets)"


@dataclass(frozen=True)
class TrainedFile:
    """How a file was written that a model was trained on.

    delimiter: as a config spells it; None: every line was one text
    width: the number of columns
    names: of the columns, where the file had them
    columns: what was read, by names of our own: the name or number of its column
    """

    suffix: str
    delimiter: str | None
    width: int
    names: list[str] | None
    columns: dict[str, str | int]


@dataclass(frozen=True)
class NewFiles:
    """What is known of the files before they are read.

    trained: None where the model's checkpoint does not say it
    targets: whether the files hold what is predicted, too; None: what they hold tells
    """

    trained: TrainedFile | None = None
    targets: bool | None = None

    def delimiter(self, kind: str) -> str | None:
        """The delimiter of the training for a file of this suffix, unless the suffix has a delimiter of its own."""
        if self.trained is None or self.trained.delimiter is None:
            return None
        own = kind in ("csv", "tsv") or self.trained.suffix == "csv"
        return self.trained.delimiter if kind == self.trained.suffix or not own else None

    @property
    def names(self) -> list[str]:
        """The names of the columns of the training; none where they are not known."""
        return [] if self.trained is None else self.trained.names or []

    def numbers(
        self, columns: Mapping[str, int], unread: Collection[int], first: list[str], header: bool, path: Path
    ) -> Mapping[str, int]:
        """The numbers that numbered columns have in a file with this first record.

        unread: the numbers of columns that are not read, and may be missing
        header: whether the first record holds names
        """
        trained = self.trained
        if trained is not None and any(trained.columns.get(name) != column for name, column in columns.items()):
            return columns  # the user has named others for this file
        if header and all(1 <= column <= len(self.names) for column in columns.values()):
            before = {name: self.names[column - 1] for name, column in columns.items()}
            if set(before.values()) <= set(first):
                return {name: first.index(own) + 1 for name, own in before.items()}
        return self._by_width(columns, unread, len(first), path)

    def _by_width(
        self, columns: Mapping[str, int], unread: Collection[int], width: int, path: Path
    ) -> Mapping[str, int]:
        """The numbers in a file of this width. Columns that are not read may be missing."""
        wanted, others = sorted(set(columns.values())), sorted(set(unread) - set(columns.values()))
        if not (wanted and others) or self.targets:
            return columns
        known = self.trained.width if self.trained else max([*wanted, *others])
        lacking = len(others) if self.targets is False else known - width
        if lacking <= 0 and (self.trained is None or lacking == 0):
            return columns
        found = {
            tuple(column - sum(gone < column for gone in missing) for column in wanted)
            for missing in (combinations(others, lacking) if lacking > 0 else ())
            if self.trained is None or known - lacking == width
        }
        found = {places for places in found if places[-1] <= width}
        if not found and width == len(wanted):
            found = {tuple(range(1, width + 1))}
        if len(found) != 1:
            read = listed(str(column) for column in wanted)
            message = f"{path}: has {width} columns, but the training file had {known}, of which the model reads {read}"
            raise UserError(f"{message}. Name the columns of this file. {SAY}, where that is enough.")
        where = dict(zip(wanted, next(iter(found)), strict=True))
        return {name: where[column] for name, column in columns.items()}

    def lines_have_labels(self, lines: Iterable[str], recognise: Recognise, path: Path) -> bool:
        """Whether the first words of lines are labels, in a file whose lines are cut there."""
        if self.targets is not None:
            return self.targets
        first = [line.split(None, 1) for line in lines]
        told = [recognise(words[0]) if len(words) > 1 else False for words in first]
        if None in told:
            raise UserError(f"{path}: the first word of a line may be what is predicted, or belong to the text. {SAY}.")
        known = sum(map(bool, told))
        if known == len(told):
            return True
        if known < CHANCE * len(told):
            return False
        word = next(words[0] for words, found in zip(first, told, strict=True) if not found)
        message = f"{path}: {known:,} of {len(told):,} lines begin with a class of the training, but not '{word}'"
        raise UserError(f"{message}. {SAY}.")
