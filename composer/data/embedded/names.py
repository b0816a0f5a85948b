"""Names in two languages or scripts: "Reykjavik" -> "Рейкьявик". From the Unicode CLDR, by Babel.

Cities and many countries are transliterated, names of languages, scripts and currencies are mostly translated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from composer.core.block import Probability
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs.text_codec import TextCodec
from composer.data.embedded.dates import check_locale
from composer.data.list_source import DividedSource, Example
from composer.data.source import SPLITS, Split
from composer.data.tokenisers.tokeniser import Tokenising

if TYPE_CHECKING:
    from babel import Locale

Kind = Literal["territories", "cities", "languages", "scripts", "currencies", "zones"]
KINDS: list[Kind] = ["territories", "cities", "languages", "scripts", "currencies", "zones"]


@register("data", "names")
class Names(DividedSource):
    """source: a name in one language; target: the same name in the other.

    A name is in one split only, in either language: the split is that of a hash of the target and the seed. So it stays
    the same with other kinds or with a later CLDR, and names that are called the same in the target language stay
    together.
    """

    def __init__(
        self, *, source_locale: str = "en", target_locale: str = "ru", kinds: list[Kind] = KINDS,
        valid: Probability = 0.1, test: Probability = 0.1, seed: int = 0,
        tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
    ) -> None:  # fmt: skip
        for key, locale in (("source_locale", source_locale), ("target_locale", target_locale)):
            check_locale(key, locale)
        if source_locale == target_locale:
            raise Invalid("target_locale", f"is the source_locale, too: {target_locale}. Name another.")
        if not kinds:
            raise Invalid("kinds", "is empty. Name at least one, e.g. [cities].")
        if valid + test >= 1:
            raise Invalid("test", f"{test:g} and valid, {valid:g}, leave nothing for training.")
        self.locales, self.kinds = (source_locale, target_locale), kinds
        self.shares: dict[Split, float] = {"valid": valid, "test": test}
        self.seed = seed
        self.codecs = {"source": TextCodec(tokeniser, given=True), "target": TextCodec(tokeniser)}

    def divided(self) -> dict[Split, list[Example]]:
        found: dict[Split, list[Example]] = {split: [] for split in SPLITS}
        for name, other in self._pairs().items():
            found[self._split_of(other)].append(("names", name, other))
        return found

    def _pairs(self) -> dict[str, str]:
        """Every name once; where several kinds have it, the first decides."""
        from babel import Locale

        one, other = (Locale.parse(locale) for locale in self.locales)
        pairs: dict[str, str] = {}
        for kind in self.kinds:
            names, others = _names(one, kind), _names(other, kind)
            if kind == "cities":  # the CLDR leaves out a city that is called like the last part of its time zone
                ids = sorted(names.keys() | others.keys())
                names, others = ({zone: known.get(zone, _last(zone)) for zone in ids} for known in (names, others))
            for code in sorted(names.keys() & others.keys()):
                pairs.setdefault(names[code], others[code])
        return pairs

    def _split_of(self, name: str) -> Split:
        digest = hashlib.sha256(f"{self.seed}/{name.casefold()}".encode()).digest()
        at = int.from_bytes(digest[:8], "big") / 2**64
        for split, share in self.shares.items():
            if at < share:
                return split
            at -= share
        return "train"


def _names(locale: Locale, kind: Kind) -> Mapping[str, str]:
    """The names of a kind in a language, by their codes."""
    match kind:
        case "cities":
            return {zone: facts["city"] for zone, facts in locale.time_zones.items() if facts.get("city")}
        case "zones":
            long = {zone: facts.get("long", {}) for zone, facts in locale.meta_zones.items()}
            return {zone: facts["standard"] for zone, facts in long.items() if facts.get("standard")}
        case _:
            return {code: name for code, name in getattr(locale, kind).items() if name != code}


def _last(zone: str) -> str:
    """'America/New_York' -> 'New York'"""
    return zone.rpartition("/")[2].replace("_", " ")
