"""The transfer of a config: its problems are reported before training, all that are known at a time at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from composer.config.assembly import open_objective
from composer.config.composition import Composed
from composer.core.problems import Report
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.training.run.init.fields import open_with
from composer.training.run.init.graphs import GraphTransfer, take_graphs
from composer.training.run.init.nodes import NodeTransfer


@dataclass
class Transfers:
    """All that a run takes from other runs.

    nodes: what the section ``init`` takes; None if it takes nothing
    graphs: the graphs of other runs inside nodes of this run
    """

    nodes: NodeTransfer | None = None
    graphs: Sequence[GraphTransfer] = ()

    def states(self, composed: Composed, learned: Objective) -> dict[str, Any]:
        """The states of the data's fields that come along, with their vocabularies.

        learned: the objective of the config, over data that has learned its own vocabularies
        """
        states = self.nodes.states(learned) if self.nodes is not None else {}
        with Report.raised(composed.locate) as report:
            for graph in self.graphs:
                for name, state in graph.states(composed, learned, report).items():
                    if states.setdefault(name, state) != state:
                        report.add(
                            f"model.nodes.{graph.node}.from",
                            f"'{name}' would take the vocabulary of '{graph.origin.given}' here, and another one "
                            "elsewhere. Declare a second field for the same column.",
                        )
        return states

    def match(self, meta: Graph, objective: Objective, report: Report) -> dict[str, Tensor]:
        """The tensors that the nodes of a compiled graph take, by their full names."""
        taken = self.nodes.match(meta, objective, report) if self.nodes is not None else {}
        for graph in self.graphs:
            taken = graph.match(meta, objective, report) | taken
        return taken

    def record(self) -> dict[str, Any] | None:
        """Where the weights came from, as plain data for the checkpoint and run.json; None if all are drawn."""
        nodes = self.nodes.record() if self.nodes is not None else {}
        graphs = {graph.node: graph.record() for graph in self.graphs}
        return nodes | ({"graphs": graphs} if graphs else {}) or None


def open_run_objective(composed: Composed, saved: Mapping[str, Any] | None = None) -> tuple[Objective, Transfers]:
    """The objective of a config, over its data with the vocabularies that it takes from other runs, and the transfers.

    The nodes of the config that name another run's graph receive this graph.

    saved: the checkpoint that a run resumes from. It has the vocabularies, and the other runs are not needed any more.
    """
    transfers = Transfers() if saved is not None else Transfers(NodeTransfer.of(composed), take_graphs(composed))
    learned = open_objective(composed)
    if saved is not None:
        states = {name: saved["source"][name] for name in taken_fields(saved.get("init"))}
    else:
        states = transfers.states(composed, learned)
    return open_with(composed, learned, states), transfers


def taken_fields(record: Mapping[str, Any] | None) -> set[str]:
    """The fields of this run's data that have vocabularies of other runs, from the record in a checkpoint."""
    parts = [record or {}, *(record or {}).get("graphs", {}).values()]
    return {name for part in parts for name in part.get("fields", {})}


def load_taken(graph: Graph, taken: Mapping[str, Tensor]) -> None:
    """Copy the taken tensors into a graph. Rows of tokens that only one of the runs has are left alone."""
    own = graph.state_dict()
    with torch.no_grad():
        for name, tensor in taken.items():
            rows = slice(min(len(tensor), len(own[name]))) if tensor.dim() else ...
            own[name][rows].copy_(tensor[rows])
