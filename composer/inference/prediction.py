"""Rows in, what every head says of them out, as plain data.

What a head says follows from what it predicts and how:

    a label                 its name, its probability, and the likeliest names
    a tag a step            the tags, each with its probability
    masked tokens           the text filled in, and every token that was hidden
    a generated sequence    the text, its score, and as many others as asked for
    real values             means, and bounds that hold a share of what the head would draw
    labels there or not     zeros and ones
    a language model        the log-probability of the text itself
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import torch
from torch import Tensor

from composer.core.block import Positive, Range
from composer.core.capabilities import offers
from composer.core.problems import UserError
from composer.core.signals import Field, Ids, Label, Seq, Signal, Timed, Vec
from composer.decoding import Settings, generate, roll
from composer.decoding.settings import check
from composer.graph.graph import Graph, run_node
from composer.graph.nodes import Node
from composer.inference.data import Data
from composer.inference.generation import json_object, rounded
from composer.metrics.choice import aligned, binary, decodes, generates
from composer.objectives import Batch, Objective

#: Rows predicted at a time.
ROWS = 64


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """How to predict.

    beams: sequences kept while one is generated; the most likely token at every step where it is None
    best: sequences given for every row, best first
    length: steps generated at most; of real values exactly, and as many as the data has where it is None
    top: how many of the likeliest labels to name
    samples: paths or values drawn for an interval
    confidence: the share of them that lies in it
    seed: of what is drawn
    """

    beams: Positive | None = None
    best: Positive = 1
    length: Positive | None = None
    top: Positive = 5
    samples: Positive = 200
    confidence: Annotated[float, Range(above=0, below=1)] = 0.95
    seed: Annotated[int, Range(low=0)] = 0

    def __post_init__(self) -> None:
        for name, annotation in get_type_hints(Wishes, include_extras=True).items():
            check(name, getattr(self, name), annotation)

    @property
    def settings(self) -> Settings:
        length: dict[str, Any] = {} if self.length is None else {"length": self.length}
        if self.beams is None and self.best == 1:
            return Settings(**length)
        return Settings(search="beam", beams=self.beams or max(Settings.beams, self.best), best=self.best, **length)


def predict_rows(graph: Graph, objective: Objective, rows: Sequence[Any], wishes: Wishes) -> Iterator[dict[str, Any]]:
    """What the heads say of rows at hand: texts as one would type them, or values as the data has them."""
    wanted = list(graph.plan.given) or sorted(graph.plan.generated)
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        if len(graph.plan.given) > 1:
            objects = [json_object(row, wanted) for row in some]
            columns = {name: [row[name] for row in objects] for name in wanted}
        else:
            columns = {name: list(some) for name in wanted}
        for name, column in columns.items():
            for value in column:
                if isinstance(value, str) and not value.strip():
                    raise UserError(f"an empty row: this model needs its '{name}'. Give one.")
        signals = {name: objective.encode(name, column) for name, column in columns.items()}
        batch = Batch(signals, objective.asked(signals))
        found = predict_batch(graph, objective, batch, wishes, _horizon(graph, objective))
        for index, record in enumerate(found):
            values = {name: column[index] for name, column in columns.items()}
            typed = {name: value for name, value in values.items() if isinstance(value, str)}
            unknown = [token for name, value in typed.items() for token in objective.unknown(name, value)]
            yield {"row": start + index, **record, **typed, **({"unknown": unknown} if unknown else {})}


def predict_data(graph: Graph, data: Data, wishes: Wishes, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """What the heads say of every row of some data, in its order; with what was wanted, where that is there."""
    count = min(len(data.checked()), len(data) if limit is None else limit)
    horizon = _horizon(graph, data.objective)
    for start in range(0, count, ROWS):
        batch = data.objective.batch(data.split, range(start, min(start + ROWS, count)))
        found = predict_batch(graph, data.objective, batch, wishes, horizon)
        yield from ({"row": row, **record} for row, record in enumerate(found, start))


def _horizon(graph: Graph, objective: Objective) -> dict[str, int]:
    """How many steps the data has of real values that are to be generated."""
    real = [name for name in graph.plan.generated if graph.plan.inputs[name].kind == "seq"]
    if not real:
        return {}
    return {name: int(steps[0]) for name, steps in objective.lengths("valid", [0]).items() if name in real}


@torch.inference_mode()
def predict_batch(
    graph: Graph, objective: Objective, batch: Batch, wishes: Wishes, horizon: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A record for every row."""
    reading = _Reading(graph, objective, batch.to(graph.device), wishes, horizon)
    columns: dict[str, list[Any]] = {}
    for name in graph.plan.given or sorted(graph.plan.generated):
        if batch.signals[name].kind != "image":
            columns[name] = objective.show(name, batch.signals[name])
    rows = [{name: texts[row] for name, texts in columns.items()} for row in range(batch.rows)]
    for head in graph.heads:
        for row, record in zip(rows, reading.of(head), strict=True):
            row.update(record if len(graph.heads) == 1 else {head.name: record})
    return rows


class _Reading:
    """A batch as the heads of a graph read it."""

    def __init__(
        self, graph: Graph, objective: Objective, batch: Batch, wishes: Wishes, horizon: Mapping[str, int]
    ) -> None:  # fmt: skip
        self.graph, self.objective, self.batch, self.wishes = graph, objective, batch, wishes
        self.horizon = horizon
        self.given = {name: batch.signals[name] for name in graph.plan.given}

    def of(self, head: Node) -> list[dict[str, Any]]:
        """What a head says of every row, and what was wanted where that is known."""
        found = self._found(head)
        wanted = self.batch.signals.get(str(head.predicts))
        if wanted is None or (generates(self.graph, head) and not decodes(self.graph, head)):
            return found
        told = self.objective.show(str(head.predicts), wanted)
        return [{**record, "wanted": text} for record, text in zip(found, told, strict=True)]

    def _found(self, head: Node) -> list[dict[str, Any]]:
        graph, module = self.graph, self.graph.nodes[head.name]
        field = graph.plan.targets[str(head.predicts)]
        if decodes(graph, head):
            return self._generated(head) if field.kind == "ids" else self._rolled(head)
        if generates(graph, head):
            return self._scored(head)
        output = self._output(head)
        if field.kind == "label":
            return self._label(module, output, field)
        if field.kind == "ids":
            return self._steps(head, output, field) if aligned(graph, head) else self._read(head, output)
        if binary(graph, head):
            return [{"predicted": _listed(row)} for row in _rows(_predict(module, output))]
        return self._numbers(head, output)

    def _output(self, head: Node) -> Signal:
        """What a head gives, run with no more than it depends on."""
        signals = dict(self.batch.signals)
        behind = self.graph.plan.behind(head.name)
        if any(name in self.graph.plan.generated for node in behind for name in node.inputs):
            signals |= self.graph.shifted(self.batch.signals)
        for node in behind:
            signals[node.name] = run_node(node, self.graph.nodes[node.name], signals)
        return signals[head.name]

    def _label(self, module: Any, output: Signal, field: Field) -> list[dict[str, Any]]:
        likely = module.log_probabilities(output.values).exp()  # (B, V)
        best = likely.topk(min(self.wishes.top, likely.shape[1]))
        records = []
        for shares, places in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            names = [field.tokens[i] if field.tokens is not None else str(i) for i in places]
            named = {name: rounded(share) for name, share in zip(names, shares, strict=True)}
            records.append({"predicted": names[0], "probability": rounded(shares[0]), "probabilities": named})
        return records

    def _steps(self, head: Node, output: Signal, field: Field) -> list[dict[str, Any]]:
        """A token for every step that counts: all of them, or those that were hidden."""
        module: Any = self.graph.nodes[head.name]
        assert isinstance(output, Timed)
        likely = module.log_probabilities(output.values).exp()  # (B, T, V)
        best = likely.max(-1)
        target = str(head.predicts)
        weight = self.batch.weights.get(target)
        if weight is None:
            return [
                {"predicted": _names(tokens[:n], field), "probabilities": [rounded(share) for share in shares[:n]]}
                for tokens, shares, n in zip(
                    best.indices.tolist(), best.values.tolist(), output.counts.tolist(), strict=True
                )
            ]
        hidden = weight > 0  # (B, T)
        records = []
        for row, text in enumerate(self._filled(target, field, best.indices, hidden)):
            places = hidden[row].nonzero()[:, 0].tolist()
            shares = [rounded(float(best.values[row, place])) for place in places]
            tokens = [
                {"place": place, "predicted": name, "probability": share}
                for place, name, share in zip(
                    places, _names(best.indices[row, places].tolist(), field), shares, strict=True
                )
            ]
            records.append({"predicted": text, "tokens": tokens})
        return records

    def _filled(self, target: str, field: Field, found: Tensor, hidden: Tensor) -> list[str]:
        """What was given, with what was found at the steps that were asked for."""
        along = self.batch.signals.get(str(field.axis))
        alike = field.axis is not None and self.objective.fields[field.axis].tokens == field.tokens
        if not isinstance(along, Ids) or not alike:
            return [" ".join(_names(row[mask].tolist(), field)) for row, mask in zip(found, hidden, strict=True)]
        return self.objective.show(target, Ids(torch.where(hidden, found, along.values), along.lengths))

    def _read(self, head: Node, output: Signal) -> list[dict[str, Any]]:
        """A sequence that finds its places itself."""
        found = _predict(self.graph.nodes[head.name], output)
        return [{"predicted": text} for text in self.objective.show(str(head.predicts), found)]

    def _generated(self, head: Node) -> list[dict[str, Any]]:
        result = generate(self.graph, self.given, self.wishes.settings, head=head.name)
        records = []
        for hypotheses in result.rows:
            found = [
                {
                    "predicted": self.objective.show(str(head.predicts), Ids(h.tokens[None]))[0],
                    "score": rounded(h.score),
                    "log_probability": rounded(h.log_probability),
                    "finished": h.finished,
                }
                for h in hypotheses
            ]
            records.append({**found[0], **({"others": found[1:]} if len(found) > 1 else {})})
        return records

    def _rolled(self, head: Node) -> list[dict[str, Any]]:
        target, wishes = str(head.predicts), self.wishes
        steps = wishes.length or self.horizon.get(target)
        if steps is None:
            raise UserError(f"nothing says how many steps of '{target}' to forecast. Give a length.")
        mean = roll(self.graph, self.given, head.name, steps).values
        paths = roll(self.graph, self.given, head.name, steps, wishes.samples, wishes.seed).values
        return self._bounded(target, mean, paths.unflatten(0, (len(mean), wishes.samples)))

    def _numbers(self, head: Node, output: Signal) -> list[dict[str, Any]]:
        """Means, with bounds where the head can draw."""
        module: Any = self.graph.nodes[head.name]
        found = _predict(module, output)
        assert isinstance(found, Seq | Vec)
        if not offers(module, "sample"):
            return self._bounded(str(head.predicts), found.values, None)
        generator = torch.Generator(output.values.device).manual_seed(self.wishes.seed)
        drawn = [module.sample(output.values, generator) for _ in range(self.wishes.samples)]
        counts = found.counts.tolist() if isinstance(found, Seq) else None
        return self._bounded(str(head.predicts), found.values, torch.stack(drawn, dim=1), counts)

    def _bounded(
        self, target: str, mean: Tensor, drawn: Tensor | None, counts: list[int] | None = None
    ) -> list[dict[str, Any]]:
        """Means (B, ..., D), and the bounds of what was drawn, (B, samples, ..., D), in the data's units."""
        columns = {"predicted": mean}
        if drawn is not None:
            outside = (1 - self.wishes.confidence) / 2
            levels = torch.tensor([outside, 1 - outside], device=drawn.device, dtype=drawn.dtype)
            columns["low"], columns["high"] = drawn.quantile(levels, dim=1)
        plain = {name: self.objective.source.unscaled(target, values) for name, values in columns.items()}
        ends: Sequence[int | None] = counts or [None] * len(mean)
        return [{name: _listed(values[row][:end]) for name, values in plain.items()} for row, end in enumerate(ends)]

    def _scored(self, head: Node) -> list[dict[str, Any]]:
        """How likely a text is, each step after those before it."""
        target = str(head.predicts)
        signal = self.batch.signals.get(target)
        if signal is None:
            raise UserError(f"'{head.name}' says how likely a '{target}' is, so the data has to have it.")
        output = self._output(head)
        module: Any = self.graph.nodes[head.name]
        weight = self.batch.weight(target)
        losses = (module.loss(output, signal) * weight).double().sum(1)
        counts = weight.double().sum(1)
        return [
            {
                "log_probability": rounded(-loss),
                "steps": int(count),
                "perplexity": rounded(math.exp(min(loss / count, 700))) if count else None,
            }
            for loss, count in zip(losses.tolist(), counts.tolist(), strict=True)
        ]


def _predict(module: Any, output: Signal) -> Signal:
    found = module.predict(output)
    assert isinstance(found, Seq | Vec | Ids | Label)
    return found


def _rows(signal: Signal) -> list[Tensor]:
    """Every row's real values."""
    counts = signal.counts.tolist() if isinstance(signal, Timed) else [None] * signal.batch
    return [row[:count] for row, count in zip(signal.values.cpu(), counts, strict=True)]


def _names(ids: list[int], field: Field) -> list[str]:
    return [field.tokens[i] if field.tokens is not None else str(i) for i in ids]


def _listed(values: Tensor) -> Any:
    """Numbers as a person would list them: one number alone stands alone, and so do those of one channel."""
    values = values.cpu()
    if values.shape[-1] == 1:
        values = values.squeeze(-1)
    if values.dim() == 0:
        return rounded(float(values))
    if values.dim() == 1:
        return [rounded(value) for value in values.tolist()]
    return [[rounded(value) for value in row] for row in values.tolist()]


def to_json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)
