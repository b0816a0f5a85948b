"""Predictions of every head for rows of data, as plain data.

A head that generates is decoded autoregressively: the record of a generated text has its text and score, a forecast its
means and bounds, and a language model the log-probability of the given text. records.py handles all other heads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_type_hints

import torch

from composer.core.block import Positive, Range
from composer.core.capabilities import offers
from composer.core.problems import UserError
from composer.core.signals import Ids, Signal
from composer.core.target import Asked, Target
from composer.data.source import WrittenRow
from composer.decoding import Settings, generate, greedy, roll
from composer.decoding.settings import check
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.inference.data import Data
from composer.inference.records import Records, bounded_records, records_of, rounded
from composer.inference.rows import field_columns
from composer.objectives import Batch, Objective

#: Rows predicted at a time.
ROWS = 64


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """How to predict.

    beams: the width of a beam search; None for greedy decoding
    best: generated sequences returned for every row, best first
    length: the largest number of generated tokens; for real values the exact number of steps, by default the data's
    top: the number of most likely labels to list
    confidence: the share of the values that lie within the bounds of their prediction
    samples, seed: of paths or values that are sampled for the bounds of a model that was never validated
    """

    beams: Positive | None = None
    best: Positive = 1
    length: Positive | None = None
    top: Positive = 5
    samples: Positive = 200
    confidence: Annotated[float, Range(above=0, below=1)] = 0.95
    seed: Annotated[int, Range(low=0)] = 0

    def __post_init__(self) -> None:
        for name, annotation in get_type_hints(PredictionOptions, include_extras=True).items():
            check(name, getattr(self, name), annotation)

    @property
    def settings(self) -> Settings:
        length: dict[str, Any] = {} if self.length is None else {"length": self.length}
        if self.beams is None and self.best == 1:
            return Settings(**length)
        return Settings(search="beam", beams=self.beams or max(Settings.beams, self.best), best=self.best, **length)


def predict_rows(
    graph: Graph, objective: Objective, rows: Sequence[Any], options: PredictionOptions
) -> Iterator[dict[str, Any]]:
    """The heads' predictions for typed rows: texts, or values in the units of the data."""
    given, wanted = graph.plan.given, sorted(graph.plan.generated)
    every = field_columns(rows, given, objective) if given else {name: list(rows) for name in wanted}
    shown = objective.shown_once(every)
    for start in range(0, len(next(iter(every.values()))), ROWS):
        columns = {name: column[start : start + ROWS] for name, column in every.items()}
        signals = {name: objective.encode(name, column) for name, column in columns.items()}
        batch = Batch(signals, objective.asked(signals))
        found = predict_batch(graph, objective, batch, options, _horizon(graph, objective))
        for index, record in enumerate(found):
            values = {name: column[index] for name, column in columns.items()}
            typed = {name: values[name] for name in shown if isinstance(values[name], str | list | Mapping)}
            texts = {name: value for name, value in values.items() if isinstance(value, str)}
            unknown = [token for name, value in texts.items() for token in objective.unknown(name, value)]
            yield {"row": start + index, **record, **typed, **({"unknown": unknown} if unknown else {})}


def predict_data(
    graph: Graph, data: Data, options: PredictionOptions, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """The heads' predictions for every row of some data, in order; with the targets if the data has them."""
    count = min(len(data.checked()), len(data) if limit is None else limit)
    horizon = _horizon(graph, data.objective)
    written = data.objective.written(data.split)
    shown = data.objective.shown_once(graph.plan.given or graph.plan.generated)
    for start in range(0, count, ROWS):
        rows = range(start, min(start + ROWS, count))
        found = predict_batch(graph, data.objective, data.objective.batch(data.split, rows), options, horizon)
        for row, record in zip(rows, found, strict=True):
            yield {"row": row, **(record if written is None else _in_own_words(graph, shown, record, next(written)))}


def _in_own_words(
    graph: Graph, shown: Sequence[str], record: dict[str, Any], written: WrittenRow
) -> dict[str, Any]:  # fmt: skip
    """A record with the place of its row and the values as the user's file has them, instead of their tokens."""
    values = written.values
    given = {name: values[name] for name in shown if name in values}
    own = {**given, **record, **given}
    for head in graph.heads:
        said = own if len(graph.heads) == 1 else own[head.name]
        if "wanted" in said and head.predicts in values:
            said["wanted"] = values[head.predicts]
    return {**written.place, **own}


def _horizon(graph: Graph, objective: Objective) -> dict[str, int]:
    """For generated sequences of real values, the number of steps that the data has."""
    real = [name for name in graph.plan.generated if graph.plan.inputs[name].kind == "seq"]
    if not real:
        return {}
    return {name: int(steps[0]) for name, steps in objective.lengths("valid", [0]).items() if name in real}


@torch.inference_mode()
def predict_batch(
    graph: Graph, objective: Objective, batch: Batch, options: PredictionOptions, horizon: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A record for every row."""
    reading = _Reading(graph, objective, batch.to(graph.device), options, horizon)
    columns: dict[str, list[Any]] = {}
    for name in objective.shown_once(graph.plan.given or sorted(graph.plan.generated)):
        if batch.signals[name].kind != "image":
            columns[name] = objective.show(name, batch.signals[name])
    rows = [{name: texts[row] for name, texts in columns.items()} for row in range(batch.rows)]
    for head in graph.heads:
        for row, record in zip(rows, reading.of(head), strict=True):
            row.update(record if len(graph.heads) == 1 else {head.name: record})
    return rows


class _Reading:
    """The predictions of a graph's heads for one batch."""

    def __init__(
        self, graph: Graph, objective: Objective, batch: Batch, options: PredictionOptions, horizon: Mapping[str, int]
    ) -> None:  # fmt: skip
        self.graph, self.objective, self.batch, self.options = graph, objective, batch, options
        self.horizon = horizon
        self.given = {name: batch.signals[name] for name in graph.plan.given}

    def of(self, head: Node) -> Records:
        """A head's prediction for every row, and the target if it is known."""
        target = self.graph.target(head)
        found = self._with_times(target, self._found(head, self._asked(head, target)))
        wanted = self.batch.signals.get(target.name)
        if wanted is None or (target.generates and not target.decodes):
            return found
        texts = self.objective.show(target.name, wanted)
        return [{**record, "wanted": text} for record, text in zip(found, texts, strict=True)]

    def _with_times(self, target: Target, records: Records) -> Records:
        """The records of a forecast with the names of its channels and the times of its steps."""
        named = {} if target.field.kind != "seq" or target.field.names is None else {"channels": [*target.field.names]}
        steps = (
            max((len(record["predicted"]) for record in records if "predicted" in record), default=0) if named else 0
        )
        origin = self.batch.origin
        times = self.objective.times(target.name, origin, steps) if origin is not None and steps else None
        own = [{}] * len(records) if times is None else [{"times": each} for each in times]
        return [{**record, **named, **when} for record, when in zip(records, own, strict=True)]

    def _found(self, head: Node, asked: Asked) -> Records:
        if asked.target.decodes and asked.target.field.kind == "ids":
            return self._generated(head, asked)
        if asked.target.decodes:
            return self._rolled(head, asked)
        if asked.target.generates:
            return self._scored(head)
        return records_of(self.graph.nodes[head.name], self._output(head), asked)

    def _asked(self, head: Node, target: Target) -> Asked:
        along = self.batch.signals.get(str(target.field.axis))
        alike = along is not None and self.objective.fields[str(target.field.axis)].tokens == target.field.tokens
        return Asked(
            target,
            partial(self.objective.show, target.name),
            partial(self.objective.source.unscaled, target.name),
            self.batch.weights.get(target.name),
            along if alike else None,
            top=self.options.top,
            bounds=self.graph.bounds.get(head.name),
            samples=self.options.samples,
            confidence=self.options.confidence,
            seed=self.options.seed,
        )

    def _output(self, head: Node) -> Signal:
        """A head's output with teacher forcing, computed by the nodes that the head depends on."""
        signals = dict(self.batch.signals)
        if self.graph.reads(head.name) & self.graph.plan.generated:
            signals |= self.graph.shifted(self.batch.signals)
        return self.graph.run(signals, head.name)[head.name]

    def _generated(self, head: Node, asked: Asked) -> Records:
        """The most likely text of every row; with scores and further texts if the head offers log-probabilities."""
        settings = self.options.settings
        if settings.search == "greedy" and not offers(self.graph.nodes[head.name], "log_probabilities"):
            tokens = greedy(self.graph, self.given, head.name, settings.length)
            return [{"predicted": text} for text in asked.show(tokens)]
        result = generate(self.graph, self.given, settings, head=head.name)
        records = []
        for hypotheses in result.rows:
            found = [
                {
                    "predicted": asked.show(Ids(h.tokens[None]))[0],
                    "score": rounded(h.score),
                    "log_probability": rounded(h.log_probability),
                    "finished": h.finished,
                }
                for h in hypotheses
            ]
            records.append({**found[0], **({"others": found[1:]} if len(found) > 1 else {})})
        return records

    def _rolled(self, head: Node, asked: Asked) -> Records:
        """An autoregressive forecast; with calibrated bounds, or else with those of paths, if the head can sample."""
        steps = self.options.length or self.horizon.get(asked.target.name)
        if steps is None:
            raise UserError(f"nothing says how many steps of '{asked.target.name}' to forecast. Give a length.")
        mean = roll(self.graph, self.given, head.name, steps).values
        if asked.bounds is not None or not offers(self.graph.nodes[head.name], "sample"):
            return bounded_records(mean, None, asked)
        paths = roll(self.graph, self.given, head.name, steps, asked.samples, asked.seed).values
        return bounded_records(mean, paths.unflatten(0, (len(mean), asked.samples)), asked)

    def _scored(self, head: Node) -> Records:
        """The log-probability of a given text under a language model, with teacher forcing."""
        target = str(head.predicts)
        signal = self.batch.signals.get(target)
        if signal is None and len(self.graph.heads) > 1:
            return [{} for _ in range(self.batch.rows)]  # the other heads predict something for these rows
        if signal is None:
            raise UserError(f"'{head.name}' says how likely a '{target}' is, so the data has to have it.")
        module: Any = self.graph.nodes[head.name]
        weight = self.batch.weight(target)
        losses = (module.loss(self._output(head), signal) * weight).double().sum(1)
        counts = weight.double().sum(1)
        return [
            {
                "log_probability": rounded(-loss),
                "steps": int(count),
                "perplexity": rounded(math.exp(min(loss / count, 700))) if count else None,
            }
            for loss, count in zip(losses.tolist(), counts.tolist(), strict=True)
        ]


def to_json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, default=str)  # a Parquet file may hold dates
