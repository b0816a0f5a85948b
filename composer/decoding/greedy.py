"""Greedy decoding without scores."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from composer.core.block import Positive
from composer.core.signals import Ids, Signal, Vec
from composer.decoding.settings import check
from composer.decoding.stream import Stream
from composer.decoding.written_rows import WrittenRows
from composer.graph.graph import Graph


def greedy(graph: Graph, inputs: Mapping[str, Signal], head: str, length: int, batch: int = 1) -> Ids:
    """Generate the most likely token at every step, up to <eos> or ``length`` steps.

    batch: the number of rows where the graph has no inputs; otherwise the inputs determine it
    """
    check("length", length, Positive)
    with torch.inference_mode():
        stream = Stream(graph, inputs, head, batch)
        stop, rows = stream.field.stop, WrittenRows(stream.batch, graph.device)
        for step in range(length):
            token = stream.head.predict(Vec(stream.output)).values  # (R,)
            rows.write(token, ended=None if stop is None else token == stop)
            left = None if stop is None else rows.going_on()
            if left is not None:
                if not len(left):
                    break
                stream.select(left)
                token = token[left]
            if step + 1 < length:
                stream.advance(token)
        lengths, (tokens,) = rows.together()
    return Ids(tokens.clone(), lengths.clone())
