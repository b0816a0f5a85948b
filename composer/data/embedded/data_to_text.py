"""Attributes to a sentence about them: place[Oslo], sky[rain], wind[light] -> "Expect rain and a light wind in Oslo."

Weather reports, whose numbers, days and lists are written by Babel; or a file in the form of the E2E challenge
(Novikova et al., 2017): a column of slots and a column of texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Literal

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs.text_codec import TextCodec
from composer.data.fields.attributes import AttributesCodec
from composer.data.file_keys import Share
from composer.data.list_source import DividedSource, Example
from composer.data.own.vectors import vectors
from composer.data.source import SPLITS, Source, Split
from composer.data.splits.grouped import grouped
from composer.data.splits.splits import check_shares
from composer.data.tables.table import Column, TableRow
from composer.data.tokenisers.tokeniser import Tokenising

PLACES = ("Athens", "Cairo", "Dublin", "Helsinki", "Lima", "Lisbon", "Nairobi", "Oslo", "Quito", "Tokyo")

#: The values of the sky and of the wind, each with the ways to say it.
SKIES = {
    "sun": ("sunshine", "sunny weather", "clear skies"),
    "clouds": ("clouds", "cloudy weather", "grey skies"),
    "rain": ("rain", "rainy weather", "showers"),
    "snow": ("snow", "snowy weather", "snowfall"),
    "fog": ("fog", "foggy weather", "mist"),
}
WINDS = {
    "none": ("no wind", "calm air"),
    "light": ("a light wind", "a gentle breeze"),
    "strong": ("a strong wind", "strong gusts"),
}
WARMTH = ("{}", "a temperature of {}", "temperatures around {}")

#: Sentences about a place, and about a place on a day.
PLAIN = ("The forecast for {place} is {list}.", "Expect {list} in {place}.", "{place} will have {list}.")
DATED = (
    "The forecast for {place} {day} is {list}.", "Expect {list} in {place} {day}.",
    "{place} will have {list} {day}.",
)  # fmt: skip

Meaning = dict[str, str]


@register("data", "data_to_text")
def data_to_text(
    *,
    path: str | None = None,
    slots: Column = "mr",
    target: Column = "ref",
    meanings: Positive = 2000,
    wordings: Positive = 3,
    valid: Share = 0.1,
    test: Share = 0.1,
    seed: int = 0,
    references: Literal["single", "grouped"] = "grouped",
    tokeniser: Tokenising = Tokenising(type="words"),  # noqa: B008 - frozen
) -> Source:
    """source: the attributes as one vector; target: a sentence about them. A meaning is in one split only."""
    if path is not None:
        return vectors(
            path=path, slots=slots, target=target, valid=valid, test=test, split_by=slots, seed=seed,
            references=references, tokeniser=tokeniser,
        )  # fmt: skip
    for name, share in (("valid", valid), ("test", test)):
        if isinstance(share, str):
            raise Invalid(name, f"'{share}' goes with a file of your own: set data.path, or give a share such as 0.1.")
    check_shares(valid, test)
    if meanings > len(_meanings()):
        raise Invalid("meanings", f"there are {len(_meanings()):,} different reports, not {meanings:,}. Ask for fewer.")
    shares: dict[Split, float] = {"valid": float(valid), "test": float(test)}
    return WeatherReports(meanings, wordings, shares, seed, references == "grouped", tokeniser)


class WeatherReports(DividedSource):
    """
    meanings: the number of different reports, over all splits
    wordings: the number of sentences about each of them, in different words
    several: whether a held-out report is one row, of which all sentences are right (several references)
    """

    def __init__(
        self, meanings: int, wordings: int, shares: dict[Split, float], seed: int, several: bool, tokeniser: Tokenising
    ) -> None:
        self.meanings, self.wordings, self.shares, self.seed = meanings, wordings, shares, seed
        self.several = several
        self.codecs = {"source": AttributesCodec(), "target": TextCodec(tokeniser)}

    def records(self, split: Split) -> Iterator[TableRow]:
        found = super().records(split)
        return grouped(found, "target") if self.several and split != "train" else found

    def divided(self) -> dict[Split, list[Example]]:
        draw = random.Random(self.seed)
        chosen = draw.sample(_meanings(), self.meanings)
        reports = [(meaning, _sentences(draw, meaning, self.wordings)) for meaning in chosen]
        valid, test = (round(self.shares[split] * len(reports)) for split in ("valid", "test"))
        parts = {"train": slice(valid + test, None), "valid": slice(valid), "test": slice(valid, valid + test)}
        return {
            split: [("weather reports", meaning, text) for meaning, texts in reports[parts[split]] for text in texts]
            for split in SPLITS
        }


@cache
def _meanings() -> list[Meaning]:
    """All reports: a place, a day or none, and at least one of the sky, the temperature and the wind."""
    from babel.dates import get_day_names
    from babel.units import format_unit

    days = ("today", "tomorrow", *get_day_names(locale="en").values())
    degrees = [format_unit(number, "temperature-celsius", locale="en") for number in range(-10, 31, 5)]
    values = {
        "place": PLACES,
        "day": (None, *days),
        "sky": (None, *SKIES),
        "temperature": (None, *degrees),
        "wind": (None, *WINDS),
    }
    found = []
    for drawn in product(*values.values()):
        meaning = {name: value for name, value in zip(values, drawn, strict=True) if value is not None}
        if meaning.keys() - {"place", "day"}:
            found.append(meaning)
    return found


def _sentences(draw: random.Random, meaning: Meaning, count: int) -> list[str]:
    """Different sentences of one meaning: ``count``, or as many as are found in a few attempts."""
    found: dict[str, None] = {}
    for _ in range(4 * count):
        if len(found) == count:
            break
        found[_sentence(draw, meaning)] = None
    return list(found)


def _sentence(draw: random.Random, meaning: Meaning) -> str:
    from babel.lists import format_list

    items = []
    for name, value in meaning.items():
        if name in ("sky", "wind"):
            items.append(draw.choice((SKIES if name == "sky" else WINDS)[value]))
        elif name == "temperature":
            items.append(draw.choice(WARMTH).format(value))
    draw.shuffle(items)
    day = meaning.get("day")
    frame = draw.choice(PLAIN if day is None else DATED)
    when = day if day in (None, "today", "tomorrow") else f"on {day}"
    return frame.format(place=meaning["place"], day=when, list=format_list(items, locale="en"))
