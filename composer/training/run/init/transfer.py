"""The transfer of a config: its problems are reported before training, all that are known at a time at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from composer.config.assembly import open_objective
from composer.config.composition import Composed
from composer.core.problems import ConfigError, Problem, Report, UserError, did_you_mean, listed
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.training.run.init.fields import FieldPair, check_settings, chosen_fields, field_pairs, open_with
from composer.training.run.init.graphs import GraphTransfer, take_graphs
from composer.training.run.init.pretrained import Pretrained, source_field
from composer.training.run.init.settings import Init, bind_init, pairs
from composer.training.run.init.weights import Matching

Nodes = list[tuple[str, str]]


@dataclass
class Transfer:
    """What a run takes from another run.

    origin: the other run
    nodes: pairs of a node of the other run and a node of this run
    fields: the fields of this run's data whose state is taken, each with its name in the other run's data
    """

    composed: Composed
    settings: Init
    origin: Pretrained
    nodes: Nodes
    fields: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, composed: Composed) -> Transfer | None:
        """The transfer of a config, with its nodes checked by name; None if the config takes nothing."""
        settings = bind_init(composed.values.get("init"), composed.locate)
        if settings.origin is None:
            return None
        try:
            origin = Pretrained.read(settings.origin, composed.values.get("plugins") or [])
        except UserError as error:
            raise ConfigError([Problem("init.from", str(error))], composed.locate) from error
        made = cls(composed, settings, origin, [])
        report = Report()
        made.nodes = made._named(report) if settings.nodes is not None else made._alike(report)
        if report.problems:
            raise ConfigError(report.problems, composed.locate)
        return made

    @property
    def our_nodes(self) -> Mapping[str, Any]:
        model = self.composed.values.get("model")
        nodes = model.get("nodes") if isinstance(model, Mapping) else None
        return {name: node for name, node in (nodes or {}).items() if isinstance(node, Mapping)}

    def _named(self, report: Report) -> Nodes:
        """The nodes that the config names."""
        assert self.settings.nodes is not None
        nodes = pairs(self.settings.nodes)
        if not nodes:
            report.add("init.nodes", "is empty, so nothing would be taken. Name the nodes, or leave it out.")
        for theirs, ours in nodes:
            if theirs not in self.origin.nodes:
                known = self.origin.nodes
                what = "has no weights" if theirs in self.origin.node_configs else "does not exist"
                report.add(
                    "init.nodes",
                    f"the node '{theirs}' {what} in '{self.origin.given}'.{did_you_mean(theirs, known)}  "
                    f"(nodes with weights: {listed(known)})",
                )
            if ours not in self.our_nodes:
                known_here = self.our_nodes
                report.add(
                    "init.nodes",
                    f"there is no node '{ours}' in this model.{did_you_mean(ours, known_here)}  (nodes: "
                    f"{listed(known_here)})",
                )
        taken = [ours for _, ours in nodes]
        for name in dict.fromkeys(name for name in taken if taken.count(name) > 1):
            report.add("init.nodes", f"'{name}' would take the weights of several nodes. Name one.")
        return nodes

    def _alike(self, report: Report) -> Nodes:
        """All nodes of the same name and kind, and of the heads those that predict a vocabulary that comes along."""
        ours, theirs = self.our_nodes, self.origin.node_configs
        alike = [
            name
            for name in ours
            if name in self.origin.nodes and theirs.get(name, ours[name]).get("kind") == ours[name].get("kind")
        ]
        if not alike:
            report.add(
                "init.from",
                f"no node of '{self.origin.given}' has the name and kind of one here. Name the nodes: "
                f"init.nodes={{theirs: ours}}.  (there: {listed(self.origin.nodes)}; here: {listed(ours)})",
            )
        return [(name, name) for name in alike]

    def pairs(self) -> list[FieldPair]:
        theirs = self.origin.node_configs
        return field_pairs([(a, b) for a, b in self.nodes if a in theirs], theirs, self.our_nodes)

    def states(self, learned: Objective) -> dict[str, Any]:
        """The states of this run's fields that come along, with their vocabularies.

        learned: the objective of this run, over data that has learned its own vocabularies
        """
        if self.settings.nodes is None:
            self._leave_heads(learned)
        if self.origin.objective is None:
            if self.settings.fields:
                message = f"'{self.origin.given}' holds weights only, and no vocabulary to take. Leave it out."
                raise ConfigError([Problem("init.fields", message)], self.composed.locate)
            return {}
        report = Report()
        self.fields = chosen_fields(self.settings.fields, self.pairs(), self.origin, learned, report)
        if not report.problems:
            check_settings(self.composed, self.origin, self.fields, report)
        if report.problems:
            raise ConfigError(report.problems, self.composed.locate)
        assert self.origin.state is not None
        return {ours: self.origin.state[theirs] for ours, theirs in self.fields.items()}

    def _leave_heads(self, learned: Objective) -> None:
        """Leave out heads that predict something else than what the nodes that are taken read."""
        state, ours = learned.source.state(), self.our_nodes
        sources = {
            pair: (self.origin.source_field(pair.theirs), source_field(learned, state, pair.ours))
            for pair in self.pairs()
        }
        read = {both for pair, both in sources.items() if pair.reads and None not in both}
        kept = {pair.node for pair, both in sources.items() if not pair.reads and both in read}
        self.nodes = [(a, b) for a, b in self.nodes if ours[b].get("predicts") is None or b in kept]

    def match(self, meta: Graph, objective: Objective, report: Report) -> dict[str, Tensor]:
        """The tensors that the nodes of a compiled graph take, by their full names."""
        parts = objective.fields, self.pairs(), self.our_nodes, self.settings.partial
        return Matching(meta, self.origin, *parts, report).take(self.nodes)

    def record(self) -> dict[str, Any]:
        """Where the weights came from, as plain data for the checkpoint and run.json."""
        nodes = {ours: theirs for theirs, ours in self.nodes}
        return {**self.origin.record(), "nodes": nodes, "fields": dict(self.fields)}


@dataclass
class Transfers:
    """All that a run takes from other runs.

    nodes: what the section ``init`` takes; None if it takes nothing
    graphs: the graphs of other runs inside nodes of this run
    """

    nodes: Transfer | None
    graphs: list[GraphTransfer]

    @classmethod
    def of(cls, composed: Composed) -> Transfers:
        return cls(Transfer.of(composed), take_graphs(composed))

    def open_objective(self, composed: Composed) -> Objective:
        """The objective of the config, over data that takes the vocabularies that come along."""
        learned = open_objective(composed)
        states = self.nodes.states(learned) if self.nodes is not None else {}
        report = Report()
        for graph in self.graphs:
            for name, state in graph.states(composed, learned, report).items():
                if states.setdefault(name, state) != state:
                    report.add(
                        f"model.nodes.{graph.node}.from",
                        f"'{name}' would take the vocabulary of '{graph.origin.given}' here, and another one "
                        "elsewhere. Declare a second field for the same column.",
                    )
        if report.problems:
            raise ConfigError(report.problems, composed.locate)
        return open_with(composed, learned, states)

    def match(self, meta: Graph, objective: Objective, report: Report) -> dict[str, Tensor]:
        """The tensors that the nodes of a compiled graph take, by their full names."""
        taken: dict[str, Tensor] = {}
        for graph in self.graphs:
            taken |= graph.match(meta, objective, report)
        return taken | (self.nodes.match(meta, objective, report) if self.nodes is not None else {})

    def record(self) -> dict[str, Any] | None:
        """Where the weights came from, as plain data for the checkpoint and run.json; None if all are drawn."""
        nodes = self.nodes.record() if self.nodes is not None else {}
        graphs = {graph.node: graph.record() for graph in self.graphs}
        return nodes | ({"graphs": graphs} if graphs else {}) or None


def taken_fields(record: Mapping[str, Any] | None) -> set[str]:
    """The fields of this run's data that have vocabularies of other runs, from the record in a checkpoint."""
    parts = [record or {}, *(record or {}).get("graphs", {}).values()]
    return {name for part in parts for name in part.get("fields", {})}


def open_run_objective(
    composed: Composed, saved: Mapping[str, Any] | None = None
) -> tuple[Objective, Transfers | None]:
    """The objective of a config, over its data with the vocabularies that it takes from other runs, and the transfers.

    The nodes of the config that name another run's graph receive this graph.

    saved: the checkpoint that a run resumes from. It has the vocabularies, and the other runs are not needed any more.
    """
    if saved is not None:
        taken = {name: saved["source"][name] for name in taken_fields(saved.get("init"))}
        return open_with(composed, open_objective(composed), taken), None
    transfers = Transfers.of(composed)
    return transfers.open_objective(composed), transfers
