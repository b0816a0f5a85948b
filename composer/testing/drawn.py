"""A block tested by all laws in random configurations, as ``python -m composer check --block`` does."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Unsatisfiable
from torch import nn

from composer.core.problems import UserError
from composer.testing.defaults import default_subject
from composer.testing.laws import LAWS, LawBroken
from composer.testing.strategies import subjects_of
from composer.testing.subjects import Subject

#: The number of random configurations for each law, and for the law ``export``: torch.export takes a second each.
EXAMPLES, EXPORTS = 20, 3


def broken_by(block: type[nn.Module], *, seed: int = 0) -> dict[str, str]:
    """Every law's name, with '' or a message: the error, and the simplest configuration found that breaks the law.

    The law ``signals`` is about a block at initialisation with its defaults, so it tests that configuration alone.
    """
    return {law: _broken(law, block, seed) for law in LAWS}


def _broken(law: str, block: type[nn.Module], seed: int) -> str:
    tested: list[Subject] = []

    def obeys(subject: Subject) -> None:
        tested.append(subject)
        LAWS[law](subject)

    try:
        obeys(default_subject(block)) if law == "signals" else _every_drawn(block, obeys, law, seed)
    except LawBroken as error:  # hypothesis shrinks: the last subject it tries is the simplest that fails
        return f"{str(error).strip().splitlines()[0]}  In {tested[-1]!r}"
    return ""


def _every_drawn(block: type[nn.Module], obeys: Callable[[Subject], None], law: str, seed: int) -> None:
    drawn = given(subjects_of(block))(obeys)
    bounded = settings(
        max_examples=EXPORTS if law == "export" else EXAMPLES, database=None, deadline=None,
        report_multiple_bugs=False, suppress_health_check=list(HealthCheck),
    )(drawn)  # fmt: skip
    try:
        seeded(seed)(bounded)()
    except Unsatisfiable:
        raise UserError(
            f"no configuration that was drawn of {block.__name__} can be built. "
            "Name values that go together on the class: example = {...}"
        ) from None
