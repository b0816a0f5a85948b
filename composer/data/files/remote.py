"""Files at addresses such as https://..., s3://... and gs://..., of which fsspec keeps copies on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

from composer.core.problems import Invalid
from composer.core.storage.user_cache import user_cache

#: The folder of the cache that holds the copies, and the number of folders of an address that their names hold.
FOLDER, LEVELS = "remote", 8


def copies_of(pattern: str, key: str) -> list[Path]:
    """The copies of the files at an address, which may be a glob pattern; those of an earlier run serve for a week.

    key: the YAML key of the address, for messages
    """
    import fsspec
    from fsspec.implementations.cache_mapper import BasenameCacheMapper

    folder = user_cache()
    storage = "TMP" if folder is None else str(folder / FOLDER)  # TMP: a temporary folder
    names = BasenameCacheMapper(LEVELS)  # which keep the suffix
    try:
        found = fsspec.open_local(
            f"filecache::{pattern}", mode="rb", filecache={"cache_storage": storage, "cache_mapper": names}
        )
    except FileNotFoundError as error:
        raise Invalid(key, f"there is no file '{pattern}'. Check the address.") from error
    except _reading_errors() as error:
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise Invalid(key, f"'{pattern}' cannot be read: {said}. Check the address and the network.") from error
    files = sorted(map(Path, [found] if isinstance(found, str) else found))
    if not files:
        raise Invalid(key, f"no file fits '{pattern}'.")
    return files


def _reading_errors() -> tuple[type[Exception], ...]:
    """The errors of fsspec, and of the library that fsspec reads https:// with, where it was imported."""
    client = [sys.modules["aiohttp"].ClientError] if "aiohttp" in sys.modules else []
    return (OSError, ImportError, ValueError, *client)
