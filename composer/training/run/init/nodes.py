"""The nodes that the section ``init`` takes from another run: their names, their vocabularies and their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Size, Tensor, nn

from composer.config.composition import Composed
from composer.core.problems import ConfigError, Problem, Report, UserError, did_you_mean, listed
from composer.core.signals import Field
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.training.run.init.fields import FieldPair, check_settings, chosen_fields, field_pairs, other_token
from composer.training.run.init.pretrained import Pretrained, source_field
from composer.training.run.init.settings import Init, bind_init, node_configs, pairs

Nodes = list[tuple[str, str]]


@dataclass
class NodeTransfer:
    """
    origin: the other run
    nodes: pairs of a node of the other run and a node of this run
    fields: the fields of this run's data whose state is taken, each with its name in the other run's data
    """

    composed: Composed
    settings: Init
    origin: Pretrained
    nodes: Nodes = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, composed: Composed) -> NodeTransfer | None:
        """The transfer of a config, with its nodes checked by name; None if the config takes nothing."""
        settings = bind_init(composed.values.get("init"), composed.locate)
        if settings.origin is None:
            return None
        try:
            origin = Pretrained.read(settings.origin, composed.values.get("plugins") or [])
        except UserError as error:
            raise ConfigError([Problem("init.from", str(error))], composed.locate) from error
        made = cls(composed, settings, origin)
        with Report.raised(composed.locate) as report:
            made.nodes = made._alike(report) if settings.nodes is None else made._named(pairs(settings.nodes), report)
        return made

    def _named(self, nodes: Nodes, report: Report) -> Nodes:
        """The nodes that the config names."""
        there, here, given = self.origin.nodes, node_configs(self.composed), self.origin.given
        if not nodes:
            report.add("init.nodes", "is empty, so nothing would be taken. Name the nodes, or leave it out.")
        for theirs, ours in nodes:
            if theirs not in there:
                what = "has no weights" if theirs in self.origin.node_configs else "does not exist"
                hint = f"{did_you_mean(theirs, there)}  (nodes with weights: {listed(there)})"
                report.add("init.nodes", f"the node '{theirs}' {what} in '{given}'.{hint}")
            if ours not in here:
                hint = f"{did_you_mean(ours, here)}  (nodes: {listed(here)})"
                report.add("init.nodes", f"there is no node '{ours}' in this model.{hint}")
        for name, count in Counter(ours for _, ours in nodes).items():
            if count > 1:
                report.add("init.nodes", f"'{name}' would take the weights of several nodes. Name one.")
        return nodes

    def _alike(self, report: Report) -> Nodes:
        """All nodes of the same name and kind; heads are left out later (``_leave_heads``)."""
        ours, theirs = node_configs(self.composed), self.origin.node_configs
        alike = [
            (name, name)
            for name, node in ours.items()
            if name in self.origin.nodes and theirs.get(name, node).get("kind") == node.get("kind")
        ]
        if not alike:
            report.add(
                "init.from",
                f"no node of '{self.origin.given}' has the name and kind of one here. Name the nodes: "
                f"init.nodes={{theirs: ours}}.  (there: {listed(self.origin.nodes)}; here: {listed(ours)})",
            )
        return alike

    def pairs(self) -> list[FieldPair]:
        theirs = self.origin.node_configs
        return field_pairs([(a, b) for a, b in self.nodes if a in theirs], theirs, node_configs(self.composed))

    def states(self, learned: Objective) -> dict[str, Any]:
        """The states of this run's fields that come along, with their vocabularies.

        learned: the objective of this run, over data that has learned its own vocabularies
        """
        if self.settings.nodes is None:
            self._leave_heads(learned)
        with Report.raised(self.composed.locate) as report:
            if self.origin.objective is not None:
                self.fields = chosen_fields(self.settings.fields, self.pairs(), self.origin, learned, report)
            elif self.settings.fields:
                message = f"'{self.origin.given}' holds weights only, and no vocabulary to take. Leave it out."
                report.add("init.fields", message)
        with Report.raised(self.composed.locate) as report:
            check_settings(self.composed, self.origin, self.fields, report)
        return {ours: self.origin.learned(theirs) for ours, theirs in self.fields.items()}

    def _leave_heads(self, learned: Objective) -> None:
        """Leave out heads that predict something else than what the nodes that are taken read."""
        state, ours = learned.source.state(), node_configs(self.composed)
        sources = {
            pair: (self.origin.source_field(pair.theirs), source_field(learned, state, pair.ours))
            for pair in self.pairs()
        }
        read = {both for pair, both in sources.items() if pair.reads and None not in both}
        kept = {pair.node for pair, both in sources.items() if not pair.reads and both in read}
        self.nodes = [(a, b) for a, b in self.nodes if ours[b].get("predicts") is None or b in kept]

    def match(self, meta: Graph, objective: Objective, report: Report) -> dict[str, Tensor]:
        """The tensors that the nodes of a compiled graph take, by their full names.

        The vocabularies of both runs may differ in tokens at their end, such as the [MASK] that an objective adds: then
        the rows of the tokens that both have are taken, and the other rows stay as they were initialised.
        """
        taken: dict[str, Tensor] = {}
        there, here = self.origin.fields, objective.fields
        pairs = [pair for pair in self.pairs() if pair.theirs in there and pair.ours in here]
        for theirs, ours in self.nodes:
            fields = [(pair, there[pair.theirs], here[pair.ours]) for pair in pairs if pair.node == ours]
            differences = [found for each in fields if (found := self._difference(*each)) is not None]
            for difference in differences:
                report.add(f"model.nodes.{ours}", difference)
            if not differences:
                sizes = [(len(a.contents.tokens or ()), len(b.contents.tokens or ())) for _, a, b in fields]
                taken |= self._tensors(theirs, ours, meta.nodes[ours].state_dict(), sizes, report)
        self._check_tied(meta, taken, report)
        return taken

    def _difference(self, pair: FieldPair, there: Field, here: Field) -> str | None:
        """How a field of another kind, or one in which a token has another number, is reported."""
        what = f"{'reads' if pair.reads else 'predicts'} '{pair.ours}'"
        if there.kind != here.kind:
            return (
                f"{what}, of kind {here.kind}, but in '{self.origin.given}' it is of kind {there.kind}. Do not take "
                "this node."
            )
        if (token := other_token(there, here, self.origin.given)) is None:
            return None
        return (
            f"{what}, whose {token}, so the weights would mean something else. Let the vocabulary come along "
            "(init.fields=null), or do not take this node."
        )

    def _tensors(
        self, theirs: str, ours: str, mine: Mapping[str, Tensor], sizes: Collection[tuple[int, int]], report: Report
    ) -> dict[str, Tensor]:
        """The tensors of a node, by their full names; none if some of them do not fit.

        mine: the node's tensors in this run
        sizes: of the vocabularies that the node reads or predicts, in both runs. A tensor may have a row for each token
        """
        given = self.origin.nodes[theirs]
        common = [name for name in mine if name in given]
        lacking, extra = [n for n in mine if n not in given], [n for n in given if n not in mine]
        differ = [n for n in common if not _fits(given[n].shape, mine[n].shape, sizes)]
        complaints = [f"'{n}' is {tuple(mine[n].shape)} here and {tuple(given[n].shape)} there" for n in differ[:3]]
        complaints += [f"{len(differ) - 3} more differ"] if len(differ) > 3 else []
        if not common or not self.settings.partial:
            complaints += [f"there is no {listed(lacking, 3)} there"] if lacking else []
            complaints += [f"there is no {listed(extra, 3)} here"] if extra else []
        if not complaints:
            return {f"nodes.{ours}.{name}": given[name] for name in common}
        allowed = " Or set init.partial=true to take what both have." if common and not differ else ""
        found = f"cannot take the weights of '{theirs}' of '{self.origin.given}': {'; '.join(complaints)}."
        report.add(f"model.nodes.{ours}", f"{found}{self._other_settings(theirs, ours)}{allowed}")
        return {}

    def _other_settings(self, theirs: str, ours: str) -> str:
        """The sizes and names among the settings of a node that differ between the runs."""
        there, here = self.origin.node_configs.get(theirs, {}), node_configs(self.composed)[ours]
        both = [(key, there[key], here[key]) for key in there if key in here and key != "from"]
        differ = [(key, a, b) for key, a, b in both if isinstance(a, int | str) and isinstance(b, int | str) and a != b]
        said = "; ".join(f"{key}: {a}, here {b}" for key, a, b in differ[:4])
        return f" There it has {said}." if said else ""

    def _check_tied(self, meta: Graph, taken: Mapping[str, Tensor], report: Report) -> None:
        """Report weights that nodes of this run share, but for which their nodes in the other run have two values."""
        shared: dict[nn.Parameter, str] = {}
        for name, parameter in meta.named_parameters(remove_duplicate=False):
            if name not in taken:
                continue
            first = shared.setdefault(parameter, name)
            if first != name and not torch.equal(taken[first], taken[name]):
                one, other = (full.split(".")[1] for full in (first, name))
                report.add(
                    f"model.nodes.{other}",
                    f"shares weights with '{one}' here, but in '{self.origin.given}' they are two. Take one of the "
                    "nodes, or do not tie them.",
                )

    def record(self) -> dict[str, Any]:
        """Where the weights came from, as plain data for the checkpoint and run.json."""
        nodes = {ours: theirs for theirs, ours in self.nodes}
        return {**self.origin.record(), "nodes": nodes, "fields": dict(self.fields)}


def _fits(there: Size, here: Size, sizes: Collection[tuple[int, int]]) -> bool:
    """Whether a tensor can be taken: of the same shape, or with a row for each token of two vocabularies."""
    return there == here or (there[1:] == here[1:] and there[:1] + here[:1] in sizes)
