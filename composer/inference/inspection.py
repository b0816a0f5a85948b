"""Figures of a trained model (predictions, attention, embeddings, hidden states, gradients) on one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.batching import drawn_rows
from composer.core.signals import Ids, Label, Seq, Signal, Timed, Vec
from composer.core.storage.atomic_files import write_text
from composer.decoding import DecodeOptions, decode
from composer.graph.describe import summarise
from composer.inference.inspected_results import WORST, class_tables, example_table, metrics_section
from composer.inference.model import Model
from composer.inference.model_vectors import token_vectors
from composer.inference.prediction import PredictionOptions, Predictor, horizon_of
from composer.inference.run_data import Data
from composer.inference.similar_tokens import Analogy, analogy_section, neighbour_section
from composer.inference.typed_rows import encoded, typed_columns
from composer.metrics import Evaluation
from composer.metrics.outcomes import ClassOutcomes, class_outcomes, predicts_classes
from composer.metrics.real_values import is_real, naive_forecast
from composer.objectives import Batch
from composer.runs.folder import RunFolder, read_metrics
from composer.views.drawing import svg
from composer.views.figures import (
    attention_figure,
    attention_maps,
    class_figures,
    gradient_by_step,
    gradient_figure,
    judged_batches,
    learning_curves,
    png,
    save_figures,
)
from composer.views.figures.class_figures import JUDGED
from composer.views.figures.forecast import forecast_figure
from composer.views.figures.probe import read_inputs, some_rows, time_axes
from composer.views.figures.projection import projection_figure
from composer.views.graph_tables import graph_table
from composer.views.html_page import PageSection, Picture, html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 48  # examples whose hidden states are drawn and whose gradients are averaged
LISTED = 6  # examples in the table of examples
STEPS = 40  # tokens generated for an example that the user typed, at most
DRAWN = 300  # tokens whose embeddings are drawn, the most frequent ones
POINTS = 1500  # hidden states drawn at most


@dataclass
class Inspection:
    """The sections of the page.

    batch: the examples to run the model on; None if there are none, which leaves out the sections that need them
    note: a remark for the page, such as why there are no examples
    tokens: the tokens whose neighbours to list
    analogies: the analogies to answer
    examples: the number of examples that get figures of their own
    outcomes: of the heads that predict classes or tags, over a sample of the data
    evaluation: of the same sample, where some head predicts classes, tags or labels
    figures: the figures made so far, by file name
    """

    model: Model
    batch: Batch | None
    note: str | None = None
    tokens: Sequence[str] = ()
    analogies: Sequence[Analogy] = ()
    examples: int = 2
    outcomes: Mapping[str, ClassOutcomes] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    figures: dict[str, Figure] = field(default_factory=dict)

    def sections(self) -> Iterator[PageSection]:
        if (metrics := metrics_section(self.model, self.evaluation)) is not None:
            yield metrics
        yield from self._classes()
        if self.batch is not None:
            yield self._examples(self.batch)
            yield from self._forecasts(self.batch)
        yield self._curves()
        yield self._about()
        yield from self._representations()

    def inside(self) -> Iterator[PageSection]:
        """Classes, attention, embeddings, hidden states, gradients: what a comparison of models shows side by side."""
        yield from self._classes()
        yield from self._representations()

    def _classes(self) -> Iterator[PageSection]:
        details = {} if self.evaluation is None else self.evaluation.details
        tables, figures = list(class_tables(details)), class_figures(self.outcomes)
        if not tables and not figures:
            return
        pictures = [self._picture(name, figure, name.replace("_", " of ", 1)) for name, figure in figures.items()]
        notes = [f"Of up to {JUDGED:,} examples. Targets beside predictions, and how often a probability is right."]
        yield PageSection("Classes", notes, pictures, tables)

    def _representations(self) -> Iterator[PageSection]:
        if self.batch is not None:
            yield from self._attention(self.batch)
        yield from self._embeddings()
        if self.batch is not None:
            yield self._states(self.batch)
            yield self._gradients(self.batch)

    def _about(self) -> PageSection:
        model = self.model
        summary = summarise(model.graph.materialise(device="meta"))
        config = model.config
        what = f"data {config['data']['type']}, objective {config['objective']['type']}, {model.step:,} steps"
        notes = [what, str(model.path)] + ([self.note] if self.note else [])
        return PageSection("The model", notes, [], [], drawing=svg(summary), preformatted=graph_table(summary))

    def _examples(self, batch: Batch) -> PageSection:
        some = _first(batch, LISTED)
        options = PredictionOptions(samples=1)
        records = Predictor(self.model.graph, self.model.objective, options, _time(some)).batch(some)
        table = example_table(records, [*self.model.fields], [head.name for head in self.model.graph.heads])
        return PageSection("Examples", ["The figures below are made from these examples, in this order."], [],
                       [table])  # fmt: skip

    def _forecasts(self, batch: Batch) -> Iterator[PageSection]:
        """Figures of predicted sequences of real values."""
        graph, objective = self.model.graph, self.model.objective
        heads = [head for head in graph.heads if is_real(graph.target(head)) and graph.target(head).field.kind == "seq"]
        if not heads:
            return
        some, pictures = _first(batch, self.examples), []
        records = Predictor(graph, objective, PredictionOptions(), _time(some)).batch(some)
        for head in heads:
            target = str(head.predicts)
            wanted = objective.source.unscaled(target, some.signals[target].values)
            steps, names = None, objective.fields[target].contents.names
            if (before := naive_forecast(graph.target(head))) is not None:
                read, channels = before
                steps = objective.source.unscaled(read, some.signals[read].values)[..., channels]
            for row, record in enumerate(records):
                own = record if len(graph.heads) == 1 else record[head.name]
                mean, *bounds = (_steps(own[n], wanted.shape[2]) for n in ("predicted", "low", "high") if n in own)
                title = f"{head.name}, example {row + 1}"
                given = None if steps is None else steps[row]
                figure = forecast_figure(title, mean, bounds, given, wanted[row, : len(mean)], channels=names)
                pictures.append(self._picture(f"forecast_{row + 1}_{head.name}", figure, title))
        yield PageSection("Forecasts", ["In the units of the data. The bounds hold 95 % of the values."], pictures)

    def _attention(self, batch: Batch) -> Iterator[PageSection]:
        pictures = []
        for row in range(min(self.examples, batch.rows)):
            for name, shown in attention_maps(self.model.graph, some_rows(batch, [row])).items():
                title = f"{name}, example {row + 1}"
                pictures.append(self._picture(f"attention_{row + 1}_{name}", attention_figure(title, shown), title))
        notes = [
            "Attention weights of each query step over the other steps, or over the memory. Every row sums to one."
        ]
        if pictures:
            yield PageSection("Attention and alignment", notes, pictures)

    def _embeddings(self) -> Iterator[PageSection]:
        pictures = []
        for found in token_vectors(self.model.graph):
            if len(found.tokens) < 3:
                continue
            every, title = found.frequent(DRAWN), f"Tokens of '{found.name}' in {found.node}"
            names = [found.tokens[i] for i in every]
            figure = projection_figure(title, found.weight.detach().cpu()[every], names)
            pictures.append(self._picture(f"embeddings_{found.node}", figure, f"the vectors of {found.node}"))
        if pictures:
            yield neighbour_section(self.model.graph, self.tokens)
            if self.analogies:
                yield analogy_section(self.model.graph, self.analogies)
            yield PageSection(
                "Embeddings", ["The most frequent tokens in their first two principal components."], pictures
            )

    def _states(self, batch: Batch) -> PageSection:
        graph = self.model.graph
        with torch.inference_mode():
            signals = graph.run(read_inputs(graph, batch.signals))
        axes = time_axes(graph, signals)
        others = {head.name for head in graph.heads} | {found.node for found in token_vectors(graph)}
        pictures = []
        for node in graph.plan.nodes:
            states = signals[node.name]
            if node.name in others or not isinstance(states, Seq | Vec):
                continue
            figure = self._projected(node.name, states, axes.get(node.name), batch, signals)
            if figure is not None:
                pictures.append(self._picture(f"states_{node.name}", figure, f"outputs of {node.name}"))
        notes = [f"The outputs of every node for {batch.rows} examples, in their first two principal components."]
        return PageSection("Hidden states", notes, pictures)

    def _projected(
        self, name: str, states: Seq | Vec, axis: str | None, batch: Batch, signals: dict[str, Signal]
    ) -> Figure | None:  # fmt: skip
        how: dict[str, Any]
        if isinstance(states, Vec):
            points, how = states.values.cpu(), self._labels(batch)
        else:
            real = torch.arange(states.time) < states.counts.cpu()[:, None]
            points = states.values.cpu()[real]
            kept = torch.linspace(0, len(points) - 1, min(POINTS, len(points))).long()
            points, tokens = points[kept], self._tokens(axis, batch, signals)
            if tokens is not None and tokens.values.shape == real.shape:
                known = self.model.fields[str(axis)].contents.tokens
                assert known is not None
                groups = [known[i] for i in tokens.values.cpu()[real][kept].tolist()]
                what = "token to predict" if axis in self.model.graph.plan.generated else "token read"
                how = {"groups": groups, "legend": f"{what}\nin '{axis}'"}
            else:
                steps = torch.arange(states.time).expand_as(real)[real][kept].tolist()
                how = {"steps": steps, "legend": f"time step of '{axis}'" if axis else "time step"}
        return projection_figure(f"States of {name}", points, **how) if len(points) >= 3 else None

    def _tokens(self, axis: str | None, batch: Batch, signals: dict[str, Signal]) -> Ids | None:
        """The tokens at the steps of a time axis: the tokens read, or on a generated axis the tokens to predict."""
        found = batch.signals.get(axis or "") if axis in self.model.graph.plan.generated else signals.get(axis or "")
        known = axis is not None and self.model.fields[axis].contents.tokens is not None
        return found if isinstance(found, Ids) and known else None

    def _labels(self, batch: Batch) -> dict[str, Any]:
        """The class of every example, where there is one, and the field that it is of."""
        for name, described in self.model.fields.items():
            signal = batch.signals.get(name)
            if isinstance(signal, Label) and described.contents.tokens is not None:
                groups = [described.contents.tokens[i] for i in signal.values.tolist()]
                return {"groups": groups, "legend": f"'{name}'\nof the example"}
        return {}

    def _gradients(self, batch: Batch) -> PageSection:
        found = gradient_by_step(self.model.graph, batch)
        if not found:
            return PageSection(
                "Gradient by time step", ["Not shown: no node of this model reads an input with a time axis."]
            )
        caption = "a straight falling line: the gradient vanishes at a constant rate; a level line: it does not vanish"
        picture = self._picture("gradient_by_step", gradient_figure(found), caption)
        return PageSection("Gradient by time step", ["The gradient of the last step's loss at every earlier step."],
                       [picture])  # fmt: skip

    def _curves(self) -> PageSection:
        folder = RunFolder(self.model.path.parent.parent)
        figure = learning_curves(list(read_metrics(folder.metrics)))
        if figure is None:
            return PageSection(
                "Learning curves",
                ["Not shown: they need the metrics in the run's folder, and the checkpoint is outside of it."],
            )
        return PageSection("Learning curves", [], [self._picture("learning_curves", figure, "losses by step")])

    def _picture(self, name: str, figure: Figure, caption: str) -> Picture:
        file = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)
        self.figures[file] = figure
        return Picture(f"{file}.png", caption)


def inspect(
    model: Model, folder: Path, *, rows: Sequence[str] = (), data: Data | None = None, note: str | None = None,
    tokens: Sequence[str] = (), analogies: Sequence[Analogy] = (), examples: int = 2,
) -> list[Path]:  # fmt: skip
    """Write the figures and the page that shows them. Returns the path of the page, and those of the figures."""
    batch = typed_batch(model, rows) if rows else None
    outcomes: Mapping[str, ClassOutcomes] = {}
    evaluation = None
    if data is not None and len(data) and not rows:
        batch = data.objective.batch(data.split, drawn_rows(len(data), ROWS))
        targets = [model.graph.target(head) for head in model.graph.heads]
        if any(predicts_classes(target) or target.binary for target in targets):
            evaluation = model.evaluate(data, rows=JUDGED, decode_rows=ROWS, worst=WORST)
            found = {head: details.outcomes for head, details in evaluation.details.items()}
            outcomes = {head: outcome for head, outcome in found.items() if outcome is not None}
    inspection = Inspection(model, batch, note, tokens, analogies, examples, outcomes, evaluation)
    sections = list(inspection.sections())
    figures = save_figures(folder, inspection.figures)
    path = folder / "inspect.html"
    write_text(path, html_page(f"Inside {_name(model.path)}", sections, folder))
    return [path, *figures.values()]


def figures_to_compare(model: Model) -> dict[str, bytes]:
    """PNG files that show models side by side, by name: classes, attention, embeddings, hidden states, gradients.

    They are made from the same validation examples for all models of the same data.
    """
    data = model.data(labelled=True).checked()
    outcomes = class_outcomes(model.graph, data.objective, judged_batches(data.objective, data.split))
    batch = data.objective.batch(data.split, drawn_rows(len(data), ROWS))
    inspection = Inspection(model, batch, examples=1, outcomes=outcomes)
    list(inspection.inside())
    return {name: png(figure) for name, figure in inspection.figures.items()}


@torch.inference_mode()
def typed_batch(model: Model, rows: Sequence[str]) -> Batch:
    """A batch of the rows that the user typed, with the model's own predictions as targets."""
    graph, objective = model.graph, model.objective
    signals = encoded(typed_columns(graph, objective, rows), graph, objective)
    weights = objective.asked(signals)
    batch, horizon = Batch(signals, weights), horizon_of(graph, objective)
    for head in graph.heads:
        target = str(head.predicts)
        if target not in signals:
            options = DecodeOptions(length=horizon.get(target, STEPS))
            signals[target] = decode(graph, head, batch, options).found
    with torch.inference_mode(False):  # copies, through whose tensors gradients can pass
        copies: Batch = pytree.tree_map(torch.clone, Batch(signals))
    return Batch(copies.signals, weights)


def _name(checkpoint: Path) -> str:
    """The name of the run that a checkpoint is of; without a run, that of its file."""
    folder = RunFolder(checkpoint.parent.parent)
    return folder.path.resolve().name if folder.config.is_file() else checkpoint.name


def _first(batch: Batch, count: int) -> Batch:
    return some_rows(batch, range(min(count, batch.rows)))


def _time(batch: Batch) -> dict[str, int]:
    return {name: signal.time for name, signal in batch.signals.items() if isinstance(signal, Timed)}


def _steps(numbers: Any, channels: int) -> Tensor:
    """(steps, channels): a record lists the numbers of a single channel without the inner lists."""
    return torch.tensor(numbers).view(-1, channels)
