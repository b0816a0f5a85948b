"""Parameters, FLOPs and states that `describe` shows equal the formulas one computes by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from composer.graph.describe import human, summarise

T = 16


def described(mixer, dim, **slots):
    """The middle node of embedding -> node -> head, and the whole."""
    graph = compile_graph(
        {
            "embedding": {"kind": "embedding", "type": "token", "dim": dim, "from": "target"},
            "middle": {"kind": "mixer", "from": "embedding", **mixer} if mixer else {"from": "embedding", **slots},
            "output": {"kind": "head", "type": "categorical", "from": "middle", "predicts": "target"},
        },
        {"target": Field("ids", vocabulary=10, start=0, stop=1)},
    )
    summary = summarise(graph, length=T)
    return summary["nodes"][1], summary


WIDTHS = st.sampled_from([4, 8, 12, 32])


@given(d=WIDTHS, bias=st.booleans())
def test_lstm(d, bias):
    node, _ = described({"type": "lstm", "bias": bias}, d)
    assert node["parameters"] == 4 * d * (d + d) + bias * 2 * 4 * d
    assert node["flops_per_token"] == 2 * 4 * d * (d + d)
    assert node["state_bytes"] == 4 * 2 * d


@given(d=WIDTHS, bias=st.booleans())
def test_gru(d, bias):
    node, _ = described({"type": "gru", "bias": bias}, d)
    assert node["parameters"] == 3 * d * (d + d) + bias * 2 * 3 * d
    assert node["flops_per_token"] == 2 * 3 * d * (d + d)
    assert node["state_bytes"] == 4 * d


@given(d=WIDTHS, bias=st.booleans())
def test_mingru(d, bias):
    node, _ = described({"type": "mingru", "bias": bias}, d)
    assert node["parameters"] == 2 * d * d + bias * 2 * d
    assert node["flops_per_token"] == 2 * 2 * d * d
    assert node["state_bytes"] == 4 * d


@given(d=WIDTHS, heads=st.sampled_from([1, 2, 4]), bias=st.booleans())
def test_attention(d, heads, bias):
    node, _ = described({"type": "attention", "heads": heads, "bias": bias}, d)
    assert node["parameters"] == 4 * d * d + bias * 4 * d
    assert node["flops_per_token"] == 2 * 4 * d * d + 2 * 2 * T * d  # projections; scores and weighted sum over T keys


@given(d=WIDTHS, expansion=st.sampled_from([1, 2, 4]), bias=st.booleans())
def test_mlp(d, expansion, bias):
    node, _ = described(None, d, kind="ffn", type="mlp", expansion=expansion, bias=bias)
    h = d * expansion
    assert node["parameters"] == 2 * d * h + bias * (d + h)
    assert node["flops_per_token"] == 2 * 2 * d * h
    assert node["state_bytes"] == 0


def test_the_totals_are_the_sums_and_shared_weights_count_once():
    fields = {"target": Field("ids", vocabulary=10, start=0, stop=1)}
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "target"},
        "output": {"kind": "head", "type": "categorical", "from": "embedding", "predicts": "target"},
    }
    nodes["output"]["tied"] = "embedding"
    graph = compile_graph(nodes, fields)
    summary = summarise(graph)
    assert summary["totals"]["parameters"] == 10 * 8 + 10
    assert summary["totals"]["parameters"] == sum(p.numel() for p in graph.materialise().parameters())


@pytest.mark.parametrize("mixer", ["attention", "lstm", "mingru"])
def test_a_real_state_is_as_large_as_described(mixer):
    import torch
    from torch.utils import _pytree as pytree

    from composer.core.signals import Ids

    fields = {"target": Field("ids", vocabulary=10, start=0, stop=1)}
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "target"},
        "decoder": {"kind": "stack", "mixer": mixer, "position": "sinusoidal", "from": "embedding"},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }
    graph = compile_graph(nodes, fields)
    described = summarise(graph, length=T)["totals"]["state_bytes"]
    real = graph.materialise()
    _, state = real({"target": Ids(torch.zeros(1, T, dtype=torch.long))}, real.start({}, batch=1))
    assert described == sum(leaf.numel() * leaf.element_size() for leaf in pytree.tree_leaves(state["nodes"]))


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (12.5, "12.5"), (999, "999"), (1000, "1k"), (999_960, "1M"), (-1_234_567, "-1.23M"), (2.5e9, "2.5G")],
)
def test_numbers_are_written_for_people(number, text):
    assert human(number) == text
    assert human(number, "B") == f"{text}B"
