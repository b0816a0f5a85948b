"""The attention blocks against torch's own, and against their formulas written out here."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from composer.core.recording import watch
from composer.core.signals import Seq
from tests.support.attention import DIM, HEADS, WIDTH, agree, build, by_hand, heads_of, sequence, visible


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_sdpa_between_projections(causal):
    block, x = build("mixer", "attention", causal=causal), sequence()
    q, k, v = (heads_of(part) for part in block.project(x.filled()).chunk(3, dim=-1))
    heads = F.scaled_dot_product_attention(q, k, v, visible(x, causal))
    agree(block(x)[0], block.output(heads.transpose(1, 2).flatten(2)), x.values, *block.parameters())


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_torchs_own(causal):
    block, x = build("mixer", "attention", causal=causal), sequence()
    theirs = nn.MultiheadAttention(DIM, HEADS, batch_first=True).double()
    theirs.in_proj_weight, theirs.in_proj_bias = block.project.weight, block.project.bias
    theirs.out_proj.weight, theirs.out_proj.bias = block.output.weight, block.output.bias
    future = torch.ones(x.time, x.time, dtype=torch.bool).triu(1) if causal else None
    values = x.filled()
    expected, _ = theirs(values, values, values, key_padding_mask=~x.mask, attn_mask=future, need_weights=False)
    agree(block(x)[0], expected, x.values, *block.parameters())


def test_cross_attention_is_torchs_own():
    block = build("cross", "cross_attention", memory_dim=6)
    x, memory = sequence(), sequence([5, 7, 2], dim=6, seed=2)
    theirs = nn.MultiheadAttention(DIM, HEADS, kdim=6, vdim=6, batch_first=True).double()
    theirs.q_proj_weight, (theirs.k_proj_weight, theirs.v_proj_weight) = (
        block.query.weight,
        (nn.Parameter(part) for part in block.memory.weight.chunk(2)),
    )
    theirs.in_proj_bias = nn.Parameter(torch.cat([block.query.bias, block.memory.bias]))
    theirs.out_proj.weight, theirs.out_proj.bias = block.output.weight, block.output.bias
    expected, _ = theirs(x.filled(), memory.filled(), memory.filled(), key_padding_mask=~memory.mask)
    agree(block(x, memory=memory)[0], expected, x.values, memory.values, block.query.weight, block.output.weight)


def test_the_lectures_worked_numbers():
    """x, y and the three matrices of the lecture: z = [2 e^(-1/2), e^(1/2)] / (2 e^(-1/2) + e^(1/2))."""
    block = build("cross", "cross_attention", dim=3, memory_dim=4, heads=1, head_width=4, bias=False)
    values = torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    with torch.no_grad():
        block.query.weight.copy_(torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, -1]]))
        block.memory.weight.copy_(torch.cat([torch.eye(4), values]))
        block.output.weight.copy_(torch.eye(3, 4))
    memory = Seq(torch.tensor([[[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]]).double())
    y = Seq(torch.tensor([[[1.0, -1, 0]]]).double())
    assert block.query(y.values).tolist() == [[[-1, 1, 0, 1]]]
    with watch() as seen:
        found = block(y, memory=memory)[0].values[0, 0]
    total = 2 * math.exp(-0.5) + math.exp(0.5)
    expected = torch.tensor([2 * math.exp(-0.5) / total, math.exp(0.5) / total, 0], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    few, much = math.exp(-0.5) / total, math.exp(0.5) / total
    torch.testing.assert_close(seen[block][0].flatten(), torch.tensor([few, much, few]).double(), rtol=0, atol=1e-6)


def key_by_key(score, function):
    """Scores one key at a time: ``function`` of all queries (B, H, T, K) and a key beside each (B, H, T, K)."""
    return lambda q, k: torch.stack([score(function(q, key[:, :, None].expand_as(q))) for key in k.unbind(2)], dim=-1)


def formula(name, score):
    if name == "bilinear":
        return lambda q, k: torch.einsum("bhtk,hkl,bhsl->bhts", q, score.weight, k)
    read = lambda hidden: torch.einsum("hk,bhtk->bht", score.vector[..., 0], torch.tanh(hidden))  # noqa: E731
    if name == "additive":
        return key_by_key(read, lambda q, key: q + key)
    matrix = torch.cat([score.weight[0], score.weight[1]], dim=1)  # (H, 2 K, K)
    return key_by_key(read, lambda q, key: torch.cat([q, key], dim=-1) @ matrix)


SCORES = ["bilinear", "additive", "concat"]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_its_formula(name, causal):
    block, x = build("mixer", "attention", causal=causal, score=name, kv_heads=2), sequence([7, 4, 1])
    with torch.no_grad():
        for parameter in block.score.parameters():
            parameter.normal_()
    expected = by_hand(block, x, visible(x, causal), scores=formula(name, block.score))
    agree(block(x)[0], expected, x.values, *block.parameters())


@pytest.mark.parametrize("name", SCORES)
def test_every_score_works_between_two_sequences(name):
    block = build("cross", "cross_attention", memory_dim=6, score=name)
    x, memory = sequence([7, 4, 1]), sequence([5, 7, 2], dim=6, seed=2)
    q = heads_of(block.query(x.filled()))
    k, v = (heads_of(part) for part in block.memory(memory.filled()).chunk(2, dim=-1))
    scores = formula(name, block.score)(q, k).masked_fill(~memory.mask[:, None, None], -math.inf)
    expected = block.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    agree(block(x, memory=memory)[0], expected, x.values, memory.values, *block.parameters())


@pytest.mark.parametrize("causal", [True, False])
def test_simple_attention_is_its_formula(causal):
    block, x = build("mixer", "simple_attention", causal=causal), sequence()
    values = x.filled()
    scores = (values @ values.transpose(-1, -2)).masked_fill(~visible(x, causal)[:, 0], -math.inf)
    agree(block(x)[0], scores.softmax(-1) @ values, x.values)
    assert not list(block.parameters())


@pytest.mark.parametrize("causal", [True, False])
def test_additive_attention_is_bahdanaus(causal):
    block, x = build("mixer", "additive_attention", causal=causal, width=3), sequence([7, 4, 1])
    values = x.filled()
    pairs = torch.tanh(block.query(values)[:, :, None] + block.key(values)[:, None])  # (B, T, S, 3)
    scores = (pairs * block.score.vector.flatten()).sum(-1).masked_fill(~visible(x, causal)[:, 0], -math.inf)
    agree(block(x)[0], scores.softmax(-1) @ values, x.values, *block.parameters())


def test_grouped_queries_are_repeated_heads():
    grouped, x = build("mixer", "attention", kv_heads=2), sequence()
    full = build("mixer", "attention")
    for name in ("weight", "bias"):
        q, k, v = getattr(grouped.project, name).split([DIM, 4, 4])
        repeated = (part.unflatten(0, (2, WIDTH)).repeat_interleave(2, dim=0).flatten(0, 1) for part in (k, v))
        getattr(full.project, name).data.copy_(torch.cat([q, *repeated]))
    full.output.load_state_dict(grouped.output.state_dict())
    agree(grouped(x)[0], full(x)[0].values, x.values)


@pytest.mark.parametrize("position", [None, "rotary", "alibi", {"type": "relative", "buckets": 4, "distance": 5}])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("name", "knobs", "rule"),
    [
        ("sliding_window", {"window": 1}, lambda i, j: i == j),
        ("sliding_window", {"window": 4}, lambda i, j: (i - j).abs() < 4),
        ("sliding_window", {"window": 30, "kv_heads": 2}, lambda i, j: (i - j).abs() < 30),
        ("attention", {"window": 4, "kv_heads": 2}, lambda i, j: (i - j).abs() < 4),
        ("sparse", {"stride": 4}, lambda i, j: ((i - j).abs() < 4) | ((i - j) % 4 == 0)),
        ("sparse", {"stride": 1}, lambda i, j: i == i + 0 * j),
        ("sparse", {"stride": 5, "layout": "fixed", "summary": 2}, lambda i, j: (i // 5 == j // 5) | (j % 5 >= 3)),
    ],
)
def test_a_shorter_reach_is_full_attention_under_a_mask(name, knobs, rule, causal, position):
    block, x = build("mixer", name, causal=causal, position=position, **knobs), sequence()
    full = build("mixer", "attention", causal=causal, position=position, kv_heads=knobs.get("kv_heads"))
    full.load_state_dict(block.state_dict())
    steps = torch.arange(x.time)
    full.sees = lambda queries, keys: rule(steps[:, None], steps)
    agree(block(x)[0], full(x)[0].values, x.values)


@pytest.mark.parametrize("causal", [True, False])
def test_linear_attention_is_its_quadratic_form(causal):
    block, x = build("mixer", "linear_attention", causal=causal, chunk=4), sequence()
    q, k, v = (heads_of(part) for part in block.project(x.filled()).chunk(3, dim=-1))
    products = (F.elu(q) + 1) @ (F.elu(k) + 1).transpose(-1, -2) * visible(x, causal)
    heads = products / products.sum(-1, keepdim=True) @ v
    agree(block(x)[0], block.output(heads.transpose(1, 2).flatten(2)), x.values, *block.parameters())


def test_retention_is_its_recurrence():
    dim, heads, width = 8, 2, 4
    block, x = build("mixer", "retention", dim=dim, heads=heads, chunk=4), sequence(dim=dim)
    q, k, v, gate = block.project(x.filled()).chunk(4, dim=-1)
    outputs = []
    for h in range(heads):
        part = slice(h * width, (h + 1) * width)
        keep, memory, rows = 1 - 2.0 ** (-5 - h), torch.zeros(x.batch, width, width).double(), []
        for t in range(x.time):
            turn = torch.zeros(width, width).double()
            for pair in range(width // 2):
                angle, at = t * 10000 ** (-2 * pair / width), 2 * pair
                turn[at, at] = turn[at + 1, at + 1] = math.cos(angle)
                turn[at, at + 1], turn[at + 1, at] = -math.sin(angle), math.sin(angle)
            memory = keep * memory + (k[:, t, part] @ turn.T / 2)[:, :, None] * v[:, t, None, part]
            row = torch.einsum("bk,bkl->bl", q[:, t, part] @ turn.T, memory)
            centred = row - row.mean(-1, keepdim=True)
            rows.append(centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt())
        outputs.append(torch.stack(rows, dim=1))
    expected = block.output(gate * torch.sigmoid(gate) * torch.cat(outputs, dim=-1))
    agree(block(x)[0], expected, x.values, *block.parameters())
