"""Tables of a graph for the terminal: of what it is and costs, and of the sizes of its signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.core.capabilities import offers
from composer.core.showing.short_table import ShortTable
from composer.graph.describe import count_parameters, family, human, shown_shape, shown_sizes
from composer.graph.graph import Graph
from composer.graph.signal_flow.limits import INFLUENCE, NEIGHBOURS, TERMS, slot_name
from composer.graph.signal_flow.measurement import Measurement, Size, TermSizes
from composer.views.tables import Column, filled, text_table

Columns = tuple[Column | str, ...]

NUMBERS = [Column(heading, right=True) for heading in ("parameters", "FLOPs", "state")]
GRAPH: Columns = ("node", "block", "output", *NUMBERS)

FIGURES = [Column(heading, right=True) for heading in ("size", "gradient", "first step", "last step")]
SIZES: Columns = ("node", *FIGURES, "sum of")
INFLUENCES: Columns = ("head", "input", Column("head reads", right=True), Column("head's output", right=True))

EXPLANATION = f"""\
Root mean squares at initialisation, over random inputs and targets: of each output, and of the loss's gradient with
respect to the output, over all steps and at the first and last. Limits: the terms of a sum are at most {TERMS:g} times
apart, neighbours and layers {NEIGHBOURS:g} times; an input changes at least {INFLUENCE:g} of what a head reads."""


def graph_table(summary: Mapping[str, Any]) -> str:
    """The summary of a graph: every node with its block, output, size and cost, then how the graph runs."""
    rows = [row for node in summary["nodes"] for row in _node_rows(node)]
    totals = summary["totals"]
    figures = (f"{totals['parameters']:,}", human(totals["flops_per_token"]), human(totals["state_bytes"], "B"))
    table = text_table(GRAPH, rows, totals=[("total", "", "", *figures)])
    once, streams = ([n["name"] for n in summary["nodes"] if n["runs"] == runs] for runs in ("once", "streams"))
    notes = "Runs once: every node. Nothing is generated."
    if streams:
        notes = f"Runs once: {', '.join(once) or 'nothing'}. Streams, step by step: {', '.join(streams)}."
    return "\n".join([filled(_headline(summary)), "", table, "", filled(notes), filled(_units(summary))])


def _units(summary: Mapping[str, Any]) -> str:
    return f"FLOPs are those of a token, and the state that of one sequence of {summary['length']} steps."


def _headline(summary: Mapping[str, Any]) -> str:
    inputs = [f"{i['name']} {shown_shape(i)}{' (generated)' * i['generated']}" for i in summary["inputs"]]
    targets = [f"{node['name']} predicts {node['predicts']}" for node in summary["nodes"] if node["predicts"]]
    return f"{summary['family']}: reads {', '.join(inputs)}; {', '.join(targets)}."


def _node_rows(node: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One row for the node, and one more for every further kind of layers inside the node."""
    first, *rest = node["contents"] or [node["block"]]
    state = human(node["state_bytes"], "B") if node["runs"] == "streams" else ""
    figures = (f"{node['parameters']:,}", human(node["flops_per_token"]), state)
    return [
        (node["name"], first, shown_sizes(node["output"]), *figures),
        *(("", more, "", "", "", "") for more in rest),
    ]


def node_table(graph: Graph) -> ShortTable:
    """What a graph is, without its costs: every node with its block, what it reads and its parameters."""
    seen: set[int] = set()
    rows = []
    for node in graph.plan.nodes:
        module: Any = graph.nodes[node.name]
        blocks = (module.contents() if offers(module, "contents") else []) or [node.recipe.name]
        rows.append((node.name, blocks[0], ", ".join(node.inputs), f"{count_parameters(module, seen):,}"))
        rows += [("", more, "", "") for more in blocks[1:]]
    given = [f"{name} (generated)" if name in graph.plan.generated else name for name in graph.plan.inputs]
    heads = ", ".join(f"{head.name} predicts {head.predicts}" for head in graph.heads)
    title = f"{family(graph)}: reads {', '.join(given)}; {heads}."
    return ShortTable(title, ("node", "block", "from", "parameters"), rows, ("parameters",))


def summary_table(summary: Mapping[str, Any]) -> ShortTable:
    """What ``graph_table`` shows, for a notebook."""
    rows = [row for node in summary["nodes"] for row in _node_rows(node)]
    totals = summary["totals"]
    figures = (f"{totals['parameters']:,}", human(totals["flops_per_token"]), human(totals["state_bytes"], "B"))
    headings = [column.heading if isinstance(column, Column) else column for column in GRAPH]
    note = _units(summary)
    right = [column.heading for column in NUMBERS]
    return ShortTable(_headline(summary), headings, [*rows, ("total", "", "", *figures)], right, (note,))


def signal_table(measured: Measurement) -> str:
    """The sizes of every node and slot, and the influence of every input on every head."""
    influences = [
        (each.head, f"order of {each.field}" if each.order else each.field, _figure(each.reads), _figure(each.output))
        for each in measured.influences
    ]
    tables = [text_table(SIZES, _size_rows(measured)), text_table(INFLUENCES, influences), filled(EXPLANATION)]
    if measured.started_at_zero:
        tables.append(f"Zero at first, drawn at random to be measured: {', '.join(measured.started_at_zero)}.")
    return "\n\n".join(tables)


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
            rows.append(_size_row(node.name, slot, sizes.get(slot), sums.get(slot, [])))
    return rows


def _size_row(node: str, slot: str, size: Size | None, sums: Sequence[TermSizes]) -> tuple[str, ...]:
    figures = ("",) * 4 if size is None else tuple(map(_figure, (size.rms, size.gradient, size.first, size.last)))
    return (f"  {slot_name(slot)}" if slot else node, *figures, "; ".join(map(_shares, sums)))


def _shares(found: TermSizes) -> str:
    total = sum(term.rms for term in found.terms) or 1.0
    return " + ".join(f"{term.node or term.name} {term.rms:.2g} ({term.rms / total:.0%})" for term in found.terms)


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.2g}"
