"""Real values rolled forward: each step's prediction is the next step's input."""

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
    """What a head of real values predicts, (B, steps, D): its means, or ``samples`` paths drawn from it.

    With samples the result is (B * samples, steps, D), the paths of a row one after the other: its values unflattened
    to (B, samples, steps, D) give quantiles. One generator draws for all rows, so a path depends on the rows before.
    prompt: the values that every row begins with, of lengths of their own
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
                written.append(stream.head.predict(Seq(stream.output[:, None])).values[:, 0])
            else:
                written.append(stream.head.sample(stream.output, generator))
        values = torch.stack(written, dim=1)
    return Seq(values.clone())
