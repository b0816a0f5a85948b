"""How the prediction of a head is obtained: the only place that decides it, whoever asks.

a head with a method ``decode``       what this method returns
generates, from given inputs          tokens by a search, or a forecast of real values, step by step
generates without inputs              how likely a given sequence is (a language model)
anything else                         the most likely target of the head's output: classes, tags, numbers, CTC
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from composer.core.capabilities import offers
from composer.core.problems import UserError
from composer.core.signals import Signal
from composer.core.target import Target
from composer.decoding.generation import generate
from composer.decoding.predictions import Aligned, Forecast, Generated, Prediction, Scored
from composer.decoding.rollout import forecast, greedy
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.objectives import Batch


@dataclass(frozen=True, kw_only=True)
class DecodeOptions:
    """How to decode.

    search: the search for tokens; None for the most likely ones without their scores, which is faster
    length: the largest number of generated tokens, by default that of the search; the exact number of steps of a
        forecast, which has no default
    samples, seed: the number of values or paths that are drawn for the bounds of real values; none by default, and for
        a head with calibrated bounds
    forced: with teacher forcing, every step of a generated sequence is predicted from the true earlier ones
    batch: generate so many rows also where the target is given, or where there is no input (a language model)
    """

    search: Settings | None = None
    length: int | None = None
    samples: int | None = None
    seed: int = 0
    forced: bool = False
    batch: int | None = None

    def settings(self) -> Settings:
        search = self.search or Settings()
        return search if self.length is None else replace(search, length=self.length)


def decode(
    graph: Graph, head: Node, batch: Batch, options: DecodeOptions | None = None, output: Signal | None = None
) -> Prediction:
    """What a head predicts for a batch on the device of the graph.

    output: the head's output for the batch, with teacher forcing, where it is known
    """
    options = options or DecodeOptions()
    module: Any = graph.nodes[head.name]
    target = graph.target(head)
    own = module.decode if offers(module, "decode") else None
    if target.generates and not options.forced and (target.decodes or options.batch is not None):
        if own is not None:
            with torch.inference_mode():
                return own(Stream(graph, batch.signals, head, options.batch or 1, kind=target.field.kind), options)
        generation = _tokens if target.field.kind == "ids" else _forecast
        return generation(graph, head, batch.signals, options)
    if output is None:
        output = _output(graph, head, target, batch.signals)
    if target.generates and not options.forced:
        weight = batch.weight(target.name)
        losses = (module.loss(output, batch.signals[target.name]) * weight).double().sum(1)
        return Scored(module.predict(output), -losses, weight.double().sum(1), output=output)
    if own is not None and not target.generates:
        return replace(own(output, options), output=output)
    found = module.predict(output)
    if target.field.kind not in ("seq", "vec") or target.binary:
        return Aligned(found, output=output)
    if options.samples is None:
        return Forecast(found, output=output)
    deviation = module.deviation(output.values) if offers(module, "deviation") else None
    paths = None
    if head.name not in graph.bounds and offers(module, "sample"):
        generator = torch.Generator(output.values.device).manual_seed(options.seed)
        paths = torch.stack([module.sample(output.values, generator) for _ in range(options.samples)], dim=1)
    return Forecast(found, paths, deviation, output=output)


def _tokens(graph: Graph, head: Node, inputs: Mapping[str, Signal], options: DecodeOptions) -> Generated:
    settings, batch = options.settings(), options.batch or 1
    scored = offers(graph.nodes[head.name], "log_probabilities") or settings.search != "greedy"
    if options.search is None or not scored:
        return Generated(greedy(graph, inputs, head.name, settings.length, batch))
    return generate(graph, inputs, settings, head=head, batch=batch)


def _forecast(graph: Graph, head: Node, inputs: Mapping[str, Signal], options: DecodeOptions) -> Forecast:
    steps, batch = options.length, options.batch or 1
    if steps is None:
        raise UserError(f"nothing says how many steps of '{head.predicts}' to forecast. Give a length.")
    mean = forecast(graph, inputs, head.name, steps, batch=batch)
    if options.samples is None or head.name in graph.bounds or not offers(graph.nodes[head.name], "sample"):
        return Forecast(mean)
    paths = forecast(graph, inputs, head.name, steps, options.samples, options.seed, batch=batch).values
    return Forecast(mean, paths.unflatten(0, (mean.batch, options.samples)))


def _output(graph: Graph, head: Node, target: Target, signals: Mapping[str, Signal]) -> Signal:
    """A head's output with teacher forcing, computed by the nodes that the head depends on."""
    if target.generates and target.name not in signals:
        raise UserError(f"'{head.name}' says how likely a '{target.name}' is, so the data has to have it.")
    if graph.reads(head.name) & graph.plan.generated:
        signals = {**signals, **graph.shifted(signals)}
    return graph.run(signals, head.name)[head.name]
