"""Dates written in many languages, to ISO or to their language: "lundi 3 mars 1975" -> "1975-03-03", or "fr".

From the Unicode CLDR, by Babel.
"""

from __future__ import annotations

import random
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


@register("data", "dates")
class Dates(DividedSource):
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
        if not locales:
            raise Invalid("locales", "is empty. Name at least one, e.g. [en].")
        if forms == []:
            raise Invalid("forms", "is empty. Name at least one, e.g. [full].")
        self.target, self.locales = target, locales
        self.forms = forms or (FORMS if target == "iso" else ("full",))
        self.sizes: dict[Split, int] = {"train": train_size, "valid": valid_size}
        self.seed = seed
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
        self.written_dates.learn(partial(_all, texts) if single else partial(self.values, "source"))
        answers = [*(day.isoformat() for day in days), "0123456789-"] if self.target == "iso" else self.locales
        self.codecs["target"].learn(partial(_all, answers))

    def divided(self) -> dict[Split, list[Example]]:
        draw = random.Random(self.seed)
        pools = divided_days(draw)
        return {split: [self._pair(draw, pools[split]) for _ in range(size)] for split, size in self.sizes.items()}

    def _pair(self, draw: random.Random, days: list[date]) -> Example:
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


def divided_days(draw: random.Random) -> dict[Split, list[date]]:
    """The days of two centuries, each in one split, whatever the language: no day of 'valid' is in 'train'."""
    days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
    draw.shuffle(days)
    held_out = days[: max(1, len(days) // 20)]
    return {"valid": held_out, "train": days[len(held_out) :]}


def every_month_and_weekday() -> list[date]:
    """Dates that contain every month with every weekday, and all digits."""
    days = [date(1975 + weekday, month, 1 + 3 * weekday) for month in range(1, 13) for weekday in range(7)]
    return days + [date(1980 + n, 6, 10 + n) for n in range(20)]


def _all(texts: list[str], limit: int | None) -> list[str]:
    return texts
