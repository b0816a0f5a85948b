"""The graph of a composed config before training: it shows itself, is checked by the laws, and can be called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from composer.core.problems import UserError, did_you_mean, listed
from composer.core.showing.results import Drawing, Shown
from composer.core.showing.short_table import ShortTable, ShownAsTable
from composer.core.signals import Field, Signal
from composer.graph.call_inputs import Given, Lengths, call_with
from composer.graph.describe import summarise
from composer.graph.graph import Graph
from composer.training.run.plan import TrainingPlan
from composer.views.drawing import mermaid, svg
from composer.views.graph_tables import graph_table, node_table, summary_table


@dataclass(frozen=True, eq=False, repr=False)
class CompiledModel(ShownAsTable):
    """A compiled graph with its data and its first weights, which depend on the seed of the config.

    In a notebook, it is shown as its drawing with a table of its nodes. No weight exists before the model is called or
    checked.
    """

    plan: TrainingPlan

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that the model reads or predicts."""
        return self.plan.objective.fields

    @cached_property
    def graph(self) -> Graph:
        """The graph with its first weights, in evaluation mode."""
        from composer.training.run.train import materialise

        return materialise(self.plan).eval()

    def __call__(self, inputs: Mapping[str, Given], lengths: Lengths | None = None) -> dict[str, Signal]:
        """The output of every head, by its node's name: a signal, whose ``values`` are the tensor.

        inputs: every field that the model reads, by its name, as a tensor or as a signal: whole examples, as the data
            has them. Of a generated field, such as ``target``, the step before each one is read (teacher forcing)
        lengths: the numbers of real steps in every row of padded tensors, by field, or those of the only sequence
        """
        return call_with(self.graph, inputs, lengths)

    def describe(self, length: int = 128) -> Shown:
        """The table that ``python -m composer describe`` prints, and as ``.data`` what it prints with ``--json``.

        length: the steps of the sequences, for FLOPs and the size of a state
        """
        summary = summarise(self.plan.meta, length)
        return Shown(graph_table(summary), summary_table(summary).html(), summary)

    def draw(self, against: CompiledModel | None = None) -> Drawing:
        """The drawing of the graph; with another model, that one beside this one with their differences marked."""
        other = against.plan.summary if against is not None else None
        return Drawing(svg(self.plan.summary, other), mermaid(self.plan.summary, other))

    def check(self, laws: Collection[str] | None = None, seed: int = 0) -> LawsChecked:
        """Test the model by the laws, as ``python -m composer check`` does: chunks, padding, causality and the others.

        laws: the names of those to test; all by default
        seed: of random weights and inputs
        """
        from composer.testing import LAWS, broken, graph_subject

        for law in () if laws is None else laws:
            if law not in LAWS:
                raise UserError(f"there is no law '{law}'.{did_you_mean(law, LAWS)}  (laws: {listed(LAWS)})")

        subject = graph_subject(self.plan.meta.materialise(seed), seed=seed, objective=self.plan.objective)
        return LawsChecked(broken(subject, tuple(LAWS) if laws is None else laws))

    def short_table(self) -> ShortTable:
        return node_table(self.plan.meta)

    def _repr_html_(self) -> str:
        return f"{self.draw()._repr_html_()}{self.short_table().html()}"


@dataclass(frozen=True, repr=False)
class LawsChecked(ShownAsTable):
    """
    laws: every law by its name, with '' if it holds, or else what breaks it
    """

    laws: dict[str, str]

    @property
    def broken(self) -> dict[str, str]:
        """The laws that do not hold, with what breaks them."""
        return {law: problem for law, problem in self.laws.items() if problem}

    @property
    def hold(self) -> bool:
        """Whether all laws hold."""
        return not self.broken

    def short_table(self) -> ShortTable:
        from composer.testing import LAWS

        rows = [
            ("BROKEN" if problem else "holds", law, problem or _first_sentence(LAWS[law].__doc__))
            for law, problem in self.laws.items()
        ]
        count = len(self.broken)
        title = "All of these laws hold." if self.hold else f"{count} law{'s are' if count > 1 else ' is'} broken."
        return ShortTable(title, ("", "law", "meaning"), rows)


def _first_sentence(text: Any) -> str:
    return str(text or "").strip().split("\n")[0]
