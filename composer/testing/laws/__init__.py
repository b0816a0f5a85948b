"""The laws, as functions of a subject. Each raises LawBroken with what was expected and found.

comparison.py    what the laws compare: valid outputs, gradients, the leaves of states
streaming.py     chunks, steps
padding.py       padding
causality.py     causality
rows.py          batch
state.py         none
gradients.py     exactness
portability.py   portability
export.py        export
signals.py       signals
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from composer.testing.laws.causality import causality
from composer.testing.laws.comparison import LawBroken
from composer.testing.laws.export import export
from composer.testing.laws.gradients import exactness
from composer.testing.laws.padding import padding
from composer.testing.laws.portability import portability
from composer.testing.laws.rows import batch
from composer.testing.laws.signals import signal_problems, signals
from composer.testing.laws.state import none
from composer.testing.laws.streaming import chunks, steps
from composer.testing.subjects import Subject

__all__ = ["LAWS", "LawBroken", "broken", "chunks", "hold", "signal_problems"]

#: Every law by name, in the order to read about them.
LAWS: dict[str, Callable[[Subject], None]] = {
    "chunks": chunks,
    "steps": steps,
    "padding": padding,
    "causality": causality,
    "batch": batch,
    "none": none,
    "exactness": exactness,
    "portability": portability,
    "export": export,
    "signals": signals,
}


def hold(subject: Subject, laws: Iterable[str] = tuple(LAWS)) -> None:
    """Raise LawBroken at the first law the subject breaks."""
    for law in laws:
        LAWS[law](subject)


def broken(subject: Subject) -> dict[str, str]:
    """Every law's name, with what is wrong or ''."""
    found = {}
    for name, law in LAWS.items():
        try:
            law(subject)
            found[name] = ""
        except LawBroken as error:
            found[name] = str(error).strip().splitlines()[0]
    return found
