"""SVG elements from plain values: escaped text, short numbers, no characters that XML forbids."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

# XML forbids control characters and lone surrogates, even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if abs(value) < 0.05 else "-0")


def child(parent: ET.Element, tag: str, words: str | None = None, **attributes: str | float) -> ET.Element:
    """A new element in ``parent``: ``role_=1`` and ``font_size=2`` become role="1" and font-size="2"."""
    element = ET.SubElement(parent, tag)
    for key, value in attributes.items():
        name = key.rstrip("_").replace("_", "-")
        element.set(name, legal(value) if isinstance(value, str) else number(value))
    if words is not None:
        element.text = legal(words)
    return element


def legal(words: str) -> str:
    return _ILLEGAL.sub("\ufffd", words)
