"""The folder in which this user's data is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path | None:
    """The folder that the environment names; None where it switches the cache off."""
    named = os.environ.get("COMPOSER_CACHE")
    if named == "off":
        return None
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sequence-composer"
