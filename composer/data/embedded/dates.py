"""Dates written in many languages, to ISO or to their language: "lundi 3 mars 1975" -> "1975-03-03", or "fr".

From the Unicode CLDR, by Babel.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial
from typing import Literal

from composer.core.block import Positive
from composer.core.problems import Invalid, did_you_mean
from composer.core.registry import register
from composer.data.codecs.class_codec import ClassCodec
from composer.data.codecs.codec import Codec
from composer.data.codecs.text_codec import TextCodec
from composer.data.list_source import DividedSource, Example
from composer.data.source import Split
from composer.data.tokenisers.tokeniser import Tokenising

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
Form = Literal["medium", "long", "full"]
FORMS: tuple[Form, ...] = ("medium", "long", "full")
LOCALES = ["en", "de", "fr", "es", "it", "nl", "sv", "pl"]


class DatedSource(DividedSource):
    """Examples with a date of two centuries in some languages. A day is in one split only, whatever the language."""

    def __init__(
        self, locales: list[str], forms: Sequence[Form], train_size: int, valid_size: int, seed: int
    ) -> None:  # fmt: skip
        for name, given, instance in (("locales", locales, "en"), ("forms", forms, "full")):
            if not given:
                raise Invalid(name, f"is empty. Name at least one, e.g. [{instance}].")
        self.locales, self.forms, self.seed = locales, forms, seed
        self.sizes: dict[Split, int] = {"train": train_size, "valid": valid_size}

    @abstractmethod
    def drawn(self, draw: random.Random, days: list[date]) -> Example:
        """An example with one of these days."""

    def divided(self) -> dict[Split, list[Example]]:
        draw = random.Random(self.seed)
        days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
        draw.shuffle(days)
        held_out = max(1, len(days) // 20)
        pools: dict[Split, list[date]] = {"train": days[held_out:], "valid": days[:held_out]}
        return {split: [self.drawn(draw, pools[split]) for _ in range(size)] for split, size in self.sizes.items()}


@register("data", "dates")
class Dates(DatedSource):
    """source: the date as people write it; target: its ISO form, or the locale that it was written for, as a class.

    Validation dates are never seen in training.
    """

    def __init__(
        self,
        *,
        target: Literal["iso", "language"] = "iso",
        forms: list[Form] | None = None,
        locales: list[str] = LOCALES,
        train_size: Positive = 20000,
        valid_size: Positive = 1000,
        seed: int = 0,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:
        for locale in locales:
            check_locale("locales", locale)
        fitting = FORMS if target == "iso" else FORMS[-1:]
        super().__init__(locales, fitting if forms is None else forms, train_size, valid_size, seed)
        self.target = target
        self.written_dates = TextCodec(tokeniser)
        answers: Codec = TextCodec(Tokenising()) if target == "iso" else ClassCodec("language")
        self.codecs = {"source": self.written_dates, "target": answers}

    def open(self) -> None:
        """Vocabularies that do not depend on the examples: all characters of dates in the CLDR, and all languages.

        Tokens longer than a character are learned from the training split.
        """
        days = every_month_and_weekday()
        texts = [self._written(day, form, locale) for locale in self.locales for form in self.forms for day in days]
        single = self.written_dates.options.type == Tokenising().type  # characters
        self.written_dates.learn((lambda limit: texts) if single else partial(self.values, "source"))
        answers = [*(day.isoformat() for day in days), "0123456789-"] if self.target == "iso" else self.locales
        self.codecs["target"].learn(lambda limit: answers)

    def drawn(self, draw: random.Random, days: list[date]) -> Example:
        day, form, locale = draw.choice(days), draw.choice(self.forms), draw.choice(self.locales)
        return "dates", self._written(day, form, locale), day.isoformat() if self.target == "iso" else locale

    def _written(self, day: date, form: str, locale: str) -> str:
        from babel.dates import format_date

        return format_date(day, form, locale=locale).lower()


def check_locale(key: str, locale: str) -> None:
    from babel import localedata

    if not localedata.exists(locale):
        near = did_you_mean(locale, localedata.locale_identifiers())
        raise Invalid(key, f"the CLDR has no locale '{locale}'.{near}")


def every_month_and_weekday() -> list[date]:
    """Dates that contain every month with every weekday, and all digits."""
    days = [date(1975 + weekday, month, 1 + 3 * weekday) for month in range(1, 13) for weekday in range(7)]
    return days + [date(1980 + n, 6, 10 + n) for n in range(20)]
