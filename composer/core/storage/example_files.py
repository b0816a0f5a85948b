"""Small files that come with the package, which show the form of a user's own: example:intents.tsv."""

from __future__ import annotations

from pathlib import Path

from composer.core.problems import Invalid, did_you_mean, listed

EXAMPLES = Path(__file__).parents[2] / "data" / "examples"

#: What a path to one of them begins with.
EXAMPLE = "example:"


def is_example(text: str) -> bool:
    """Whether a path names a file that comes with the package."""
    return text.startswith(EXAMPLE) and text.removeprefix(EXAMPLE) in _names()


def example_file(text: str, key: str) -> Path | None:
    """The file of the package that a path names; None for the path of another file."""
    if not text.startswith(EXAMPLE):
        return None
    name, names = text.removeprefix(EXAMPLE), _names()
    if name not in names:
        near = did_you_mean(name, names)
        raise Invalid(key, f"the package has no example file '{name}'.{near}  (example files: {listed(names)})")
    return EXAMPLES / name


def _names() -> list[str]:
    return sorted(file.name for file in EXAMPLES.iterdir())
