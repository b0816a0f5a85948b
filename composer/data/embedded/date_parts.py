"""Words of sentences with a date, to the part of the date that they are: day, month, year, weekday or nothing (BIO).

    On  Monday     ,  March    3      ,  1975    the  train  left  platform  12  .
    O   B-WEEKDAY  O  B-MONTH  B-DAY  O  B-YEAR  O    O      O     O         O   O

Dates are those of the Unicode CLDR, by Babel; the sentences are our own. They contain other numbers, so that a number
alone does not say what it is.
"""

from __future__ import annotations

import random
import re
from datetime import date

from composer.core.block import Positive
from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.registry import register
from composer.data.codecs.words_codec import WordsCodec
from composer.data.embedded.dates import FORMS, LOCALES, DatedSource, Form
from composer.data.list_source import Example

#: Sentences by locale: <date> is a date, <n> a number such as that of a day, <y> one such as that of a year.
SENTENCES = {
    "en": (
        "The meeting is on <date> .", "<n> people came on <date> .", "On <date> the train left platform <n> .",
        "Invoice <y> is due on <date> .", "She was born on <date> .", "We may need <n> chairs in room <n> .",
    ),
    "de": (
        "Das Treffen ist am <date> .", "Am <date> kamen <n> Gäste .", "Zimmer <n> ist ab <date> frei .",
        "Rechnung <y> ist am <date> fällig .", "Sie wurde am <date> geboren .", "In Raum <n> stehen <n> Stühle .",
    ),
    "fr": (
        "La réunion est le <date> .", "Le <date> , <n> personnes sont venues .", "La chambre <n> est libre le <date> .",
        "La facture <y> est à payer le <date> .", "Elle est née le <date> .", "Il y a <n> chaises dans la salle <n> .",
    ),
    "es": (
        "La reunión es el <date> .", "El <date> vinieron <n> personas .", "La habitación <n> está libre el <date> .",
        "La factura <y> vence el <date> .", "Ella nació el <date> .", "Hay <n> sillas en la sala <n> .",
    ),
    "it": (
        "La riunione è il <date> .", "Il <date> sono venute <n> persone .", "La camera <n> è libera il <date> .",
        "La fattura <y> scade il <date> .", "Lei è nata il <date> .", "Ci sono <n> sedie nella sala <n> .",
    ),
    "nl": (
        "De vergadering is op <date> .", "Op <date> kwamen <n> mensen .", "Kamer <n> is vrij vanaf <date> .",
        "Factuur <y> vervalt op <date> .", "Zij is geboren op <date> .", "Er staan <n> stoelen in zaal <n> .",
    ),
    "sv": (
        "Mötet hålls <date> .", "<n> personer kom <date> .", "Rum <n> är ledigt från <date> .",
        "Faktura <y> ska betalas <date> .", "Hon föddes <date> .", "Det finns <n> stolar i sal <n> .",
    ),
    "pl": (
        "Data spotkania : <date> .", "Pokój <n> , wolny od : <date> .", "Peron <n> , odjazd : <date> .",
        "Faktura <y> , termin : <date> .", "Data urodzenia : <date> .", "W sali <n> stoi <n> krzeseł .",
    ),
}  # fmt: skip

#: The letters of the CLDR's patterns.
PARTS = {"d": "DAY", "M": "MONTH", "L": "MONTH", "y": "YEAR", "E": "WEEKDAY", "c": "WEEKDAY"}

EVERY_FORM = list(FORMS)

Tagged = list[tuple[str, str]]


@register("data", "date_parts")
class DateParts(DatedSource):
    """source: the words; target: their tags, along the same time axis. Validation dates are never seen in training."""

    def __init__(
        self, *, locales: list[str] = LOCALES, forms: list[Form] = EVERY_FORM, train_size: Positive = 20000,
        valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        for locale in locales:
            if locale not in SENTENCES:
                near = did_you_mean(locale, SENTENCES)
                raise Invalid("locales", f"there are no sentences for '{locale}'.{near}  (has: {listed(SENTENCES)})")
        super().__init__(locales, forms, train_size, valid_size, seed)
        words = WordsCodec(specials=("<unk>",), shapes=True, unknown=0.25)
        self.codecs = {"source": words, "target": WordsCodec(axis="source", what="tag")}

    def drawn(self, draw: random.Random, days: list[date]) -> Example:
        locale, form, day = draw.choice(self.locales), draw.choice(self.forms), draw.choice(days)
        found: Tagged = []
        for word in draw.choice(SENTENCES[locale]).split():
            match word:
                case "<date>":
                    found += tagged_date(day, form, locale)
                case "<n>":
                    found.append((str(draw.randint(1, 40)), "O"))
                case "<y>":
                    found.append((str(draw.randint(1900, 2099)), "O"))
                case _:
                    found.append((word, "O"))
        return "date_parts", [word for word, _ in found], [tag for _, tag in found]


def tagged_date(day: date, form: Form, locale: str) -> Tagged:
    """The words of a date with their tags; punctuation marks and words between the parts belong to none."""
    from babel.dates import format_date, get_date_format, tokenize_pattern

    found: Tagged = []
    for _, piece in tokenize_pattern(get_date_format(form, locale).pattern):
        if isinstance(piece, str):
            found += [(word, "O") for word in re.findall(r"\w+|[^\w\s]", piece)]
            continue
        letter, count = piece
        first, *others = format_date(day, letter * count, locale=locale).split()
        part = PARTS[letter]
        found += [(first, f"B-{part}"), *((word, f"I-{part}") for word in others)]
    return found
