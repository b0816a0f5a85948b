"""Dates written in many languages, to ISO: "lundi 3 mars 1975" -> "1975-03-03". From the Unicode CLDR, by Babel."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cached_property, partial
from pathlib import Path

from composer.core.block import Positive
from composer.core.problems import Invalid, did_you_mean
from composer.core.registry import register
from composer.data.codecs import TextCodec
from composer.data.example_source import ExampleSource
from composer.data.source import Split
from composer.data.tables import TableRow
from composer.data.tokeniser import Tokenising

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
FORMATS = ("medium", "long", "full")
LOCALES = ["en", "de", "fr", "es", "it", "nl", "sv", "pl"]


@register("data", "dates")
class Dates(ExampleSource):
    """source: the date as people write it; target: its ISO form. Validation dates are never seen in training."""

    def __init__(
        self, *, locales: list[str] = LOCALES, train_size: Positive = 20000, valid_size: Positive = 1000, seed: int = 0
    ) -> None:
        from babel import localedata

        for locale in locales:
            if not localedata.exists(locale):
                near = did_you_mean(locale, localedata.locale_identifiers())
                raise Invalid("locales", f"the CLDR has no locale '{locale}'.{near}")
        if not locales:
            raise Invalid("locales", "is empty. Name at least one, e.g. [en].")
        self.locales = locales
        self.sizes: dict[Split, int] = {"train": train_size, "valid": valid_size}
        self.seed = seed
        self.texts = {"source": TextCodec(Tokenising()), "target": TextCodec(Tokenising())}
        self.codecs = {**self.texts}

    def open(self) -> None:
        """The alphabets contain every character of dates in the CLDR, whether or not it occurs in the examples."""
        days = self._days
        texts = [self._written(day, form, locale) for locale in self.locales for form in FORMATS for day in days]
        known = {"source": texts, "target": [*(day.isoformat() for day in days), "0123456789-"]}
        for name, codec in self.texts.items():
            codec.learn(partial(_all, known[name]))

    def records(self, split: Split) -> Iterator[TableRow]:
        for row, (text, iso) in enumerate(self._examples.get(split, []), 1):
            yield TableRow(Path("dates"), row, {"source": text, "target": iso})

    @cached_property
    def _examples(self) -> dict[Split, list[tuple[str, str]]]:
        """The pairs of every split. A date belongs to one split in all languages: no date of 'valid' is in 'train'."""
        draw = random.Random(self.seed)
        days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
        draw.shuffle(days)
        held_out = days[: max(1, len(days) // 20)]
        pools: dict[Split, list[date]] = {"valid": held_out, "train": days[len(held_out) :]}
        return {split: [self._pair(draw, pools[split]) for _ in range(size)] for split, size in self.sizes.items()}

    def _pair(self, draw: random.Random, days: list[date]) -> tuple[str, str]:
        day = draw.choice(days)
        return self._written(day, draw.choice(FORMATS), draw.choice(self.locales)), day.isoformat()

    def _written(self, day: date, form: str, locale: str) -> str:
        from babel.dates import format_date

        return format_date(day, form, locale=locale).lower()

    @property
    def _days(self) -> list[date]:
        """Dates that contain every month with every weekday, and all digits."""
        days = [date(1975 + weekday, month, 1 + 3 * weekday) for month in range(1, 13) for weekday in range(7)]
        return days + [date(1980 + n, 6, 10 + n) for n in range(20)]


def _all(texts: list[str], limit: int | None) -> list[str]:
    return texts
