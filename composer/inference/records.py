"""A head's prediction for every row, as plain data: the head's own report, or the form for the kind of its target.

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
from typing import Any

import torch
from torch import Tensor

from composer.core.capabilities import offers
from composer.core.signals import Ids, Seq, Signal, Timed, Vec
from composer.core.target import Asked, log_likelihoods

Records = list[dict[str, Any]]


def records_of(head: Any, output: Signal, asked: Asked) -> Records:
    """A record for every row of a head's output."""
    if offers(head, "report"):
        return head.report(output, asked)
    target = asked.target
    match target.field.kind:
        case "label":
            return label_records(head, output, asked)
        case "ids" if not target.aligned:
            return [{"predicted": text} for text in asked.show(head.predict(output))]
        case "ids":
            return step_records(head, output, asked)
        case _ if target.binary:
            return [{"predicted": _present(row, target.field.names)} for row in _real_rows(head.predict(output))]
        case _:
            return number_records(head, output, asked)


def label_records(head: Any, output: Signal, asked: Asked) -> Records:
    logs = log_likelihoods(head, output)
    if logs is None:
        return [{"predicted": name} for name in asked.names(head.predict(output).values.tolist())]
    likely = logs.exp()  # (B, V)
    best = likely.topk(min(asked.top, likely.shape[1]))
    records = []
    for shares, places in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        names = asked.names(places)
        named = {name: rounded(share) for name, share in zip(names, shares, strict=True)}
        records.append({"predicted": names[0], "probability": rounded(shares[0]), "probabilities": named})
    return records


def step_records(head: Any, output: Signal, asked: Asked) -> Records:
    """A token for every step; with a masked-token objective, for every masked step."""
    found = head.predict(output)
    assert isinstance(found, Ids)
    shares: Tensor | None = None
    if (logs := log_likelihoods(head, output)) is not None:  # (B, T, V)
        shares = logs.exp().gather(-1, found.values[..., None])[..., 0]  # (B, T)
    if asked.weight is not None:
        return _hidden_records(found, shares, asked.weight > 0, asked)
    records = []
    for row, count in enumerate(found.counts.tolist()):
        record: dict[str, Any] = {"predicted": asked.names(found.values[row, :count].tolist())}
        if shares is not None:
            record["probabilities"] = [rounded(share) for share in shares[row, :count].tolist()]
        records.append(record)
    return records


def _hidden_records(found: Ids, shares: Tensor | None, hidden: Tensor, asked: Asked) -> Records:
    """The text with its masked tokens filled in, and a record for each of them. ``hidden``, (B, T), is the mask."""
    records = []
    for row, text in enumerate(_filled(found.values, hidden, asked)):
        places = hidden[row].nonzero()[:, 0].tolist()
        names = asked.names(found.values[row, places].tolist())
        tokens: Records = [{"place": place, "predicted": name} for place, name in zip(places, names, strict=True)]
        if shares is not None:
            for token in tokens:
                token["probability"] = rounded(float(shares[row, token["place"]]))
        records.append({"predicted": text, "tokens": tokens})
    return records


def _filled(found: Tensor, hidden: Tensor, asked: Asked) -> list[str]:
    """The text of every row, with the predicted tokens at the masked steps and the given tokens at the others."""
    along = asked.along
    if not isinstance(along, Ids):
        return [" ".join(asked.names(row[mask].tolist())) for row, mask in zip(found, hidden, strict=True)]
    return asked.show(Ids(torch.where(hidden, found, along.values), along.lengths))


def number_records(head: Any, output: Signal, asked: Asked) -> Records:
    """Means, with calibrated bounds, or else with those of samples, if the head can sample."""
    found = head.predict(output)
    assert isinstance(found, Seq | Vec)
    counts = found.counts.tolist() if isinstance(found, Seq) else None
    if asked.bounds is not None or not offers(head, "sample"):
        deviation = head.deviation(output.values) if offers(head, "deviation") else None
        return bounded_records(found.values, None, asked, counts, deviation)
    generator = torch.Generator(output.values.device).manual_seed(asked.seed)
    drawn = [head.sample(output.values, generator) for _ in range(asked.samples)]
    return bounded_records(found.values, torch.stack(drawn, dim=1), asked, counts)


def bounded_records(
    mean: Tensor,
    drawn: Tensor | None,
    asked: Asked,
    counts: list[int] | None = None,
    deviation: Tensor | None = None,
) -> Records:
    """Means (B, ..., D) and their bounds in the data's units: the calibrated ones, or else quantiles of the samples
    ``drawn``, (B, samples, ..., D).

    deviation: (B, ..., D), the unit of calibrated bounds; None for 1
    """
    columns = {"predicted": mean}
    if asked.bounds is not None:
        half = asked.bounds.half_width(asked.confidence, mean.shape[1] if mean.dim() == 3 else 1).to(mean)
        half = (half if mean.dim() == 3 else half[0]) * (1.0 if deviation is None else deviation)
        columns["low"], columns["high"] = mean - half, mean + half
    elif drawn is not None:
        outside = (1 - asked.confidence) / 2
        levels = torch.tensor([outside, 1 - outside], device=drawn.device, dtype=drawn.dtype)
        columns["low"], columns["high"] = drawn.quantile(levels, dim=1)
    plain = {name: asked.unscaled(values) for name, values in columns.items()}
    ends: Sequence[int | None] = counts or [None] * len(mean)
    return [{name: listed_numbers(values[row][:end]) for name, values in plain.items()} for row, end in enumerate(ends)]


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
    values = values.cpu()
    if values.shape[-1] == 1:
        values = values.squeeze(-1)
    if values.dim() == 0:
        return rounded(float(values))
    if values.dim() == 1:
        return [rounded(value) for value in values.tolist()]
    return [[rounded(value) for value in row] for row in values.tolist()]


def rounded(value: float) -> float | None:
    """A number rounded to the precision of float32; None for NaN and infinity, which JSON lacks."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
