"""Graphs of other runs inside nodes of this one (ELMo): their configs, vocabularies and weights.

A node whose block has a knob of type ``TrainedGraph`` names another run by its path. The path is replaced in the config
by the other run's graph as plain data, which the checkpoint keeps. The field that the node reads takes the vocabulary
of the field that the other graph was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from composer.config.composition import Composed
from composer.core import registry
from composer.core.problems import ConfigError, Invalid, Report, UserError, show_value
from composer.core.program import CONF
from composer.graph.graph import Graph
from composer.graph.trained import TrainedGraph, graph_knob
from composer.objectives import Objective
from composer.training.run.init.fields import check_settings, other_token, sources_of
from composer.training.run.init.pretrained import Pretrained, source_field
from composer.training.run.init.settings import node_configs


@dataclass
class GraphTransfer:
    """The graph of another run that a node of this run takes in.

    node: the node of this run
    reads: the field of this run's graph that the node reads; None if it reads none, which the compiler reports
    theirs: the field of the other run's graph that its stacks read
    fields: the field of this run's data whose state is taken, with its name in the other run's data
    """

    node: str
    reads: str | None
    origin: Pretrained
    theirs: str
    fields: dict[str, str] = field(default_factory=dict)

    def states(self, composed: Composed, learned: Objective, report: Report) -> dict[str, Any]:
        """The states of this run's fields that are taken from the other run.

        learned: the objective of this run, over data that has learned its own vocabularies
        """
        state, there = learned.source.state(), self.origin.source_field(self.theirs)
        here = source_field(learned, state, self.reads) if self.reads in learned.fields else None
        if there is None or here is None:
            return {}
        theirs, ours = self.origin.learned(there), state[here]
        if not _same_type(theirs, ours):
            report.add(
                f"model.nodes.{self.node}.from",
                f"'{here}' is {_type(ours)}, but '{there}' of '{self.origin.given}', whose vocabulary it has to take, "
                f"is {_type(theirs)}. Declare a field of that type.",
            )
            return {}
        self.fields = {here: there}
        check_settings(composed, self.origin, self.fields, report)
        return {here: theirs}

    def match(self, meta: Graph, objective: Objective, report: Report) -> dict[str, Tensor]:
        """The other run's tensors for the graph inside the node, by their full names in this run."""
        there, here = self.origin.fields[self.theirs], objective.fields.get(self.reads or "")
        if here is not None and (token := other_token(there, here, self.origin.given)) is not None:
            hint = "Let the node read a field that no other run's vocabulary is taken for."
            report.add(f"model.nodes.{self.node}.from", f"reads '{self.reads}', whose {token}. {hint}")
        module = meta.nodes[self.node]
        prefix, inside = next((name, part) for name, part in module.named_modules() if isinstance(part, Graph))
        taken: dict[str, Tensor] = {}
        for full, own in inside.state_dict().items():
            _, node, name = full.split(".", 2)
            tensor = self.origin.nodes.get(node, {}).get(name)
            if tensor is None or tensor.shape != own.shape:
                found = "nothing" if tensor is None else tuple(tensor.shape)
                message = f"'{self.origin.file}' has {found} for '{full}', but its own config {tuple(own.shape)}."
                report.add(f"model.nodes.{self.node}.run", f"{message} Take a whole checkpoint.")
                return {}
            taken[f"nodes.{self.node}.{prefix}.{full}"] = tensor
        return taken

    def record(self) -> dict[str, Any]:
        return {**self.origin.record(), "fields": dict(self.fields)}


def take_graphs(composed: Composed) -> list[GraphTransfer]:
    """The other runs whose graphs a config takes in. The config's nodes receive these graphs in place of the paths."""
    found = []
    with Report.raised(composed.locate) as report:
        for name, node, knob in _nodes(composed):
            path, where = node.get(knob), f"model.nodes.{name}"
            path = path.get("path") if isinstance(path, Mapping) else path
            if path is None:
                continue  # the compiler reports it
            if not isinstance(path, str) or not path:
                expected = f"expected the folder of a run or its checkpoint, found {show_value(path)}."
                report.add(f"{where}.{knob}", expected)
                continue
            try:
                origin = Pretrained.read(path, composed.values.get("plugins") or [])
                trained = _trained(origin)
                stacks = trained.stacks(trained.compile(), node.get("read"))
            except Invalid as error:
                report.add(f"{where}.{error.parameter}", error.message)
            except UserError as error:
                report.add(f"{where}.{knob}", f"{error}{_what_first(composed, path, f'{where}.{knob}')}")
            else:
                node[knob] = trained.plain()
                found.append(GraphTransfer(name, _reads(node), origin, stacks[0].field))
    return found


def _what_first(composed: Composed, given: str, key: str) -> str:
    """What to do about a run that does not exist; nothing if its path exists."""
    path = Path(given).expanduser()
    if path.exists():
        return ""
    runs = "" if path.parent == Path(str(composed.values["runs"])) else f"runs={path.parent} "
    shipped = (CONF / "experiment" / f"{path.name}.yaml").is_file()
    experiment = f"experiment={path.name} " if shipped else "... "
    return f" Train that run first: python train.py {experiment}{runs}name={path.name}. Or set {key} to another run."


def takes_graphs(composed: Composed) -> bool:
    """Whether a node of a config takes in the graph of another run."""
    return any(True for _ in _nodes(composed))


def _nodes(composed: Composed) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The nodes whose blocks take in a graph: name, config, and the knob of the graph."""
    for name, node in node_configs(composed).items():
        if node.get("kind") in registry.kinds():
            kind = node.get("type") or node["kind"]
            block = registry.blocks(node["kind"]).get(kind) if isinstance(kind, str) else None
            if block is not None and (knob := graph_knob(block)) is not None:
                yield name, node, knob


def _trained(origin: Pretrained) -> TrainedGraph:
    if origin.objective is None:
        raise UserError(f"'{origin.given}' holds weights only, and no graph. Give the run's folder or its checkpoint.")
    objective = origin.objective
    copies = {name: next(iter(made)) for name in objective.fields if len(made := objective.needs({name})) == 1}
    try:
        return TrainedGraph.of(origin.given, origin.node_configs, objective.fields, copies, objective.reversed_fields)
    except ConfigError as error:
        first = error.problems[0]
        raise UserError(f"the graph of '{origin.given}' does not compile: {first.path}: {first.message}") from error


def _reads(node: Mapping[str, Any]) -> str | None:
    """The one name that a node reads."""
    names = next(iter(sources_of(node, ()).values()), [])
    return names[0] if len(names) == 1 else None


def _same_type(theirs: Any, ours: Any) -> bool:
    """Whether a field can take the state of another: of the same type, or words that of a text cut into words."""
    if not isinstance(theirs, Mapping) or not isinstance(ours, Mapping):
        return type(theirs) is type(ours)
    return ("tokeniser" in theirs) == ("tokeniser" in ours) or ("tokens" in ours and _cut(theirs) == "words")


def _cut(state: Mapping[str, Any]) -> str | None:
    """The type of a text's tokeniser."""
    return state["tokeniser"]["options"]["type"] if "tokeniser" in state else None


def _type(state: Any) -> str:
    cut = _cut(state) if isinstance(state, Mapping) else None
    return "a field of words" if cut is None else f"a text with the tokeniser '{cut}'"
