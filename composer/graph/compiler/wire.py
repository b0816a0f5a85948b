"""Pass 2: resolve ports and edges. Missing, unknown, cyclic and dangling edges are errors; then sort the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from composer.core.block import Reference
from composer.core.problems import Report, did_you_mean, listed
from composer.core.signals import Field
from composer.graph.nodes import Node


def wire(nodes: dict[str, Node], fields: Mapping[str, Field], path: str, report: Report) -> list[Node]:
    """The nodes with their edges resolved, in topological order."""
    for name in nodes:
        if name in fields:
            report.add(nodes[name].path, f"'{name}' is already the name of a field of the data. Rename the node.")
    wired = {name: _wire_node(node, nodes, fields, report) for name, node in nodes.items()}
    _check_use(wired, path, report)
    return _in_order(wired, report)


def _wire_node(node: Node, nodes: Mapping[str, Node], fields: Mapping[str, Field], report: Report) -> Node:
    here, before = f"{node.path}.from", len(report.problems)
    sources = _sources(node, here, report)
    known = [*fields, *nodes]
    for port, names in sources.items():
        for source in names:
            if source not in known:
                place = here if len(sources) == 1 else f"{here}.{port}"
                hint = did_you_mean(source, known)
                report.add(place, f"there is no node or input '{source}'.{hint}  (known: {listed(known)})")
            elif source in fields and fields[source].kind == "label":
                report.add(here, f"'{source}' is a label: it can be predicted, but no block reads one.")
    if node.bound is not None:
        _check_predicts(node, fields, report)
        for knob, value in node.recipe.knobs.items():
            if isinstance(value, Reference) and (value not in nodes or value == node.name):
                hint = did_you_mean(value, nodes)
                report.add(f"{node.path}.{knob}", f"there is no other node '{value}'.{hint}  (nodes: {listed(nodes)})")
    sound = node.bound is not None and len(report.problems) == before
    return replace(node, sources=sources, sound=sound)


def _sources(node: Node, here: str, report: Report) -> dict[str, tuple[str, ...]]:
    """The sources of each port, from the node's 'from'. A name without a port goes to the first port."""
    raw = node.sources
    if node.bound is None:  # its ports are unknown; the edges are kept for ``_check_use``
        values = raw.values() if isinstance(raw, Mapping) else [raw]
        flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
        return {"x": tuple(item for item in flat if isinstance(item, str))}
    ports = node.recipe.signature.ports
    owner = f"'{node.recipe.name}'"
    if raw is None:
        report.add(node.path, f"{owner} reads nothing: add 'from: ...' with the name of a node or an input.")
        return {}
    if not isinstance(raw, Mapping):
        raw = {node.recipe.signature.first.name: raw}
    sources: dict[str, tuple[str, ...]] = {}
    raw = {name: value for name, value in raw.items() if value is not None}  # null removes a template's edge
    for name, value in raw.items():
        port = ports.get(name)
        names = value if isinstance(value, list) else [value]
        if port is None:
            report.add(
                f"{here}.{name}", f"{owner} has no port '{name}'.{did_you_mean(name, ports)}  (has: {listed(ports)})"
            )
        elif not names or not all(isinstance(item, str) for item in names):
            report.add(here, f"expected the name of a node or an input, found {value!r}.")
        elif len(names) > 1 and not port.variadic:
            report.add(
                here, f"the port '{name}' of {owner} takes one source, found {len(names)}. Join them in a merge."
            )
        else:
            sources[name] = tuple(names)
    missing = [port.name for port in ports.values() if not port.optional and port.name not in raw]
    if missing:
        report.add(here, f"{owner} also needs '{missing[0]}': write from: {{{missing[0]}: ...}}.")
    return sources


def _check_predicts(node: Node, fields: Mapping[str, Field], report: Report) -> None:
    here, recipe = f"{node.path}.predicts", node.recipe
    target = recipe.signature.target
    if target is None:
        if node.predicts is not None:
            report.add(here, f"'{recipe.name}' is no head, so it predicts nothing. Remove it.")
    elif not isinstance(node.predicts, str) or node.predicts not in fields:
        found = "does not say what it predicts" if node.predicts is None else f"the data has no field '{node.predicts}'"
        report.add(here, f"{found}.{did_you_mean(node.predicts, fields)}  (fields: {listed(fields)})")
    elif (kind := fields[node.predicts].kind) not in target.kinds:
        report.add(
            here,
            f"'{node.predicts}' is of kind {kind}, but '{recipe.name}' predicts {listed(target.kinds)}. "
            "Use another head.",
            origin=f"{node.path}.type",
        )


def _check_use(nodes: dict[str, Node], path: str, report: Report) -> None:
    """Check that every node is a head or is read by another node, and that there is a head."""
    read = {source for node in nodes.values() for names in node.sources.values() for source in names}
    for node in nodes.values():
        if node.bound is not None:
            read.update(value for value in node.recipe.knobs.values() if isinstance(value, Reference))
    heads = [n for n in nodes.values() if n.bound is not None and n.recipe.signature.target is not None]
    for node in nodes.values():
        if node.name not in read and node not in heads and node.bound is not None:
            report.add(node.path, "nothing reads this node, so it has no effect. Connect it, or remove it.")
    if nodes and not heads and all(node.bound is not None for node in nodes.values()):
        report.add(path, "has no head, so there is nothing to predict. Add one, e.g. {kind: head, type: categorical}.")


def _in_order(nodes: dict[str, Node], report: Report) -> list[Node]:
    """Topological order, with ties in the order of the YAML; a cycle is reported, and its nodes are left out."""
    edges = {name: [read for read in node.reads if read in nodes] for name, node in nodes.items()}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle = error.args[1]
        report.add(f"{nodes[cycle[0]].path}.from", f"the edges run in a circle: {' -> '.join(cycle)}. Remove one.")
    ordered: list[Node] = []
    waiting = dict(nodes)
    while free := next((node for node in waiting.values() if waiting.keys().isdisjoint(node.reads)), None):
        ordered.append(waiting.pop(free.name))
    return ordered
