"""A sequence at the port 'prefix' of a stack is read before the first step: a decoder-only model's source."""

import pytest
import torch

from composer.core.problems import ConfigError
from composer.core.signals import Ids
from composer.graph.compiler import compile_graph
from composer.testing import graph_subject, hold
from tests.graph.test_compiler import EMBED, FIELDS, HEAD

LAYERS = {"kind": "stack", "depth": 2, "ffn": "mlp", "norm": "layer", "position": "sinusoidal"}


def decoder_only(mixer, **changes):
    return {
        "words": {**EMBED, "from": "source"},
        "target_embedding": {**EMBED, "from": "target"},
        "decoder": {**LAYERS, "mixer": mixer, "from": {"x": "target_embedding", "prefix": "words"}},
        "output": {**HEAD, "from": "decoder", "predicts": "target"},
    } | changes


@pytest.mark.parametrize("mixer", ["attention", "gru", "conv"])
def test_a_prefix_model_computes_what_one_stack_over_both_sequences_computes(mixer):
    graph = compile_graph(decoder_only(mixer), FIELDS).materialise().double().eval()
    source = Ids(torch.randint(9, (2, 5)), torch.tensor([5, 3]))
    target = Ids(torch.randint(7, (2, 4)), torch.tensor([4, 2]))
    signals = graph.run({"source": source, "target": target})
    for row, (before, after) in enumerate([(5, 4), (3, 2)]):
        words, tokens = signals["words"].values[row, :before], signals["target_embedding"].values[row, :after]
        both = signals["words"].like(torch.cat([words, tokens])[None])
        alone, _ = graph.nodes["decoder"](type(both)(both.values))
        torch.testing.assert_close(signals["decoder"].values[row, :after], alone.values[0, before:])


@pytest.mark.slow
@pytest.mark.parametrize("mixer", ["attention", "mingru"])
def test_a_prefix_model_streams_and_ignores_padding(mixer):
    graph = compile_graph(decoder_only(mixer), FIELDS)
    assert graph.plan.streams == {"target_embedding", "decoder", "output"}
    hold(graph_subject(graph.materialise()), ["chunks", "steps", "padding", "causality", "batch"])


def test_the_target_cannot_be_its_own_prefix():
    nodes = decoder_only("gru")
    del nodes["words"]
    nodes["decoder"]["from"]["prefix"] = "target_embedding"
    with pytest.raises(ConfigError, match="reads the future"):
        compile_graph(nodes, FIELDS)


def test_a_prefix_has_the_width_of_the_sequence():
    with pytest.raises(ConfigError, match="a prefix of the width 6 cannot come before a sequence of the width 8"):
        compile_graph(decoder_only("gru", words={**EMBED, "dim": 6, "from": "source"}), FIELDS)


def test_a_head_behind_appended_sequences_is_told_of_the_prefix():
    nodes = decoder_only(
        "gru",
        both={"kind": "merge", "type": "append", "from": ["words", "target_embedding"]},
        decoder={**LAYERS, "mixer": "gru", "from": "both"},
    )
    with pytest.raises(ConfigError, match="'prefix' of a stack"):
        compile_graph(nodes, FIELDS)
