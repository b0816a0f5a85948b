"""A measurement as tables of text, and as plain data for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from composer.core.problems import Locate, Problem
from composer.graph.describe import aligned
from composer.graph.signal_flow.limits import INFLUENCE, NEIGHBOURS, TERMS, problems, slot_name
from composer.graph.signal_flow.measurement import Measurement, Size, TermSizes

SIZES = ("node", "size", "gradient", "first step", "last step", "sum of")
INFLUENCES = ("head", "input", "head reads", "head's output")

EXPLANATION = f"""\
Root mean squares at initialisation, over random inputs and targets: of each output, and of the loss's gradient with
respect to the output, over all steps and at the first and last. Limits: the terms of a sum are at most {TERMS:g} times
apart, neighbours and layers {NEIGHBOURS:g} times; an input changes at least {INFLUENCE:g} of what a head reads."""


def table(measured: Measurement) -> str:
    """The sizes of every node and slot, and the influence of every input on every head."""
    lines = [*aligned([SIZES, *_size_rows(measured)], numbers=(1, 2, 3, 4)), ""]
    lines += [*aligned([INFLUENCES, *_influence_rows(measured)], numbers=(2, 3)), "", EXPLANATION]
    if measured.started_at_zero:
        lines += ["", f"Zero at first, drawn at random to be measured: {', '.join(measured.started_at_zero)}."]
    return "\n".join(lines)


def warnings(found: Sequence[Problem], locate: Locate) -> str:
    """The warnings for exceeded limits, each with its place in the config."""
    count = len(found)
    title = f"{count} warning{'s' * (count != 1)} about the signals of this graph:"
    return "\n".join([title, *(problem.render(locate) for problem in found)])


def as_data(measured: Measurement, locate: Locate) -> dict[str, Any]:
    """The measurement and its problems as plain data."""
    data: Mapping[str, Any] = asdict(measured)
    return {key: value for key, value in data.items() if key != "nodes"} | {
        "problems": [
            {"path": problem.path, "place": locate(problem.path), "message": problem.message}
            for problem in problems(measured)
        ]
    }


def _size_rows(measured: Measurement) -> list[tuple[str, ...]]:
    """One row per node, followed by rows for its slots and sums."""
    rows = []
    for node in measured.nodes:
        sizes = {size.slot: size for size in measured.sizes if size.node == node.name}
        sums: dict[str, list[TermSizes]] = {}
        for found in measured.sums:
            if found.node == node.name:
                sums.setdefault(found.slot, []).append(found)
        for slot in dict.fromkeys(["", *sums, *sizes]):
            rows.append(_row(node.name, slot, sizes.get(slot), sums.get(slot, [])))
    return rows


def _row(node: str, slot: str, size: Size | None, sums: Sequence[TermSizes]) -> tuple[str, ...]:
    figures = ("",) * 4 if size is None else tuple(map(_figure, (size.rms, size.gradient, size.first, size.last)))
    return (f"  {slot_name(slot)}" if slot else node, *figures, "; ".join(map(_shares, sums)))


def _shares(found: TermSizes) -> str:
    total = sum(term.rms for term in found.terms) or 1.0
    return " + ".join(f"{term.node or term.name} {term.rms:.2g} ({term.rms / total:.0%})" for term in found.terms)


def _influence_rows(measured: Measurement) -> list[tuple[str, ...]]:
    return [
        (
            found.head,
            f"order of {found.field}" if found.order else found.field,
            f"{found.reads:.2g}",
            f"{found.output:.2g}",
        )
        for found in measured.influences
    ]


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.2g}"
