"""Graphs that decode, and what decoding has to equal: reading everything anew at every step."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from composer.core.signals import Field, Ids, Signal, Vec
from composer.decoding import Generated, Settings
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from tests.support.templates import TEMPLATES, VOCABULARY, nodes

SOURCES: dict[str, dict[str, Signal]] = {
    "language_model": {},
    "seq2seq": {"source": Ids(torch.tensor([[2, 3, 4, 5], [6, 5, 9, 9], [3, 3, 2, 9]]), torch.tensor([4, 2, 3]))},
    "vec2seq": {"source": Vec(torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 0.0], [0.0, 0.1, 0.2]]))},
}
PROMPT = Ids(torch.tensor([[4, 2, 6], [99, 99, 99], [5, 99, 99]]), torch.tensor([3, 0, 1]))
BEAMS = Settings(search="beam", beams=3, best=3, length=5)


def built(found: dict[str, Any], template: str, fields: dict[str, Field] | None = None, seed: int = 1) -> Graph:
    graph = compile_graph(found, fields or TEMPLATES[template]).materialise(seed).eval()
    with torch.no_grad():
        for parameter in graph.nodes["output"].parameters():
            parameter.mul_(3)  # so that the tokens differ in probability
    return graph


def reread(graph: Graph, inputs: dict[str, Signal], row: int, tokens: list[int]) -> torch.Tensor:
    """(T, V): the log-probabilities of every next token of one row, all of it read at once."""
    own = {name: type(s)(*(v[row : row + 1] for v in vars(s).values() if v is not None)) for name, s in inputs.items()}
    late = graph.shifted({"target": Ids(torch.tensor([tokens]))})
    outputs, _ = graph(own | late)
    head: Any = graph.nodes["output"]
    return head.log_probabilities(outputs["output"].values)[0]


@torch.no_grad()
def same_as_reread(graph: Graph, inputs: dict[str, Signal], result: Generated, prompt: Ids | None, best: bool) -> None:
    for row, hypotheses in enumerate(result.rows):
        given = [] if prompt is None else prompt.values[row, : int(prompt.counts[row])].tolist()
        for hypothesis in hypotheses:
            written = hypothesis.tokens.tolist()
            found = reread(graph, inputs, row, given + written)[len(given) :]
            total = found[range(len(written)), written].sum().item()
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
            if best:
                assert found.argmax(-1).tolist() == written


SMALL = {"source": Field("ids", vocabulary=VOCABULARY), "target": Field("ids", vocabulary=4, start=0, stop=1)}


def small(mixer: str, template: str = "language_model") -> Graph:
    """A graph over four tokens, of which one is <eos>: few sequences in all."""
    return built(nodes(template, mixer), template, SMALL if template == "seq2seq" else {"target": SMALL["target"]})


def endless(mixer: str, vocabulary: int = VOCABULARY, seed: int = 1) -> Graph:
    """A graph without <eos>."""
    fields = {"target": Field("ids", vocabulary=vocabulary, start=0)}
    return built(nodes("language_model", mixer), "language_model", fields, seed)


SERIES = {"target": Field("seq", dim=2)}


def forecaster(head: dict[str, Any]) -> Graph:
    found = {
        "embedding": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": "target"},
        "decoder": {"kind": "stack", "depth": 2, "mixer": "gru", "norm": "layer", "from": "embedding"},
        "output": {"kind": "head", "from": "decoder", "predicts": "target", **head},
    }
    return compile_graph(found, SERIES).materialise().eval()
