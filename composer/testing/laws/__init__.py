"""The laws: property tests, as functions of a subject. A law that is broken raises LawBroken with a message.

modes.py           laws that hold in training mode, too: padding, causality, batch
compared.py        what the laws compare: outputs without padding, gradients, the leaves of states
streaming.py       chunks, steps: streaming equals the parallel computation
padding.py         padding: padding changes no result
causality.py       causality: no leak of the future
independence.py    batch: rows are independent, states can be reordered (beam search)
stateless.py       stateless: no state without being asked for; states are immutable
exactness.py       exactness: gradients equal finite differences
portability.py     portability: meta tensors, mixed precision
export.py          export: the exported program gives the same results
initialisation.py  signals: sizes at initialisation are within limits

``python -m composer check`` prints a law's docstring as its description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from composer.testing.laws.causality import causality
from composer.testing.laws.compared import LawBroken
from composer.testing.laws.exactness import exactness
from composer.testing.laws.export import export
from composer.testing.laws.independence import batch
from composer.testing.laws.initialisation import signal_problems, signals
from composer.testing.laws.padding import padding
from composer.testing.laws.portability import portability
from composer.testing.laws.stateless import stateless
from composer.testing.laws.streaming import chunks, steps
from composer.testing.subjects import Subject

__all__ = ["LAWS", "LawBroken", "broken", "chunks", "hold", "signal_problems"]

#: Every law by name, in the order in which they are shown.
LAWS: dict[str, Callable[[Subject], None]] = {
    "chunks": chunks,
    "steps": steps,
    "padding": padding,
    "causality": causality,
    "batch": batch,
    "stateless": stateless,
    "exactness": exactness,
    "portability": portability,
    "export": export,
    "signals": signals,
}

#: Names that laws had before, which are still accepted, each with the name of today.
FORMER = {"none": "stateless"}


def hold(subject: Subject, laws: Iterable[str] = tuple(LAWS)) -> None:
    """Raise LawBroken at the first law the subject breaks."""
    for law in laws:
        LAWS[FORMER.get(law, law)](subject)


def broken(subject: Subject, laws: Iterable[str] = tuple(LAWS)) -> dict[str, str]:
    """Every law's name, with the error message, or '' if the law holds."""
    found = {}
    for name in laws:
        try:
            LAWS[FORMER.get(name, name)](subject)
            found[name] = ""
        except LawBroken as error:
            found[name] = str(error).strip().splitlines()[0]
    return found
