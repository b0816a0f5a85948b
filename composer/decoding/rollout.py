"""Generation without scores: the model reads its own values, the most likely ones or those that its caller chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import torch
from torch import Tensor

from composer.core.block import Positive, Range
from composer.core.signals import Ids, Seq, Signal, Vec
from composer.decoding.settings import check
from composer.decoding.stream import Stream
from composer.decoding.written_rows import WrittenRows
from composer.graph.graph import Graph

#: choose(step, stream): the next value of every row in the batch, (R,) or (R, D), by the number of the step.
Choose = Callable[[int, Stream], Tensor]


def greedy(graph: Graph, inputs: Mapping[str, Signal], head: str, length: int, batch: int = 1) -> Ids:
    """Generate the most likely token at every step, up to <eos> or ``length`` steps.

    batch: the number of rows where the graph has no inputs; otherwise the inputs determine it
    """
    check("length", length, Positive)
    with torch.inference_mode():
        stream = Stream(graph, inputs, head, batch)
        lengths, tokens = rollout(stream, length, most_likely, stream.field.stop)
    return Ids(tokens.clone(), lengths.clone())


def forecast(
    graph: Graph, inputs: Mapping[str, Signal], head: str | None = None, steps: int = 1, samples: int | None = None,
    seed: int = 0, *, prompt: Seq | None = None, batch: int = 1,
) -> Seq:  # fmt: skip
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
        choose: Choose = most_likely
        if samples is not None:
            stream.needs("sample", "drawing paths")
            stream.select(torch.arange(stream.batch, device=device).repeat_interleave(samples))
            generator = torch.Generator(device).manual_seed(seed)
            choose = lambda step, stream: stream.head.sample(stream.output, generator)  # noqa: E731
        _, values = rollout(stream, steps, choose)
    return Seq(values.clone())


def most_likely(step: int, stream: Stream) -> Tensor:
    if stream.field.kind == "ids":
        return stream.head.predict(Vec(stream.output)).values
    return stream.head.predict(Seq(stream.output.unsqueeze(1))).values.squeeze(1)


def rollout(stream: Stream, length: int, choose: Choose, stop: int | None = None) -> tuple[Tensor, Tensor]:
    """The length of every row, (B,), and the values that were chosen, (B, T) or (B, T, D), up to the token ``stop``."""
    rows = WrittenRows(stream.batch, stream.output.device)
    for step in range(length):
        value = choose(step, stream)
        rows.write(value, ended=None if stop is None else value == stop)
        left = None if stop is None else rows.going_on()
        if left is not None:
            if not len(left):
                break
            stream.select(left)
            value = value[left]
        if step + 1 < length:
            stream.advance(value)
    lengths, (values,) = rows.together()
    return lengths, values
