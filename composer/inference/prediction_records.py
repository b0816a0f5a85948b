"""A head's prediction for every row, as plain data: the head's own report, or the form for the kind of its target.

    generated tokens           their text, its score, and further texts
    a given sequence           its log-probability under a language model
    a label                    its name, its probability, and the most likely names
    a tag per step             the tags, each with its probability
    masked tokens              the text with the masked tokens filled in, and a record for each of them
    tokens without alignment   the text
    real values                means, and bounds that hold a share of the values
    several binary labels      the names of those that are present, or zeros and ones

Records have probabilities if the head offers ``log_probabilities`` or ``log_marginals``. Bounds are calibrated by the
validations of a run; those of a model without a validation come from the head's samples, if it offers ``sample``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from composer.core.capabilities import offers
from composer.core.signals import Ids, Signal, Timed
from composer.core.target import ReportRequest, log_likelihoods
from composer.decoding import Forecast, Generated, Hypothesis, Prediction, Scored

Records = list[dict[str, Any]]


def records_of(head: Any, prediction: Prediction, request: ReportRequest) -> Records:
    """A record for every row of a head's prediction."""
    match prediction:
        case Generated():
            return generated_records(prediction, request)
        case Scored():
            return scored_records(prediction)
    if offers(head, "report") and prediction.output is not None:
        return head.report(prediction.output, request)
    if isinstance(prediction, Forecast):
        return number_records(prediction, request)
    found, output, target = prediction.found, prediction.output, request.target
    match target.field.kind:
        case "label":
            return label_records(head, found, output, request)
        case "ids" if target.aligned:
            return step_records(head, found, output, request)
        case "ids":
            return [{"predicted": text} for text in request.show(found)]
    return [{"predicted": _present(row, target.contents.names)} for row in _real_rows(found)]


def generated_records(prediction: Generated, request: ReportRequest) -> Records:
    """The most likely text of every row; with scores, and further texts, where it was generated with them."""
    if not prediction.rows:
        return [{"predicted": text} for text in request.show(prediction.found)]
    texts = [[request.show(Ids(one.tokens[None]))[0] for one in hypotheses] for hypotheses in prediction.rows]
    return [hypothesis_record(row, "predicted", shown) for row, shown in zip(prediction.rows, texts, strict=True)]


def hypothesis_record(hypotheses: Sequence[Hypothesis], key: str, texts: Sequence[str | None]) -> dict[str, Any]:
    """The best of some generated sequences with its text under ``key``, and the others beside it."""
    first, *others = (
        {key: text, "score": rounded(h.score), "log_probability": rounded(h.log_probability), "finished": h.finished}
        for h, text in zip(hypotheses, texts, strict=True)
    )
    return first | ({"others": others} if others else {})


def scored_records(prediction: Scored) -> Records:
    """The log-probability of a given sequence under a language model."""
    return [
        {
            "log_probability": rounded(total),
            "steps": int(count),
            "perplexity": rounded(math.exp(min(-total / count, 700))) if count else None,
        }
        for total, count in zip(prediction.log_probability.tolist(), prediction.steps.tolist(), strict=True)
    ]


def label_records(head: Any, found: Signal, output: Signal | None, request: ReportRequest) -> Records:
    logs = None if output is None else log_likelihoods(head, output)
    if logs is None:
        return [{"predicted": name} for name in request.names(found.values.tolist())]
    likely = logs.exp()  # (B, V)
    best = likely.topk(min(request.top, likely.shape[1]))
    records = []
    for shares, places in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        names = request.names(places)
        named = {name: rounded(share) for name, share in zip(names, shares, strict=True)}
        records.append({"predicted": names[0], "probability": rounded(shares[0]), "probabilities": named})
    return records


def step_records(head: Any, found: Signal, output: Signal | None, request: ReportRequest) -> Records:
    """A token for every step; with a masked-token objective, for every masked step."""
    assert isinstance(found, Ids)
    shares: Tensor | None = None
    if output is not None and (logs := log_likelihoods(head, output)) is not None:  # (B, T, V)
        shares = logs.exp().gather(-1, found.values[..., None])[..., 0]  # (B, T)
    if request.weight is not None:
        return _hidden_records(found, shares, request.weight > 0, request)
    records = []
    for row, count in enumerate(found.counts.tolist()):
        record: dict[str, Any] = {"predicted": request.names(found.values[row, :count].tolist())}
        if shares is not None:
            record["probabilities"] = rounded(shares[row, :count].tolist())
        records.append(record)
    return records


def _hidden_records(found: Ids, shares: Tensor | None, hidden: Tensor, request: ReportRequest) -> Records:
    """The text with its masked tokens filled in, and a record for each of them. ``hidden``, (B, T), is the mask."""
    records = []
    for row, text in enumerate(_filled(found.values, hidden, request)):
        places = hidden[row].nonzero()[:, 0].tolist()
        names = request.names(found.values[row, places].tolist())
        tokens: Records = [{"place": place, "predicted": name} for place, name in zip(places, names, strict=True)]
        if shares is not None:
            for token in tokens:
                token["probability"] = rounded(float(shares[row, token["place"]]))
        records.append({"predicted": text, "tokens": tokens})
    return records


def _filled(found: Tensor, hidden: Tensor, request: ReportRequest) -> list[str]:
    """The text of every row, with the predicted tokens at the masked steps and the given tokens at the others."""
    along = request.along
    if not isinstance(along, Ids):
        return [" ".join(request.names(row[mask].tolist())) for row, mask in zip(found, hidden, strict=True)]
    return request.show(Ids(torch.where(hidden, found, along.values), along.lengths))


def number_records(forecast: Forecast, request: ReportRequest) -> Records:
    """Means and their bounds in the data's units: the calibrated ones, or else quantiles of the sampled values."""
    mean = forecast.found.values  # (B, ..., D)
    columns = {"predicted": mean}
    if request.bounds is not None:
        half = request.bounds.half_width(request.confidence, mean.shape[1] if mean.dim() == 3 else 1).to(mean)
        half = (half if mean.dim() == 3 else half[0]) * (1.0 if forecast.deviation is None else forecast.deviation)
        columns["low"], columns["high"] = mean - half, mean + half
    elif forecast.paths is not None:
        outside = (1 - request.confidence) / 2
        levels = torch.tensor([outside, 1 - outside], device=mean.device, dtype=forecast.paths.dtype)
        columns["low"], columns["high"] = forecast.paths.quantile(levels, dim=1)
    plain = {
        name: _real_rows(replace(forecast.found, values=request.unscaled(column))) for name, column in columns.items()
    }
    rows = zip(*plain.values(), strict=True)
    return [{name: listed_numbers(values) for name, values in zip(plain, row, strict=True)} for row in rows]


def _present(row: Tensor, names: Sequence[str] | None) -> Any:
    """The names of the labels that are present in a row, (D,); zeros and ones where they have no names, or by step."""
    if names is None or row.dim() != 1:
        return listed_numbers(row)
    return [name for name, share in zip(names, row.tolist(), strict=True) if share > 0.5]


def _real_rows(signal: Signal) -> list[Tensor]:
    """The values of every row, without padding."""
    counts = signal.counts.tolist() if isinstance(signal, Timed) else [None] * signal.batch
    return [row[:count] for row, count in zip(signal.values.cpu(), counts, strict=True)]


def listed_numbers(values: Tensor) -> Any:
    """A tensor as nested lists, without the lists that would hold a single number or a single channel."""
    return rounded((values.squeeze(-1) if values.shape[-1] == 1 else values).tolist())


def rounded(value: Any) -> Any:
    """Numbers rounded to the precision of float32; None for NaN and infinity, which JSON lacks."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if math.isfinite(value) else None
