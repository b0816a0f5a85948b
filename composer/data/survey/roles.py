"""What the columns of a table are for: those to predict, those to predict from, and those that are not read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from composer.data.survey.column_survey import LABELS, ColumnSummary, Guess
from composer.data.survey.surveying import Survey
from composer.data.tables.table import Column

#: The last word of the name of a number that people predict, besides those of classes.
VALUES = frozenset(
    """y target label score rating stars price value amount sales cost charges salary income quality strength output
    response medv""".split()  # noqa: SIM905 - more readable
)

#: The last word of the name of a column of classes that people predict.
CLASSES = frozenset(
    """labels genre genres topic topics type species outcome y survived churn fraud spam diagnosis duplicate""".split()  # noqa: SIM905 - as above
).union(LABELS)

#: Columns of these names are parts of a date, whatever numbers they hold.
CALENDAR = frozenset(
    """year month day hour minute second weekday week date time timestamp datetime dayofweek dayofyear quarter season yr
    mnth mon hr dow doy""".split()  # noqa: SIM905 - more readable
)

#: Texts of a pair, by the names of their columns: what is given, and what is written from it.
PAIRS = (
    ("source", "target"), ("src", "tgt"), ("src", "trg"), ("input", "output"), ("question", "answer"),
    ("prompt", "response"), ("prompt", "completion"), ("instruction", "response"), ("article", "highlights"),
    ("article", "summary"), ("document", "summary"), ("text", "summary"), ("english", "french"), ("english", "german"),
)  # fmt: skip

#: Parts of the name of a column of tags.
TAGS = ("tag", "label", "ner", "pos", "slot")

#: Texts that are read beside the first of a pair.
CONTEXT = ("context", "passage", "paragraph")

#: A text has this number of words or more, at the median; shorter ones are names.
WORDS = 3

#: Numbers whose correlation with those of the row before is at least this are steps of a series.
STEADY = 0.6

#: Cells that all begin with such words are notes about the rows: a licence, an address.
NOTE = re.compile(r"https?://|www\.|\bCC[ -]BY\b|copyright|©|attribution", re.IGNORECASE)


def last_word(column: Column) -> str:
    """The last word of a column's name in small letters: price of SalePrice and of house_price."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", str(column))
    return next(reversed(re.findall(r"[^\W_]+", spaced)), "").lower()


@dataclass
class Roles:
    """The columns of a table by their guessed types, without those that no model should read.

    unread: the columns that are not read, and why
    """

    found: Survey
    unread: dict[Column, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reasons = {"id": "counts the rows", "date": "a date", "constant": "the same in every row"}
        self.unread |= {c.column: reasons[c.guess] for c in self.found.columns if c.guess in reasons}
        self.unread |= dict.fromkeys(self.found.times.columns if self.found.times else (), "the time of the row")
        for text in self.texts:
            left = len(self.texts) - 1 + bool(self.classes or self.numbers)  # something to predict has to be left
            if left > 1 and (reason := self._no_text(text)) is not None:
                self.unread[text.column] = reason

    def _no_text(self, text: ColumnSummary) -> str | None:
        if NOTE.search(text.begins):
            return f"every cell begins with '{text.begins.strip()}'"
        longest = 0 if text.lengths is None else text.lengths[2]
        if longest == 1 and self.has_sentences:
            return "single words, most of them different"
        return None

    def _of(self, *guesses: Guess) -> list[ColumnSummary]:
        return [c for c in self.found.columns if c.guess in guesses and c.column not in self.unread]

    def first(self, guess: Guess) -> ColumnSummary | None:
        return next(iter(self._of(guess)), None)

    @property
    def texts(self) -> list[ColumnSummary]:
        return self._of("text")

    @property
    def numbers(self) -> list[ColumnSummary]:
        """The numbers that are no part of a date."""
        return [c for c in self._of("number", "class") if _is_number(c) and last_word(c.column) not in CALENDAR]

    @property
    def classes(self) -> list[ColumnSummary]:
        """The columns of classes, with several labels a cell or in a list, too, that are no part of a date."""
        found = [c for c in self._of("class", "classes", "words") if last_word(c.column) not in CALENDAR]
        return [c for c in found if c.guess != "words" or last_word(c.column) in CLASSES]

    @cached_property
    def calendar(self) -> list[Column]:
        """The columns that hold a date, or a part of one."""
        times = () if self.found.times is None else self.found.times.columns
        parts = (c.column for c in self.found.columns if c.guess == "date" or last_word(c.column) in CALENDAR)
        return list(dict.fromkeys([*times, *parts]))

    @cached_property
    def has_sentences(self) -> bool:
        return any(c.guess == "text" and c.lengths is not None and c.lengths[1] >= WORDS for c in self.found.columns)

    @property
    def named_label(self) -> ColumnSummary | None:
        """The last column of classes whose name says that it is predicted."""
        return next((c for c in reversed(self.classes) if last_word(c.column) in CLASSES), None)

    @property
    def label(self) -> ColumnSummary | None:
        """The column of classes to predict: by its name, or else the last one."""
        return self.named_label or next(reversed(self.classes), None)

    @property
    def named_value(self) -> ColumnSummary | None:
        """The last number whose name says that it is predicted."""
        return next((c for c in reversed(self.numbers) if last_word(c.column) in VALUES), None)

    @property
    def edge_label(self) -> ColumnSummary | None:
        """The only column of classes, if it is the last of the table, or the first: no number, or one of two values."""
        if sum(not _is_number(c) for c in self.classes) > 1:
            return None
        edges = (self.found.columns[-1], self.found.columns[0])
        return next((c for c in edges if c in self.classes and (not _is_number(c) or c.distinct == 2)), None)

    @property
    def tagged(self) -> tuple[ColumnSummary, ColumnSummary] | None:
        """A column of words, and one of a tag for each, by its name: both lists, or both texts of as many words."""
        for guess in ("words", "text"):
            columns = [c for c in self.found.columns if c.guess == guess]
            tags = [c for c in columns if any(word in str(c.column).lower() for word in TAGS)]
            others = [c for c in columns if c not in tags and len(tags) == 1 and c.lengths == tags[0].lengths]
            if len(others) == 1:
                return others[0], tags[0]
        return None

    @property
    def pair(self) -> tuple[list[ColumnSummary], ColumnSummary] | None:
        """Texts whose names say that the last is written from the others."""
        texts = {str(c.column).lower(): c for c in self.texts}
        beside = [texts[name] for name in CONTEXT if name in texts]
        return next((([texts[a], *beside], texts[b]) for a, b in PAIRS if a in texts and b in texts), None)

    @property
    def has_time(self) -> bool:
        """Whether the rows are steps in time by their dates."""
        return self.found.times is not None and self.found.times.own

    @cached_property
    def is_series(self) -> bool:
        """Whether the rows are steps in time: by their dates, or as most numbers are near those of the row before."""
        numbers = self.numbers
        if self.has_sentences or not numbers:
            return False
        alone = len(numbers) == 1 and not self.texts and not self.classes
        steady = sum((c.steady or 0) >= STEADY for c in numbers)
        return self.has_time or (not self.calendar and (alone or 2 * steady >= len(numbers)))


def _is_number(column: ColumnSummary) -> bool:
    return column.guess == "number" or (column.guess == "class" and column.lengths is not None)
