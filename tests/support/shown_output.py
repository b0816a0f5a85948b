"""Does a page show what its commands print? Words exactly, figures nearly, and what depends on the machine not."""

import re
from itertools import zip_longest

import pytest

#: Columns whose values depend on the machine and on what else it does.
OF_THE_MACHINE = ("seconds", "tokens/s", "peak memory")

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?=[kMGB]|\b)")
SECONDS = re.compile(r"\b[\d.]+ s$")

#: How far a figure may be from the one shown, as a share of it: arithmetic differs between processors.
NEAR = 0.25


def assert_shows(shown, found):
    """Assert that a page's output is the one found, up to figures that a reader would call the same."""
    texts = [_without_the_machine(text) for text in (shown, found)]
    words = [NUMBER.sub("#", text).split() for text in texts]
    assert words[0] == words[1]
    figures = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in texts]
    assert figures[1] == pytest.approx(figures[0], rel=NEAR, abs=0.01)


def _without_the_machine(text):
    """The text without rules, seconds, and the cells of columns that depend on the machine."""
    kept, columns = [], ()
    for line in text.splitlines():
        if set(line) <= {"-"}:
            continue
        cells = re.split(r" {2,}", line.strip())
        if set(cells) & set(OF_THE_MACHINE):
            columns = cells
        if columns and len(cells) >= len(columns):  # a row may end with a word more, such as "pruned"
            cells = [cell for cell, column in zip_longest(cells, columns) if column not in OF_THE_MACHINE]
        kept.append(SECONDS.sub("s", " ".join(cells)))
    return "\n".join(kept)
