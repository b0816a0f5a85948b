"""Decoding equals reading everything anew, whatever the graph: for every mixer, bridge and position, through ragged
prompts and beams; real values roll forward likewise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from composer.core import registry
from composer.core.signals import Seq
from composer.decoding import Settings, forecast, generate
from composer.graph.graph import Graph
from tests.support.rereading import BEAMS, PROMPT, SOURCES, built, endless, forecaster, same_as_reread
from tests.support.templates import needs_memory, nodes, refusals

pytestmark = pytest.mark.slow

MIXERS = list(registry.blocks("mixer"))


def decodes(graph: Graph, template: str) -> None:
    """Greedily and with beams, from nothing and from prompts of different lengths."""
    inputs = SOURCES[template]
    for prompt in (None, PROMPT):
        for settings in (Settings(length=6), BEAMS):
            result = generate(graph, inputs, settings, prompt=prompt, batch=3)
            assert len(result.rows) == 3
            same_as_reread(graph, inputs, result, prompt, best=settings.search == "greedy")


@pytest.mark.parametrize("template", ["language_model", "seq2seq"])
@pytest.mark.parametrize("mixer", MIXERS)
def test_what_every_mixer_decodes_is_what_reading_anew_gives(template, mixer):
    if not refusals(template, mixer):
        decodes(built(nodes(template, mixer), template), template)


@pytest.mark.parametrize("mixer", [name for name in MIXERS if needs_memory(name)])
def test_mixers_with_a_memory_decode(mixer):
    found = nodes("seq2seq", "attention")
    decodes(built(found | {"decoder": found["decoder"] | {"mixer": mixer, "cross": None}}, "seq2seq"), "seq2seq")


@pytest.mark.parametrize("bridge", list(registry.blocks("bridge")))
def test_every_bridge_decodes_from_a_vector(bridge):
    enters = getattr(registry.blocks("bridge")[bridge], "enters", "input")
    found = nodes("vec2seq", "gru" if enters == "initial" else "attention")
    cross = "cross_attention" if enters == "memory" else None
    decodes(built(found | {"decoder": found["decoder"] | {"bridge": bridge, "cross": cross}}, "vec2seq"), "vec2seq")


@pytest.mark.parametrize("position", list(registry.blocks("position")))
@pytest.mark.parametrize("mixer", ["attention", "sliding_window", "sparse"])
def test_every_position_decodes(position, mixer):
    found = nodes("language_model", mixer)
    decodes(built(found | {"decoder": found["decoder"] | {"position": position}}, "language_model"), "language_model")


def test_a_hybrid_decodes():
    found = nodes("language_model", "identity")
    layers = {"recurrent": {"mixer": "lstm"}, "global": {"mixer": {"type": "attention", "window": 2}}}
    decoder = found["decoder"] | {"mixer": None, "layers": layers, "pattern": ["recurrent", "global"], "depth": 4}
    decodes(built(found | {"decoder": decoder}, "language_model"), "language_model")


def test_means_roll_forward_as_reading_anew_gives_them():
    graph = forecaster({"type": "gaussian", "variance": "learned"})
    prompt = Seq(torch.randn(3, 4, 2), torch.tensor([4, 2, 0]))
    rolled = forecast(graph, {}, "output", 3, prompt=prompt)
    head: Any = graph.nodes["output"]
    for row in range(3):
        path = prompt.values[row, : int(prompt.counts[row])]
        for step in range(3):
            late = torch.cat([torch.zeros(1, 2), path])
            outputs, _ = graph({"target": Seq(late[None])})
            path = torch.cat([path, head.predict(outputs["output"]).values[0, -1:]])
            torch.testing.assert_close(path[-1], rolled.values[row, step], atol=1e-5, rtol=0)


def test_sampled_paths_spread_as_the_head_says():
    graph = forecaster({"type": "gaussian", "variance": "learned"})
    outputs, _ = graph({"target": Seq(torch.zeros(1, 1, 2))})
    mean, log_variance = outputs["output"].values[0, 0].chunk(2)
    paths = forecast(graph, {}, "output", 2, samples=4000, seed=1)
    first = paths.values[:, 0]
    torch.testing.assert_close(first.mean(0), mean, atol=0.1, rtol=0)
    torch.testing.assert_close(first.var(0), log_variance.exp(), atol=0, rtol=0.1)
    assert torch.equal(paths.values, forecast(graph, {}, "output", 2, samples=4000, seed=1).values)


def test_switches_roll_forward_as_zeros_and_ones():
    graph = forecaster({"type": "bernoulli"})
    outputs, _ = graph({"target": Seq(torch.zeros(1, 1, 2))})
    paths = forecast(graph, {}, None, 2, samples=4000)
    assert set(paths.values.unique().tolist()) <= {0.0, 1.0}
    torch.testing.assert_close(paths.values[:, 0].mean(0), outputs["output"].values[0, 0].sigmoid(), atol=0.04, rtol=0)


@pytest.mark.parametrize("mixer", ["rnn", "gru", "lstm", "mingru", "minlstm", "s4d", "selective", "linear_attention"])
def test_a_recurrence_decodes_in_constant_memory(mixer):
    graph = endless(mixer)
    state, step = graph.start({}, 2, "output"), graph.stepper("output")
    sizes = set()
    with torch.no_grad():
        for _ in range(5):
            _, state = step({"target": torch.tensor([2, 3])}, state)
            sizes.add(sum(leaf.numel() for leaf in pytree.tree_leaves(state)))
    assert len(sizes) == 1
