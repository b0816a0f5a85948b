"""Positions against their formulas written out here, by themselves and inside attention."""

import math

import pytest
import torch
from torch import nn

from composer.core import registry
from composer.core.meta import on_meta
from composer.core.problems import ConfigError, UserError
from composer.core.signals import Field, Seq
from composer.graph.compiler import compile_graph
from tests.support.attention import DIM, HEADS, LENGTHS, agree, build, by_hand, sequence, visible


def bias_of(name, position, distance, causal, heads=HEADS):
    """(H, T, S), number by number."""
    found = torch.zeros(heads, *distance.shape, dtype=torch.float64)
    for i in range(distance.shape[0]):
        for j in range(distance.shape[1]):
            away = int(distance[i, j])
            if name == "alibi":
                found[:, i, j] = torch.tensor([-(2 ** (-8 * (h + 1) / heads)) * abs(away) for h in range(heads)])
            else:
                found[:, i, j] = position.table[t5_bucket(-away, not causal, len(position.table), position.distance)]
    return found


def t5_bucket(relative, bidirectional, buckets, limit):
    """As published: ``relative`` is the key's position minus the query's."""
    bucket, n = 0, -relative
    if bidirectional:
        buckets //= 2
        bucket += buckets if n < 0 else 0
        n = abs(n)
    else:
        n = max(n, 0)
    exact = buckets // 2
    if n < exact:
        return bucket + n
    return bucket + min(exact + int(math.log(n / exact) / math.log(limit / exact) * (buckets - exact)), buckets - 1)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", ["alibi", "relative"])
def test_a_positions_bias_is_its_formula(name, causal):
    config = {"type": name} | ({"buckets": 8, "distance": 12} if name == "relative" else {})
    block, x = build("mixer", "attention", causal=causal, position=config), sequence()
    if name == "relative":
        nn.init.normal_(block.position.table)
    steps = torch.arange(x.time)
    bias = bias_of(name, block.position, steps[:, None] - steps, causal)
    agree(block(x)[0], by_hand(block, x, visible(x, causal), bias), x.values, *block.project.parameters())


@pytest.mark.parametrize("lengths", [LENGTHS, [23, 23, 23]])
@pytest.mark.parametrize("rows", [4, 256])
@pytest.mark.parametrize("causal", [True, False])
def test_a_bias_learns(causal, rows, lengths, monkeypatch):
    """Its gradient is that of the T x T bias, however many queries are taken at a time."""
    monkeypatch.setattr("composer.catalogue.attention.diagonals.ROWS", rows)
    block, x = build("mixer", "attention", causal=causal, position="relative", kv_heads=2), sequence(lengths)
    steps = range(x.time)
    buckets = torch.tensor([[t5_bucket(j - i, not causal, 32, 128) for j in steps] for i in steps])
    bias = block.position.table[buckets].permute(2, 0, 1)
    expected = by_hand(block, x, visible(x, causal), bias)
    full = Seq(x.values) if min(lengths) == x.time else x  # without padding, nothing is masked
    found = x.like(block(full)[0].values)
    agree(found, expected, x.values, block.position.table, *block.project.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("kv_heads", [None, 1])
def test_alibi_over_long_sequences_needs_no_bias(kv_heads):
    """A tilt of queries and keys is the same as the bias, and keeps nothing of T x T."""
    block, x = build("mixer", "attention", position="alibi", kv_heads=kv_heads), sequence([1030, 5])
    steps = torch.arange(x.time)
    slopes = torch.tensor([2.0 ** (-2 * (h + 1)) for h in range(HEADS)]).double()
    bias = -slopes[:, None, None] * (steps[:, None] - steps).abs()
    agree(block(x)[0], by_hand(block, x, visible(x, True), bias), x.values, *block.parameters())


def test_alibi_slopes_between_powers_of_two():
    from composer.catalogue.position.alibi import slopes

    assert slopes(8) == [2.0**-h for h in range(1, 9)]
    assert slopes(6) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]


@pytest.mark.parametrize("dim", [7, 8])
def test_sinusoidal_is_its_formula(dim):
    block, x = build("position", "sinusoidal", dim=dim), sequence(dim=dim)
    waves = torch.zeros(x.time, dim).double()
    for i in range(x.time):
        for j in range(dim):
            angle = i / 10000 ** (2 * (j // 2) / dim)
            waves[i, j] = math.cos(angle) if j % 2 else math.sin(angle)
    torch.testing.assert_close(block(x)[0].values, x.values + waves, rtol=0, atol=1e-12)
    beside = build("position", "sinusoidal", dim=dim, join="concat")
    torch.testing.assert_close(beside(x)[0].values[..., dim:], waves.expand(3, -1, -1), rtol=0, atol=1e-12)
    assert beside.out_dim == 2 * dim


@pytest.mark.parametrize("bridge", ["concat_every_step", "initial_state"])
def test_waves_set_beside_the_input_make_a_stack_wider(bridge):
    position = {"type": "sinusoidal", "join": "concat", "width": 3}
    stack = {"kind": "stack", "mixer": "gru", "position": position, "bridge": bridge}
    nodes = {"wide": stack | {"from": {"x": "x", "vector": "v"}}}
    nodes["y"] = {"kind": "head", "type": "gaussian", "from": "wide", "predicts": "z"}
    fields = {"x": Field("seq", dim=4), "v": Field("vec", dim=2), "z": Field("seq", dim=1, axis="x")}
    graph = compile_graph(nodes, fields)
    assert graph.plan.outputs["wide"].dim == 7


def test_rotary_keeps_distances_alone():
    block = build("position", "rotary")
    q, k = torch.randn(2, 1, 1, DIM).double()
    products = [
        (block.rotate(q, torch.tensor([i])) * block.rotate(k, torch.tensor([j]))).sum() for i, j in [(3, 1), (9, 7)]
    ]
    torch.testing.assert_close(*products)


def test_learned_positions_refuse_a_longer_sequence():
    block = build("position", "learned", limit=4)
    block(Seq(torch.zeros(2, 6, DIM).double(), torch.tensor([4, 1])))  # only padding lies beyond
    with pytest.raises(UserError, match="5 steps is longer than the 4 positions"):
        block(sequence([5, 2]))
    state = block.start(1)
    for _ in range(4):
        _, state = block(sequence([1]), state)
    with pytest.raises(UserError, match="5 steps is longer than the 4 positions"):
        block(sequence([1]), state)
    with on_meta():  # lengths there are examples, not the data's
        meta = registry.blocks("position")["learned"](DIM, limit=4)
        assert meta(Seq(torch.empty(2, 9, DIM)))[0].values.shape == (2, 9, DIM)


def test_learned_positions_refuse_a_longer_sequence_when_exported():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = build("position", "learned", limit=4)

        def forward(self, values, position):
            return self.block(Seq(values), {"position": position})[0].values

    values = torch.zeros(1, 1, DIM).double()
    program = torch.export.export(Step(), (values, torch.tensor([3]))).module()
    program(values, torch.tensor([3]))
    with pytest.raises(RuntimeError, match="more than the 4 positions"):
        program(values, torch.tensor([4]))


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"kv_heads": 3}, "3 heads of keys do not divide the 4 heads"),
        ({"heads": 3}, "3 heads do not divide the width 8"),
        ({"position": "sinusoidal"}, "does not act inside attention"),
        ({"position": "rotary", "score": "additive"}, "for a dot product, and the score is additive"),
        ({"position": {"type": "relative", "buckets": 32, "distance": 16}}, "Make it larger"),
    ],
)
def test_what_does_not_go_together_is_refused(knobs, said):
    with pytest.raises(ConfigError, match=said):
        build("mixer", "attention", **knobs)
