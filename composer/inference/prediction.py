"""Predictions of every head for rows of data, as plain data.

``decode`` obtains the prediction of every head, and prediction_records.py gives it the form of plain data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch

from composer.core.block import Positive, Range
from composer.core.target import ReportRequest, Target
from composer.data.source import Split, WrittenRow
from composer.decoding import DecodeOptions, Settings, decode
from composer.decoding.settings import check_fields
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.inference.prediction_records import Records, records_of
from composer.inference.typed_rows import encoded, typed_columns, unknown_tokens
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
        check_fields(self)

    @property
    def search(self) -> Settings:
        if self.beams is None and self.best == 1:
            return Settings()
        return Settings(search="beam", beams=self.beams or max(Settings.beams, self.best), best=self.best)


class Predictor:
    """What all heads of a graph predict for rows, as a record of plain data for each row.

    horizon: the number of steps of generated sequences; by default, of real values, as many as the data has
    """

    def __init__(
        self, graph: Graph, objective: Objective, options: PredictionOptions, horizon: Mapping[str, int] | None = None
    ) -> None:  # fmt: skip
        self.graph, self.objective, self.options = graph, objective, options
        self.horizon = horizon_of(graph, objective) if horizon is None else horizon
        self.shown = objective.shown_once(graph.plan.given or sorted(graph.plan.generated))

    def typed(self, rows: str | Sequence[Any], limit: int | None = None) -> Iterator[dict[str, Any]]:
        """The records of typed rows: texts, or values in the units of the data; at most ``limit`` of them."""
        every = {name: column[:limit] for name, column in typed_columns(self.graph, self.objective, rows).items()}
        for start in range(0, len(next(iter(every.values()))), ROWS):
            columns = {name: column[start : start + ROWS] for name, column in every.items()}
            signals = encoded(columns, self.graph, self.objective)
            found = self.batch(Batch(signals, self.objective.asked(signals)))
            for index, (record, unknown) in enumerate(zip(found, unknown_tokens(columns, self.objective), strict=True)):
                values = {name: columns[name][index] for name in self.shown}
                typed = {name: value for name, value in values.items() if isinstance(value, str | list | Mapping)}
                yield {"row": start + index, **record, **typed, **({"unknown": unknown} if unknown else {})}

    def split(self, split: Split, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """The records of a split, in order, with the targets if the data has them; at most ``limit`` of them."""
        size, written = self.objective.size(split), self.objective.written(split)
        count = size if limit is None else min(size, limit)
        for start in range(0, count, ROWS):
            rows = range(start, min(start + ROWS, count))
            for row, record in zip(rows, self.batch(self.objective.batch(split, rows)), strict=True):
                yield {"row": row, **(record if written is None else self._in_own_words(record, next(written)))}

    @torch.inference_mode()
    def batch(self, batch: Batch) -> list[dict[str, Any]]:
        """The records of a batch."""
        batch = batch.to(self.graph.device)
        columns = {
            name: self.objective.show(name, batch.signals[name])
            for name in self.shown
            if batch.signals[name].kind != "image"
        }
        rows: Records = [{name: texts[row] for name, texts in columns.items()} for row in range(batch.rows)]
        for head in self.graph.heads:
            for row, record in zip(rows, self._of_head(head, batch), strict=True):
                row.update(record if len(self.graph.heads) == 1 else {head.name: record})
        return rows

    def _of_head(self, head: Node, batch: Batch) -> Records:
        """A head's prediction for every row, and the target if it is known."""
        graph, objective, options, target = self.graph, self.objective, self.options, self.graph.target(head)
        wanted = batch.signals.get(target.name)
        if wanted is None and not target.compared and len(graph.heads) > 1:
            return [{} for _ in range(batch.rows)]  # the other heads predict something for these rows
        length = options.length or self.horizon.get(target.name)
        decoding = DecodeOptions(search=options.search, length=length, samples=options.samples, seed=options.seed)
        along = batch.signals.get(str(target.field.axis))
        alike = along is not None and objective.fields[str(target.field.axis)].contents.tokens == target.contents.tokens
        asked = ReportRequest(
            target,
            partial(objective.show, target.name),
            partial(objective.source.unscaled, target.name),
            batch.weights.get(target.name),
            along if alike else None,
            top=options.top,
            bounds=graph.bounds.get(head.name),
            samples=options.samples,
            confidence=options.confidence,
            seed=options.seed,
        )
        found = records_of(graph.nodes[head.name], decode(graph, head, batch, decoding), asked)
        found = self._with_times(batch, target, found)
        if wanted is None or not target.compared:
            return found
        texts = objective.show(target.name, wanted)
        return [{**record, "wanted": text} for record, text in zip(found, texts, strict=True)]

    def _with_times(self, batch: Batch, target: Target, records: Records) -> Records:
        """The records of a forecast with the names of its channels and the times of its steps."""
        if target.field.kind != "seq" or target.contents.names is None:
            return records
        source, origin, times = self.objective.source, batch.origin, None
        steps = max((len(record["predicted"]) for record in records if "predicted" in record), default=0)
        if origin is not None and steps and target.name in source.fields:
            times = source.times(target.name, origin.split, origin.rows, steps)
        own = [{}] * len(records) if times is None else [{"times": each} for each in times]
        channels = {"channels": [*target.contents.names]}
        return [{**record, **channels, **when} for record, when in zip(records, own, strict=True)]

    def _in_own_words(self, record: dict[str, Any], written: WrittenRow) -> dict[str, Any]:
        """A record with the place of its row and the values as the user's file has them, instead of their tokens."""
        values, heads = written.values, self.graph.heads
        given = {name: values[name] for name in self.shown if name in values}
        own = {**given, **record, **given}
        for head in heads:
            of_head = own if len(heads) == 1 else own[head.name]
            if "wanted" in of_head and head.predicts in values:
                of_head["wanted"] = values[head.predicts]
        return {**written.place, **own}


def horizon_of(graph: Graph, objective: Objective) -> dict[str, int]:
    """For generated sequences of real values, the number of steps that the data has."""
    real = [name for name in graph.plan.generated if graph.plan.inputs[name].kind == "seq"]
    if not real:
        return {}
    return {name: int(steps[0]) for name, steps in objective.lengths("valid", [0]).items() if name in real}


def to_json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, default=str)  # a Parquet file may hold dates
