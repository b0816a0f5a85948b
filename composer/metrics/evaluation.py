"""Evaluation of a graph: its metrics over examples, bootstrap confidence intervals, and a few examples as texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.showing.short_table import ShortTable, ShownAsTable
from composer.core.storage.atomic_files import finite
from composer.decoding import Settings
from composer.graph.graph import Graph, evaluating
from composer.metrics.bootstrap import Examples, interval_around
from composer.metrics.details import HeadDetails
from composer.metrics.fitting import metrics_for
from composer.metrics.head_batches import HeadBatches, predictions
from composer.metrics.lookup import LOSS
from composer.metrics.metric import Metric
from composer.metrics.real_values import errors_of, is_real
from composer.metrics.shown_examples import samples_of
from composer.objectives import Batch, Objective, Origin

#: The confidence of the intervals of a report, and the number of resamples of an interval.
CONFIDENCE = 0.95
RESAMPLES = 1000

#: The most errors that are kept of a head, as numbers: those of the first examples, which are drawn at random.
ERRORS = 10_000_000

#: The sum of a tensor over all processes.
Reduce = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Score:
    """A metric of one head, or the weighted sum of the metrics of several heads.

    metrics: by the node name of the head
    weights: of the heads in the sum; by default 1 each
    """

    metrics: dict[str, Metric]
    weights: dict[str, float] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether the metric is about sequences that the graph has decoded autoregressively."""
        return any(metric.whole for metric in self.metrics.values())

    @property
    def width(self) -> int:
        return sum(metric.width for metric in self.metrics.values())

    def rows(self, views: Mapping[str, HeadBatches]) -> Tensor:
        """The statistics of every example, (B, S)."""
        found = [
            metric.rows(views[head].whole if metric.whole else views[head].steps)
            for head, metric in self.metrics.items()
        ]
        return torch.cat(found, dim=1)

    def signature(self, references: Mapping[str, Collection[int]]) -> str | None:
        """The signature of the metric of one head, of whose rows the numbers of references are given by head."""
        if len(self.metrics) != 1:
            return None
        [(head, metric)] = self.metrics.items()
        return metric.signature(str(*references[head]) if len(references[head]) == 1 else "var")

    @property
    def possible(self) -> tuple[float, float]:
        """The lowest and the highest value; of a sum of several heads, any."""
        return next(iter(self.metrics.values())).possible if len(self.metrics) == 1 else (-math.inf, math.inf)

    def resampled(self, rows: Tensor) -> Tensor:
        """The statistics as an interval resamples them, (N, S) -> (N, S)."""
        each = rows.split([metric.width for metric in self.metrics.values()], dim=1)
        return torch.cat([one.resampled(part) for one, part in zip(self.metrics.values(), each, strict=True)], dim=1)

    def value(self, sums: Tensor) -> Tensor:
        """The metric of summed statistics, (..., S) -> (...)."""
        each = sums.split([metric.width for metric in self.metrics.values()], dim=-1)
        parts = zip(self.metrics.items(), each, strict=True)
        return torch.stack([metric.value(part) * self.weights.get(head, 1.0) for (head, metric), part in parts]).sum(0)


def scores_for(graph: Graph) -> dict[str, Score]:
    """All metrics by their public names: bare for one head; for several heads ``head/name``, and ``loss``.

    The loss of several heads is the sum of their losses, each with the weight of its head.
    """
    found = metrics_for(graph)
    if len(found) == 1:
        return {name: Score({head: metric}) for head, metrics in found.items() for name, metric in metrics.items()}
    each = {f"{head}/{name}": Score({head: one}) for head, metrics in found.items() for name, one in metrics.items()}
    weights = {head.name: head.weight for head in graph.heads}
    return {LOSS: Score({head: metrics[LOSS] for head, metrics in found.items()}, weights)} | each


@dataclass(frozen=True, repr=False)
class Evaluation(ShownAsTable):
    """The result of ``evaluate``.

    values: every metric by its name; the loss is the first
    samples: the first examples as texts: every input under the name of its field, the target as "wanted", the
        prediction as "found", whether the prediction is "right" (None for numbers), and the "head", where there are
        several heads
    statistics: with ``keep=True``, the statistics of every metric, (N, S), one row for each example; in the order of
        the rows of the data, so that resamples do not depend on how the examples were batched
    examples: which of them depend on each other, because they are windows that overlap
    signatures: how the metrics were computed that have several definitions, in the form of sacreBLEU
    details: by head, the figures of every class, what is confused with what, and the worst examples, where asked for
    errors: of every head that predicts real values, by batch, (B, T, D), as ``Bounds.of`` takes them
    rows: with ``keep=True``, (N,), the row numbers of the examples in the order of their statistics; None for examples
        that come from no data
    """

    values: dict[str, float]
    samples: list[dict[str, Any]] = field(default_factory=list)
    statistics: dict[str, Tensor] = field(default_factory=dict)
    scores: dict[str, Score] = field(default_factory=dict, repr=False)
    examples: Examples = field(default=Examples(), repr=False)
    signatures: dict[str, str] = field(default_factory=dict)
    details: dict[str, HeadDetails] = field(default_factory=dict, repr=False)
    errors: dict[str, list[Tensor]] = field(default_factory=dict, repr=False)
    rows: Tensor | None = field(default=None, repr=False)

    def short_table(self) -> ShortTable:
        """Every metric, with its interval where the statistics were kept."""
        found = self.report() if self.statistics else {}
        head = ("metric", "value", *([f"{CONFIDENCE:.0%} interval"] if found else []))
        rows = [
            (name, f"{value:.4g}", *([_between(found[name])] if found else [])) for name, value in self.values.items()
        ]
        examples = f" of {max(map(len, self.statistics.values())):,} examples" if found else ""
        return ShortTable(f"Evaluation{examples}", head, rows, ("value",))

    def interval(
        self, name: str, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
    ) -> tuple[float, float]:
        """The bootstrap confidence interval of a metric, by resampling the examples (bootstrap.py)."""
        if name not in self.values:
            raise UserError(
                f"There is no metric '{name}' here.{did_you_mean(name, self.values)}  (metrics: {listed(self.values)})"
            )
        if name not in self.statistics:
            raise UserError(f"No interval for '{name}': its statistics were not kept. Evaluate with keep=True.")
        if not 0 < confidence < 1:
            raise Invalid("confidence", f"expected a number between 0 and 1, found {confidence}.")
        found = self._resampled([name], resamples, seed)[name]
        return interval_around(self.values[name], found, confidence, self.scores[name].possible)

    def report(self) -> dict[str, dict[str, float | None]]:
        """The value and the interval of every metric. NaN and infinity become None, because JSON has neither."""
        found = {}
        for name, value in self.values.items():
            low, high = interval_around(value, self.resampled[name], CONFIDENCE, self.scores[name].possible)
            found[name] = {"value": value, "low": low, "high": high}
        return finite(found)

    @cached_property
    def resampled(self) -> dict[str, Tensor]:
        """Every metric in ``RESAMPLES`` resamples of the examples, (R,). The resamples depend on the number of examples
        alone: those of two models with the same examples are paired."""
        return self._resampled(self.values, RESAMPLES, 0)

    def _resampled(self, names: Iterable[str], resamples: int, seed: int) -> dict[str, Tensor]:
        """Metrics in resamples. Metrics of the same examples share their resamples, which take the most time."""
        found: dict[str, Tensor] = {}
        alike: dict[int, list[str]] = {}
        for name in names:
            alike.setdefault(len(self.statistics[name]), []).append(name)
        for rows, group in alike.items():
            if rows == 0:
                found |= dict.fromkeys(group, torch.full((resamples,), torch.nan, dtype=torch.float64))
                continue
            statistics = torch.cat([self.scores[name].resampled(self.statistics[name]) for name in group], dim=1)
            sums = torch.cat([counts @ statistics for counts in self.examples.counts(rows, resamples, seed)])
            widths = [self.statistics[name].shape[1] for name in group]
            for name, part in zip(group, sums.split(widths, dim=1), strict=True):
                found[name] = self.scores[name].value(part)
        return found


def _between(figures: Mapping[str, float | None]) -> str:
    low, high = figures["low"], figures["high"]
    return "-" if low is None or high is None else f"{low:.4g} to {high:.4g}"


@torch.no_grad()
def evaluate(
    graph: Graph,
    objective: Objective,
    batches: Iterable[Batch],
    *,
    forced: Iterable[Batch] = (),
    search: Settings | None = None,
    device: str | torch.device | None = None,
    reduce: Reduce | None = None,
    keep: bool = False,
    errors: bool = False,
    samples: int = 8,
    worst: int | None = None,
) -> Evaluation:
    """Compute every metric of the graph's heads over these batches.

    forced: more batches, which are evaluated with teacher forcing only. Metrics of decoded sequences are computed over
        ``batches`` alone, metrics with teacher forcing over both
    search, keep, errors, samples, worst, reduce: see ``Evaluator`` and its ``result``
    """
    evaluator = Evaluator(graph, objective, search=search, keep=keep, errors=errors, samples=samples, worst=worst)
    with evaluating(graph):
        for batch, decoded in chain(zip(batches, repeat(True)), zip(forced, repeat(False))):
            evaluator.add(batch.to(device or graph.device), decoded=decoded)
    return evaluator.result(reduce)


class Evaluator:
    """Every metric of the graph's heads, from one batch after the other; the graph has to be in evaluation mode.

    search: the search for tokens where the graph generates them from inputs; greedy decoding by default
    keep: whether to keep the statistics of every example, for confidence intervals
    errors: whether to keep the errors of real-valued predictions, for their bounds
    samples: the number of examples, the next ones, to return as texts
    worst: the number of examples of the largest loss in the details of every head; None for no details
    """

    def __init__(
        self,
        graph: Graph,
        objective: Objective,
        *,
        search: Settings | None = None,
        keep: bool = False,
        errors: bool = False,
        samples: int = 8,
        worst: int | None = None,
    ) -> None:
        self.graph, self.objective, self.search = graph, objective, search
        self.keep, self.errors, self.samples = keep, errors, samples
        self.scores = scores_for(graph)
        self.sums = {name: torch.zeros(score.width, dtype=torch.float64) for name, score in self.scores.items()}
        self.kept = {name: [total[None, :][:0]] for name, total in self.sums.items()}  # (0, S), then (B, S) a batch
        self.shown: list[dict[str, Any]] = []
        self.origins: list[Origin | None] = []
        self.decoded = 0  # the number of examples that are decoded, which come first
        self.worst = worst or 0
        self.details = {head.name: HeadDetails() for head in graph.heads} if worst is not None else {}
        real = [head.name for head in graph.heads if errors and is_real(graph.target(head))]
        self.away: dict[str, list[Tensor]] = {name: [] for name in real}
        # the numbers of references that rows have
        self.references: dict[str, set[int]] = {head.name: set() for head in graph.heads}

    @torch.no_grad()
    def add(self, batch: Batch, *, decoded: bool) -> None:
        """Add the statistics of a batch. Batches that are decoded come before those with teacher forcing alone."""
        if batch.rows == 0:
            return
        views = predictions(self.graph, self.objective, batch, decoded=decoded, search=self.search)
        for name, score in self.scores.items():
            rows = score.rows(views)
            self.sums[name] += rows.sum(0)
            if self.keep:
                self.kept[name].append(rows)
        self.origins.append(batch.origin)
        self.decoded += batch.rows * decoded
        for name, parts in self.away.items():
            if sum(part.numel() for part in parts) < ERRORS:
                parts.append(errors_of(views[name].whole))
        for head in self.graph.heads:
            target, view = self.graph.target(head), views[head.name]
            if head.name in self.details:
                self.details[head.name].add(view, target, self.objective, self.worst)
            if target.compares_texts:
                self.references[head.name] |= {len(texts) for texts in view.whole.references}
        if self.samples:
            self.shown += samples_of(self.graph, self.objective, views, self.samples)
            self.samples -= min(self.samples, batch.rows)

    def result(self, reduce: Reduce | None = None) -> Evaluation:
        """The metrics of all batches that were added.

        reduce: sums a float64 tensor over all processes, each of which evaluates its own examples. It does not go
            with ``keep``, because a process has only the statistics of its own examples
        """
        if self.keep and reduce is not None:
            raise Invalid("keep", "the examples of other processes cannot be kept here. Evaluate in one process.")
        sums, scores = self.sums, self.scores
        if reduce is not None:
            whole = reduce(torch.cat(list(sums.values())))
            sums = dict(zip(sums, whole.split([score.width for score in scores.values()]), strict=True))
        values = {name: float(score.value(sums[name])) for name, score in scores.items()}
        examples = examples_of(self.objective, self.origins) if self.keep or self.errors else Examples()
        details, errors = self.details, self.away
        found = Evaluation(values, self.shown, scores=scores, examples=examples, details=details, errors=errors)
        if not self.keep:
            return found
        places = _rows_of(self.origins)
        statistics = {name: torch.cat(each) for name, each in self.kept.items()}
        if places is not None:  # those that were decoded stay the first: metrics of decoded sequences have no others
            first, others = places[: self.decoded], places[self.decoded :]
            order = torch.cat([first.argsort(stable=True), self.decoded + others.argsort(stable=True)])
            statistics = {name: each[order[: len(each)]] for name, each in statistics.items()}
            places = places[order]
            if examples.places is not None:
                examples = replace(examples, places=places)
        signatures = {
            name: words for name, score in scores.items() if (words := score.signature(self.references)) is not None
        }
        return replace(found, statistics=statistics, examples=examples, signatures=signatures, rows=places)


def _rows_of(origins: Sequence[Origin | None]) -> Tensor | None:
    """The row numbers of all examples, in the order of the batches; None where some come from no data."""
    known = [origin.rows for origin in origins if origin is not None]
    return torch.cat(known) if known and len(known) == len(origins) else None


def examples_of(objective: Objective, origins: Sequence[Origin | None]) -> Examples:
    """The examples of an evaluation. Those of no split, or of several, count as independent of each other."""
    known = [origin for origin in origins if origin is not None]
    splits = {origin.split for origin in known}
    if len(known) < len(origins) or len(splits) != 1:
        return Examples()
    split = splits.pop()
    overlap = objective.source.overlap(split)
    if overlap <= 1:
        return Examples()
    return Examples(objective.size(split), overlap, torch.cat([origin.rows for origin in known]))
