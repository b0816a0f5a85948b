"""The law ``signals``: at initialisation, the sizes of activations and gradients permit learning."""

from __future__ import annotations

from composer.core.problems import Problem
from composer.graph.signal_flow import measure, problems
from composer.testing.laws.compared import LawBroken
from composer.testing.subjects import Subject


def signals(subject: Subject) -> None:
    """At initialisation every input changes every head, and activations and gradients have sizes within limits."""
    found = signal_problems(subject)
    if found:
        count = "1 signal is" if len(found) == 1 else f"{len(found)} signals are"
        messages = "\n".join(problem.message for problem in found)
        raise LawBroken(
            f"{subject.name}: {count} out of bounds, see `python -m composer describe --signals`.\n{messages}"
        )


def signal_problems(subject: Subject) -> list[Problem]:
    """The exceeded limits of the law ``signals``, each with the node to change."""
    return problems(measure(subject.graph))
