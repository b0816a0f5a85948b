"""Dates written in many languages, to ISO: "lundi 3 mars 1975" -> "1975-03-03". The Unicode CLDR's, through Babel."""

from __future__ import annotations

import random
from datetime import date, timedelta
from functools import cached_property

import torch
from babel import localedata
from babel.dates import format_date

from composer.block import Positive
from composer.data.source import Split, source
from composer.problems import Invalid, did_you_mean
from composer.signals import Field, Ids, Signal

SPECIALS = ("<sos>", "<eos>", "<unk>")
FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
FORMATS = ("medium", "long", "full")
LOCALES = ["en", "de", "fr", "es", "it", "nl", "sv", "pl"]


@source("dates")
class Dates:
    """source: the date as people write it; target: its ISO form. Validation dates are never seen in training."""

    def __init__(
        self, *, locales: list[str] = LOCALES, train_size: Positive = 20000, valid_size: Positive = 1000, seed: int = 0
    ) -> None:
        for locale in locales:
            if not localedata.exists(locale):
                near = did_you_mean(locale, localedata.locale_identifiers())
                raise Invalid("locales", f"the CLDR has no locale '{locale}'.{near}")
        if not locales:
            raise Invalid("locales", "is empty. Name at least one, e.g. [en].")
        self.locales = locales
        self.sizes = {"train": train_size, "valid": valid_size}
        self.seed = seed
        self.symbols = {"source": self._alphabet(), "target": [*SPECIALS, *"-0123456789"]}
        self.ids = {field: {symbol: i for i, symbol in enumerate(known)} for field, known in self.symbols.items()}
        self.fields = {
            field: Field("ids", vocabulary=len(known), start=known.index("<sos>"), stop=known.index("<eos>"))
            for field, known in self.symbols.items()
        }

    def size(self, split: Split) -> int:
        return self.sizes[split]

    def batch(self, split: Split, rows: list[int]) -> dict[str, Signal]:
        pairs = [self._examples[split][row] for row in rows]
        return {
            "source": self._ids("source", [text for text, _ in pairs]),
            "target": self._ids("target", [iso for _, iso in pairs]),
        }

    def show(self, field: str, signal: Signal) -> list[str]:
        assert isinstance(signal, Ids)
        texts = []
        for row, count in zip(signal.values.tolist(), signal.counts.tolist(), strict=True):
            symbols = [self.symbols[field][i] for i in row[:count]]
            texts.append("".join(symbols[: symbols.index("<eos>") if "<eos>" in symbols else None]))
        return texts

    def _ids(self, field: str, texts: list[str]) -> Ids:
        known = self.ids[field]
        rows = [[*(known.get(symbol, known["<unk>"]) for symbol in text), known["<eos>"]] for text in texts]
        values = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, ids in enumerate(rows):
            values[row, : len(ids)] = torch.tensor(ids)
        return Ids(values, torch.tensor([len(ids) for ids in rows]))

    @cached_property
    def _examples(self) -> dict[str, list[tuple[str, str]]]:
        """Every split's pairs. Dates are dealt out whole: one that is in 'valid' is in no language in 'train'."""
        draw = random.Random(self.seed)
        days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
        draw.shuffle(days)
        held_out = days[: max(1, len(days) // 20)]
        pools = {"valid": held_out, "train": days[len(held_out) :]}
        return {split: [self._pair(draw, pools[split]) for _ in range(size)] for split, size in self.sizes.items()}

    def _pair(self, draw: random.Random, days: list[date]) -> tuple[str, str]:
        day = draw.choice(days)
        text = format_date(day, draw.choice(FORMATS), locale=draw.choice(self.locales))
        return text.lower(), day.isoformat()

    def _alphabet(self) -> list[str]:
        """Every character these locales write dates with: each month on each weekday, and all the digits."""
        days = [date(1975 + weekday, month, 1 + 3 * weekday) for month in range(1, 13) for weekday in range(7)]
        days += [date(1980 + n, 6, 10 + n) for n in range(20)]
        texts = (format_date(day, form, locale=locale) for locale in self.locales for form in FORMATS for day in days)
        return [*SPECIALS, *sorted({symbol for text in texts for symbol in text.lower()})]
