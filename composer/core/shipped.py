"""Where the files lie that come with this package: at the top of a checkout, inside of an installed package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def folder(name: str) -> Path:
    """The folder ``blocks`` or ``conf``."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


#: Our own configs.
CONF = folder("conf")
