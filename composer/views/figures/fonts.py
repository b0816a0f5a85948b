"""Fonts for the tokens in figures: matplotlib's own, then an installed one for every script that it lacks.

A character that no font has is drawn as a box; ``lacking`` says which, for the screen.
"""

from __future__ import annotations

import unicodedata
from functools import cache

MISSING = "□"

#: A font of these scripts, and the package that installs it; another script's is in Noto Sans.
INSTALL = dict.fromkeys(("Hangul", "CJK", "Hiragana", "Katakana"), "Noto Sans CJK (apt install fonts-noto-cjk)")
OTHERWISE = "Noto Sans (apt install fonts-noto-core)"

#: The families that characters were found in beside matplotlib's own, and for every script without a font a character.
_found_families: list[str] = []
_scripts_without_font: dict[str, str] = {}


def with_glyphs(text: str) -> str:
    """The text with a box in the place of every character that no font has."""
    return "".join(c if unicodedata.combining(c) or _has_glyph(c) else MISSING for c in text)


def families() -> list[str]:
    """The font families that have the characters of all texts so far."""
    from matplotlib import rcParams

    return [*rcParams["font.family"], *_found_families]


def lacking() -> str | None:
    """A sentence about the scripts of all texts since the last call that no installed font has; None without one."""
    if not _scripts_without_font:
        return None
    scripts = ", ".join(f"{script} (such as {character})" for script, character in _scripts_without_font.items())
    fonts = dict.fromkeys(INSTALL.get(script, OTHERWISE) for script in _scripts_without_font)
    _scripts_without_font.clear()
    return (
        f"figures show {MISSING} for characters that no installed font has: {scripts}. Install one, e.g. "
        f"{', '.join(fonts)}, and draw them again: python -m composer inspect."
    )


def script(character: str) -> str:
    """The script of a character, as Unicode names it: Hangul, CJK, Thai; symbols such as emoji have none."""
    name = unicodedata.name(character, "unnamed").partition(" ")[0].partition("-")[0]
    if not unicodedata.category(character).startswith("L"):
        return "symbols"
    return name if name == "CJK" else name.capitalize()


def _has_glyph(character: str) -> bool:
    if _in_a_font(character):
        return True
    _scripts_without_font.setdefault(script(character), character)
    return False


@cache
def _in_a_font(character: str) -> bool:
    """Whether matplotlib's own font has a character, or an installed one, whose family is then used, too."""
    from matplotlib.font_manager import FontProperties, findfont

    if ord(character) in _characters(findfont(FontProperties())):
        return True
    found = next((font for font in _installed() if ord(character) in _characters(font)), None)
    if found is not None:
        _use(found)
    return found is not None


@cache
def _installed() -> tuple[str, ...]:
    """The files of the fonts of this machine, found anew: matplotlib's own list may be older than a font."""
    from matplotlib.font_manager import findSystemFonts

    return tuple(sorted(findSystemFonts()))


@cache
def _characters(path: str) -> frozenset[int]:
    """The characters of a font that matplotlib can draw; none of a file that it cannot."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (RuntimeError, OSError):
        return frozenset()
    return frozenset(font.get_charmap()) if font.scalable else frozenset()


def _use(path: str) -> None:
    from matplotlib.font_manager import fontManager, get_font

    name = get_font(path).family_name
    if name not in _found_families:
        fontManager.addfont(path)
        _found_families.append(name)
