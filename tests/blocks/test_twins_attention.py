"""The attention blocks and the positions against torch's own, and against their formulas written out here."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from composer.core import registry
from composer.core.meta import on_meta
from composer.core.problems import GraphError, UserError
from composer.core.signals import Field, Seq
from composer.core.watch import watch
from composer.graph.compiler import compile_graph
from composer.testing import subject
from composer.testing.strategies import recipe, subjects
from tests.support.registered import FAMILIES

DIM, HEADS, WIDTH = 8, 4, 2
LENGTHS = [23, 9, 1]


def build(kind, name, dim=DIM, causal=True, memory_dim=None, **knobs):
    torch.manual_seed(0)
    return recipe(kind, {"type": name, **knobs}).build(dim=dim, causal=causal, memory_dim=memory_dim).double()


def sequence(lengths=LENGTHS, dim=DIM, seed=1):
    values = torch.randn(len(lengths), max(lengths), dim, generator=torch.Generator().manual_seed(seed)).double()
    return Seq(values.requires_grad_(), torch.tensor(lengths))


def agree(signal, expected, *tensors):
    """The real outputs and the gradients that they give the tensors."""
    real = signal.mask[..., None]
    values, expected = signal.values.masked_fill(~real, 0), expected.masked_fill(~real, 0)
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn(values.shape, generator=torch.Generator().manual_seed(3)).double()
    ours, theirs = (torch.autograd.grad((v * weight).sum(), tensors, retain_graph=True) for v in (values, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)


def heads_of(values, width=WIDTH):
    return values.unflatten(-1, (-1, width)).transpose(1, 2)


def visible(x, causal, rule=lambda distance: distance == distance):
    """(B, 1, T, T): real keys, not in the future where that is asked for, at distances i - j that the rule allows."""
    steps = torch.arange(x.time)
    distance = steps[:, None] - steps
    seen = rule(distance) & ((distance >= 0) | (not causal)) & x.mask[:, None]
    return (seen | ~seen.any(-1, keepdim=True))[:, None]


def by_hand(block, x, mask, bias=0.0, scores=None):
    """Attention as its formula has it, with the block's own weights."""
    groups = block.kv_heads * block.width
    parts = block.project(x.filled()).split([block.heads * block.width, groups, groups], dim=-1)
    q, k, v = (heads_of(part, block.width) for part in parts)
    k, v = (part.repeat_interleave(block.heads // block.kv_heads, dim=1) for part in (k, v))
    found = q @ k.transpose(-1, -2) / math.sqrt(block.width) if scores is None else scores(q, k)
    weights = (found + bias).masked_fill(~mask, -math.inf).softmax(-1)
    return block.output((weights @ v).transpose(1, 2).flatten(2))


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
    monkeypatch.setattr("blocks.attention.diagonals.ROWS", rows)
    block, x = build("mixer", "attention", causal=causal, position="relative", kv_heads=2), sequence(lengths)
    steps = range(x.time)
    buckets = torch.tensor([[t5_bucket(j - i, not causal, 32, 128) for j in steps] for i in steps])
    bias = block.position.table[buckets].permute(2, 0, 1)
    expected = by_hand(block, x, visible(x, causal), bias)
    full = Seq(x.values) if min(lengths) == x.time else x  # without padding, nothing is masked
    found = x.like(block(full)[0].values)
    agree(found, expected, x.values, block.position.table, *block.project.parameters())


@pytest.mark.parametrize("kv_heads", [None, 1])
def test_alibi_over_long_sequences_needs_no_bias(kv_heads):
    """A tilt of queries and keys is the same as the bias, and keeps nothing of T x T."""
    block, x = build("mixer", "attention", position="alibi", kv_heads=kv_heads), sequence([1030, 5])
    steps = torch.arange(x.time)
    slopes = torch.tensor([2.0 ** (-2 * (h + 1)) for h in range(HEADS)]).double()
    bias = -slopes[:, None, None] * (steps[:, None] - steps).abs()
    agree(block(x)[0], by_hand(block, x, visible(x, True), bias), x.values, *block.parameters())


def test_alibi_slopes_between_powers_of_two():
    from blocks.position.alibi import slopes

    assert slopes(8) == [2.0**-h for h in range(1, 9)]
    assert slopes(6) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]


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
        meta = recipe("position", {"type": "learned", "limit": 4}).build(dim=DIM)
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
    with pytest.raises(GraphError, match=said):
        build("mixer", "attention", **knobs)


# The cache


def streamed(block, x, cuts, context):
    with context():
        state, pieces = block.start(x.batch), []
        for start, stop in zip([0, *cuts], [*cuts, x.time], strict=True):
            y, state = block(x.steps(start, stop), state)
            pieces.append(y.values)
        return torch.cat(pieces, dim=1), state


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("position", [None, "rotary", "alibi", "relative"])
@pytest.mark.parametrize("name", ["attention", "sliding_window", "sparse", "simple_attention", "additive_attention"])
def test_without_gradients_step_by_step_is_the_whole(name, position, lengths, context):
    slots = recipe("mixer", {"type": name}).signature.slots
    if position is not None and "position" not in slots:
        return
    block = build("mixer", name, **({"position": position} if slots else {}))
    x = sequence() if lengths else Seq(torch.randn(2, 150, DIM).double())
    cuts = [3, 4, *range(5, x.time)]
    found, _ = streamed(block, x, cuts, context)
    expected = block(x)[0].values
    real = slice(None) if x.mask is None else x.mask
    torch.testing.assert_close(found[real], expected[real], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("name", ["attention", "simple_attention", "sliding_window", "linear_attention", "retention"])
def test_two_continuations_of_one_state_do_not_see_each_other(name, context):
    block = build("mixer", name)
    prompt, left, right, last = (sequence([5, 5], seed=seed).steps(0, 1 + 4 * (seed == 0)) for seed in range(4))
    prompt, left, right, last = (Seq(part.values.detach()) for part in (prompt, left, right, last))
    with context():
        _, state = block(prompt, block.start(2))
        _, state = block(last, state)  # now there is room behind the cache
        _, ours = block(left, state)
        kept = {key: leaf.clone() for key, leaf in ours.items()}
        _, theirs = block(right, state)
        swapped, _ = block(last, {key: leaf[[1, 0]] for key, leaf in ours.items()})
        after, _ = block(last, ours)
        other, _ = block(last, theirs)
        assert all(torch.equal(kept[key], ours[key]) for key in kept)
        for found, middle in ((after, left), (other, right)):
            whole = Seq(torch.cat([prompt.values, last.values, middle.values, last.values], dim=1))
            torch.testing.assert_close(found.values[:, 0], block(whole)[0].values[:, -1], rtol=1e-9, atol=1e-9)
        rows = Seq(torch.cat([p.values for p in (prompt, last, left)], dim=1)[[1, 0]])
        whole = Seq(torch.cat([rows.values, last.values], dim=1))
        torch.testing.assert_close(swapped.values[:, 0], block(whole)[0].values[:, -1], rtol=1e-9, atol=1e-9)


def test_a_state_begun_in_inference_mode_goes_on_outside_it():
    block, x = build("mixer", "attention"), Seq(torch.randn(1, 6, DIM).double())
    with torch.inference_mode():
        _, state = block(x.steps(0, 4), block.start(1))
        _, state = block(x.steps(4, 5), state)
    with torch.no_grad():
        y, _ = block(x.steps(5, 6), state)
    torch.testing.assert_close(y.values[:, 0], block(x)[0].values[:, -1])


def test_a_step_does_not_copy_the_cache():
    block, x = build("mixer", "attention"), Seq(torch.randn(1, 300, DIM).double())
    with torch.no_grad():
        _, state = block(x.steps(0, 10), block.start(1))
        places = []
        for step in range(10, 300):
            _, state = block(x.steps(step, step + 1), state)
            places.append(state["steps"].data_ptr())
    assert len(set(places)) <= 4  # as often as the room ran out


# Looking inside

SHOWING = [(kind, name) for kind, name in FAMILIES if getattr(registry.blocks(kind)[name], "shows", "") == "attention"]


def test_all_attention_can_be_looked_at():
    expected = {"attention", "simple_attention", "additive_attention", "sliding_window", "sparse", "linear_attention"}
    assert expected <= {name for kind, name in SHOWING if kind == "mixer"}
    assert ("cross", "cross_attention") in SHOWING


@pytest.mark.parametrize(("kind", "name"), SHOWING)
@given(data=st.data())
def test_weights_can_be_asked_for_and_change_nothing(kind, name, data):
    looked_at = data.draw(subjects(kind, name))
    before, _ = looked_at.run(looked_at.inputs)
    with watch() as seen:
        after, _ = looked_at.run(looked_at.inputs)
    assert torch.equal(before["y"].values, after["y"].values)
    (weights,) = seen[looked_at.module]  # (B, H, T, S)
    queries, keys = looked_at.axis, looked_at.inputs.get("memory", looked_at.axis)
    asks = queries.mask if after["y"].timed else (queries.counts > 0)[:, None]  # a pool asks once for every row
    assert (weights.shape[0], *weights.shape[2:]) == (*asks.shape, keys.time)
    sums = (weights * keys.mask[:, None, None]).sum(-1).transpose(1, 2)[asks]  # over real keys, of real queries
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert not weights.requires_grad


@pytest.mark.parametrize(("kind", "name"), SHOWING)
def test_looking_costs_only_whoever_looks(kind, name):
    looked_at = subject(registry.blocks(kind)[name])

    def operations():
        with Counted() as counted:
            looked_at.run(looked_at.inputs)
        return counted.number

    unseen = operations()
    with watch():
        assert operations() > unseen
    assert operations() == unseen


class Counted(TorchDispatchMode):
    """The number of tensor operations that run."""

    number = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.number += 1
        return func(*args, **(kwargs or {}))


# Cost

TIMES = [512, 1024, 2048, 4096, 8192]


def training_cost(config, time):
    """FLOPs of a forward pass over ``time`` steps, and the bytes it keeps for the backward pass."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with on_meta(), FlopCounterMode(display=False) as counter, saved_tensors_hooks(keep, lambda tensor: tensor):
        block = recipe("mixer", config).build(dim=32, causal=True)
        block(Seq(torch.empty(1, time, 32)))
    return counter.get_total_flops(), sum(kept.values())


@pytest.mark.parametrize("name", ["sliding_window", "linear_attention", "retention"])
def test_linear_mixers_cost_what_the_length_says(name):
    costs = [training_cost({"type": name}, time) for time in TIMES]
    for shorter, longer in pairwise(costs):
        for small, large in zip(shorter, longer, strict=True):
            assert 1.9 < large / small < 2.1
    full = [training_cost({"type": "attention"}, time)[0] for time in TIMES]
    assert full[-1] / full[-2] > 3  # the measure sees what is quadratic


def test_sparse_attention_costs_less_than_the_square():
    costs = [training_cost({"type": "sparse", "stride": int(time**0.5)}, time) for time in (1024, 4096)]
    assert all(large / small < 9 for small, large in zip(*costs, strict=True))  # 4 ** 1.5 = 8, not 16


def step_cost(config, past):
    """FLOPs of one step after ``past`` ones, and the bytes of the state then."""
    with on_meta(), torch.no_grad():
        block = recipe("mixer", config).build(dim=32, causal=True)
        _, state = block(Seq(torch.empty(1, past, 32)), block.start(1))
        with FlopCounterMode(display=False) as counter:
            _, state = block(Seq(torch.empty(1, 1, 32)), state)
    return counter.get_total_flops(), sum(leaf.numel() * leaf.element_size() for leaf in state.values())


@pytest.mark.parametrize("name", ["sliding_window", "linear_attention", "retention"])
def test_a_step_costs_the_same_however_late(name):
    assert step_cost({"type": name}, 512) == step_cost({"type": name}, 8192)


@pytest.mark.parametrize("name", ["attention", "sparse", "simple_attention"])
def test_a_cached_step_costs_what_was_read(name):
    (few, small), (more, large) = step_cost({"type": name}, 4096), step_cost({"type": name}, 8192)
    assert more / few < 2.05
    assert large / small < 2.05
