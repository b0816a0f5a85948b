"""Autoregressive forecasts of real values: the prediction of each step is the input of the next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from torch import Tensor

from composer.core.block import Positive, Range
from composer.core.signals import Seq, Signal
from composer.decoding.settings import check
from composer.decoding.stream import Stream
from composer.graph.graph import Graph


def roll(
    graph: Graph,
    inputs: Mapping[str, Signal],
    head: str | None = None,
    steps: int = 1,
    samples: int | None = None,
    seed: int = 0,
    *,
    prompt: Seq | None = None,
    batch: int = 1,
) -> Seq:
    """The forecast of a head of real values, (B, steps, D): the predicted means, or ``samples`` sampled paths a row.

    With ``samples`` the result is (B * samples, steps, D), where the paths of a row follow one another; unflatten it to
    (B, samples, steps, D) for quantiles. One generator draws for all rows, so a path depends on the rest of the batch.

    prompt: the values that each row begins with, of any length a row
    """
    check("steps", steps, Positive)
    check("samples", samples, Positive | None)
    check("seed", seed, Annotated[int, Range(low=0)])
    with torch.inference_mode():
        stream = Stream(graph, inputs, head, batch, prompt, kind="seq")
        device = stream.output.device
        if samples is not None:
            stream.needs("sample", "drawing paths")
            stream.select(torch.arange(stream.batch, device=device).repeat_interleave(samples))
        generator = torch.Generator(device).manual_seed(seed)
        written: list[Tensor] = []
        for step in range(steps):
            if step:
                stream.advance(written[-1])
            if samples is None:
                written.append(stream.head.predict(Seq(stream.output.unsqueeze(1))).values.squeeze(1))
            else:
                written.append(stream.head.sample(stream.output, generator))
        values = torch.stack(written, dim=1)
    return Seq(values.clone())
