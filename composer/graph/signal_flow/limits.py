"""The limits of the law ``signals``, and the messages for a graph that exceeds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import permutations
from operator import attrgetter
from typing import Any

from composer.core.problems import Locate, Problem
from composer.graph.signal_flow.measurement import Measurement, Size, Term, TermSizes
from composer.graph.signal_flow.sizes import times

#: How many times larger one term of a sum may be than another.
TERMS = 4.0

#: The largest ratio between activations, or gradients, of neighbouring nodes and of the layers of one stack.
NEIGHBOURS = 100.0

#: The smallest influence that an input has to have on what a head reads: the same factor of a hundred.
INFLUENCE = 1 / NEIGHBOURS


def problems(measured: Measurement) -> list[Problem]:
    """Every limit that is exceeded, with the node to change."""
    return [*_sums(measured), *_layers(measured), *_neighbours(measured), *_influences(measured)]


def warnings(found: Sequence[Problem], locate: Locate) -> str:
    """The warnings for exceeded limits, each with its place in the config."""
    count = len(found)
    title = f"{count} warning{'s' * (count != 1)} about the signals of this graph:"
    return "\n".join([title, *(problem.render(locate) for problem in found)])


def as_data(measured: Measurement, locate: Locate) -> dict[str, Any]:
    """The measurement and its problems as plain data."""
    found = [problem.as_data(locate) for problem in problems(measured)]
    return {key: value for key, value in asdict(measured).items() if key != "nodes"} | {"problems": found}


def _sums(measured: Measurement) -> Iterator[Problem]:
    """Sums whose terms are too far apart; of the same sum in several layers, the layer with the largest ratio."""
    like: dict[tuple[str, ...], list[tuple[float, TermSizes, Term, Term]]] = {}
    for found in measured.sums:
        for large, small in permutations(found.terms, 2):
            ratio = times(large.rms, small.rms)
            if not small.small and not ratio <= TERMS:
                layer_free = slot_name(found.slot).rpartition(", ")[2]
                same = like.setdefault((found.node, layer_free, large.name, small.name), [])
                same.append((ratio, found, large, small))
    for same in like.values():
        ratio, found, large, small = max(same, key=lambda one: one[0])
        message = _sum_message(found, large, small, ratio, len(same) - 1)
        yield Problem(_place(measured, small.node or found.node), message)


def _sum_message(found: TermSizes, large: Term, small: Term, ratio: float, more: int) -> str:
    one, other = (f"'{term.node}'" if term.node is not None else f"the {term.name}" for term in (small, large))
    where = f"'{found.node}'" + (f", {slot_name(found.slot)}" if found.slot else "")
    where += f" and {more} more" if more else ""
    verb, it = ("are", "them") if one.endswith("s") else ("is", "it")  # the name of a node ends in a quotation mark
    return (
        f"{one} {verb} {_shown(ratio)} times smaller than {other} added to {it} (in {where}: {small.rms:.2g} and "
        f"{large.rms:.2g}; at most {TERMS:g} times). Draw larger weights for {one} or smaller ones for {other}, put a "
        f"norm behind {one}, or set the two side by side instead of adding them."
    )


def _layers(measured: Measurement) -> Iterator[Problem]:
    """Sizes too far apart within one node: the slots of all its layers, and its own output."""
    for node in measured.nodes:
        sizes = [size for size in measured.sizes if size.node == node.name]
        if len(sizes) < 2:
            continue
        for what, of in QUANTITIES.items():
            low, high = min(sizes, key=of), max(sizes, key=of)
            if not times(of(high), of(low)) <= NEIGHBOURS:
                ratio = _shown(times(of(high), of(low)))
                yield Problem(
                    node.path,
                    f"the size of the {what} of '{node.name}' is {of(high):.2g} at {slot_name(high.slot)} and "
                    f"{of(low):.2g} at {slot_name(low.slot)}: {ratio} times apart ({NEIGHBOURS:g} at most). Use "
                    "residual connections and a norm, fewer layers, or a block that keeps the size of what it reads.",
                )


def _neighbours(measured: Measurement) -> Iterator[Problem]:
    """Sizes too far apart between a node and a node that it reads."""
    outputs = {size.node: size for size in measured.sizes if not size.slot}
    for node in measured.nodes:
        for source in node.inputs:
            if source not in outputs:
                continue
            for what, of in QUANTITIES.items():
                one, other = of(outputs[node.name]), of(outputs[source])
                if not times(max(one, other), min(one, other)) <= NEIGHBOURS:
                    yield Problem(
                        node.path,
                        f"the size of the {what} of '{node.name}' is {one:.2g}, and of '{source}', which it reads, "
                        f"{other:.2g}: more than {NEIGHBOURS:g} times apart. Put a norm between the two, or scale the "
                        f"weights of '{node.name}'.",
                    )


def _influences(measured: Measurement) -> Iterator[Problem]:
    for found in measured.influences:
        if not found.order and not found.reads >= INFLUENCE:
            reader = next(node for node in measured.nodes if found.field in node.inputs)
            yield Problem(
                reader.path,
                f"'{found.field}' hardly moves '{found.head}': another '{found.field}' changes what '{found.head}' "
                f"reads by {found.reads:.1g} of its size (at least {INFLUENCE:g}). Draw larger weights for "
                f"'{reader.name}', which reads '{found.field}', or for what lies between the two.",
            )


QUANTITIES: dict[str, Callable[[Size], float]] = {"activation": attrgetter("rms"), "gradient": attrgetter("gradient")}


def slot_name(slot: str) -> str:
    """A readable name for a module inside a node: 'layers.0.mixer' -> 'layer 1, mixer'."""
    words = [word for word in slot.split(".") if word not in ("call", "block")]
    if not slot:
        return "its output"
    if words[0] == "layers" and len(words) > 1:
        words[:2] = [f"layer {int(words[1]) + 1}"]
    return ", ".join(words)


def _place(measured: Measurement, name: str) -> str:
    return next(node.path for node in measured.nodes if node.name == name)


def _shown(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
