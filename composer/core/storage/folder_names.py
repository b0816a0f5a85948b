"""Names that become folders: of runs, sweeps, groups and arms."""

from __future__ import annotations

from pathlib import PurePath

from composer.core.problems import show_value

#: The most bytes of a name. File systems accept 255; temporary files and reports add to a name.
LONGEST = 200

#: The most bytes of a path. Linux accepts 4096; the files of a run add to it.
LONGEST_PATH = 3800


def name_problem(name: str) -> str | None:
    """What is wrong with a name that is to be a folder inside another folder; None if nothing is."""
    if not name.strip():
        return "is empty. Give a name, or null for the date and time."
    if not name.isprintable():
        return (
            f"expected a name of visible characters, found {show_value(name)}: no line breaks, no control characters."
        )
    parts = name.split("/")
    if PurePath(name).is_absolute() or name.startswith("~") or any(part in ("", ".", "..") for part in parts):
        return f"expected a name inside the folder of runs, found {show_value(name)}. Choose that folder with runs=..."
    if len(name.encode("utf-8", "surrogateescape")) > LONGEST:
        return f"expected a name of at most {LONGEST} bytes, found one of {len(name.encode())}."
    return None


def path_problem(path: str) -> str | None:
    """What is wrong with a text that is to be a path; None if nothing is."""
    if not path.strip():
        return "is empty. Give a path."
    if not path.isprintable():
        return f"expected a path of visible characters, found {show_value(path)}."
    written = path.encode("utf-8", "surrogateescape")
    if len(written) > LONGEST_PATH or any(len(part) > 255 for part in written.split(b"/")):
        return f"expected a path that a file system takes, found one of {len(written)} bytes."
    return None
