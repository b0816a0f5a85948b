"""Simple mixers, feed-forward networks, norms, pools and bridges against an independent formula."""

import pytest
import torch
import torch.nn.functional as F

from composer.core.problems import ConfigError, Invalid
from composer.core.signals import Contents, Field, Ids, Seq, Vec
from composer.graph.compiler import compile_graph
from tests.support.twins import make, rows, same, seq

# Mixers ---------------------------------------------------------------------------------------------------------------


def window(t, kernel, causal):
    left = kernel - 1 if causal else (kernel - 1) // 2
    return range(t - left, t - left + kernel)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("form", ["separable", "full"])
@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (4, 1), (2, 3)])
def test_conv_is_a_sum_over_its_window(causal, form, kernel, dilation):
    block, x = make("mixer", "conv", 4, causal, kernel=kernel, dilation=dilation, form=form), seq()
    reach = (kernel - 1) * dilation
    left = reach if causal else reach // 2

    def alone(row):
        steps = []
        for t in range(len(row)):
            total = torch.zeros(4).double() if block.convolve.bias is None else block.convolve.bias
            for k in range(kernel):
                s = t - left + k * dilation
                if 0 <= s < len(row):
                    weight = block.convolve.weight[:, :, k]
                    total = total + (weight[:, 0] * row[s] if form == "separable" else weight @ row[s])
            steps.append(total if block.mix is None else block.mix(total))
        return torch.stack(steps)

    same(rows(block(x)[0]), [alone(row) for row in rows(x)], [x.values], block)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("subtract", [True, False])
def test_pooling_is_the_mean_of_its_window(causal, size, subtract):
    block, x = make("mixer", "pooling", 4, causal, window=size, subtract=subtract), seq()

    def alone(row):
        means = [row[[s for s in window(t, size, causal) if 0 <= s < len(row)]].mean(0) for t in range(len(row))]
        return torch.stack(means) - (row if subtract else 0)

    same(rows(block(x)[0]), [alone(row) for row in rows(x)], [x.values])


@pytest.mark.parametrize("unitary", [True, False])
def test_fourier_is_fft2_of_every_row_alone(unitary):
    block, x = make("mixer", "fourier", 4, unitary=unitary), seq()
    wanted = [torch.fft.fft2(row, norm="ortho" if unitary else "backward").real for row in rows(x)]
    same(rows(block(x)[0]), wanted, [x.values])
    whole = seq(lengths=[5, 5])
    same([block(Seq(whole.values))[0].values], rows(block(whole)[0]), [whole.values])


def test_identity_is_nothing():
    x = seq()
    assert make("mixer", "identity")(x) is x


# Feed-forward networks and norms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activation", "gate"), [("silu", F.silu), ("gelu", F.gelu), ("relu", F.relu), ("sigmoid", torch.sigmoid)]
)
def test_glu_is_a_gated_product(activation, gate):
    block, x = make("ffn", "glu", 4, activation=activation, expansion=2.0, bias=True), seq()
    (wg, w1), (bg, b1) = block.rise.weight.chunk(2), block.rise.bias.chunk(2)

    def alone(row):
        return (gate(row @ wg.t() + bg) * (row @ w1.t() + b1)) @ block.fall.weight.t() + block.fall.bias

    same(rows(block(x)), [alone(row) for row in rows(x)], [x.values], block)


def test_the_sigmoid_gate_is_torchs_glu():
    block, x = make("ffn", "glu", 4, activation="sigmoid"), seq()
    value_first = block.rise.weight.roll(len(block.rise.weight) // 2, 0)
    wanted = [F.glu(row @ value_first.t()) @ block.fall.weight.t() for row in rows(x)]
    same(rows(block(x)), wanted, [x.values], block)


@pytest.mark.parametrize(("experts", "active"), [(1, 1), (4, 1), (4, 2), (3, 3)])
def test_mixture_of_experts_is_a_loop_over_steps(experts, active):
    block, x = make("ffn", "mixture_of_experts", 4, experts=experts, active=active), seq()

    def alone(row):
        steps = []
        for step in row:
            scores = block.route.weight @ step
            chosen = sorted(range(experts), key=lambda e: -scores[e].item())[:active]
            weights = torch.exp(scores[chosen]) / torch.exp(scores[chosen]).sum()
            steps.append(sum(w * block.experts[e](step) for w, e in zip(weights, chosen, strict=True)))
        return torch.stack(steps)

    found, wanted = rows(block(x)), [alone(row) for row in rows(x)]
    torch.testing.assert_close(torch.cat(found), torch.cat(wanted))
    leaves = [x.values, *block.parameters()]
    weights = torch.randn(torch.cat(found).shape).double()
    totals = [(torch.cat(y) * weights).sum() for y in (found, wanted)]
    ours, theirs = (torch.autograd.grad(total, leaves, allow_unused=True) for total in totals)
    for leaf, one, other in zip(leaves, ours, theirs, strict=True):  # an expert nobody chose: none, or zero
        one, other = (torch.zeros_like(leaf) if g is None else g for g in (one, other))
        torch.testing.assert_close(one, other)


def test_more_active_experts_than_there_are_is_refused():
    with pytest.raises(Invalid, match="Use at most 2"):
        make("ffn", "mixture_of_experts", 4, experts=2, active=3)


def test_rms_is_torchs():
    block, x = make("norm", "rms", 4, eps=1e-3), seq()
    with torch.no_grad():
        block.scale.normal_()
    same(rows(block(x)), [F.rms_norm(row, (4,), block.scale, 1e-3) for row in rows(x)], [x.values], block)


# Pools ----------------------------------------------------------------------------------------------------------------


def test_max_and_cls_pools_of_every_row_alone():
    x = seq()
    same([make("pool", "max")(x).values], [torch.stack([row.max(0).values for row in rows(x)])], [x.values])
    same([make("pool", "cls")(x).values], [torch.stack([row[0] for row in rows(x)])], [x.values])


def test_attention_pool_is_a_weighted_mean():
    block, x = make("pool", "attention", 4), seq()

    def alone(row):
        scores = torch.tanh(row @ block.project.weight.t() + block.project.bias) @ block.query.weight[0]
        return (scores.exp() / scores.exp().sum()) @ row

    same([block(x).values], [torch.stack([alone(row) for row in rows(x)])], [x.values], block)


def test_tf_idf_pool_is_the_counted_tokens_times_their_idf():
    idf = (0.0, 0.5, 1.0, 2.0)
    block, x = make("pool", "tf_idf", idf), seq(lengths=[4, 2])
    ids = Ids(torch.tensor([[2, 0, 2, 1], [3, 3, 99, 99]]), torch.tensor([4, 2]))
    a, b = rows(x)
    wanted = torch.stack([(a[0] + a[2] + 0.5 * a[3]) / 2.5, (b[0] + b[1]) / 2])
    same([block(x, ids).values], [wanted], [x.values])
    nothing = block(Seq(x.values.detach()[:1]), Ids(torch.zeros(1, 4, dtype=torch.long)))
    assert nothing.values.tolist() == [[0, 0, 0, 0]]


def test_tf_idf_pool_refuses_the_ids_of_another_sequence():
    fields = {
        "a": Field("ids", vocabulary=4, contents=Contents(idf=(1.0,) * 4)),
        "b": Field("ids", vocabulary=4, contents=Contents(idf=(1.0,) * 4)),
        "label": Field("label", vocabulary=2),
    }
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "a"},
        "pool": {"kind": "pool", "type": "tf_idf", "from": {"x": "embedding", "ids": "a"}},
        "output": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "label"},
    }
    compile_graph(nodes, fields)
    nodes["pool"]["from"]["ids"] = "b"
    with pytest.raises(ConfigError, match="along another sequence than x"):
        compile_graph(nodes, fields)


# Bridges --------------------------------------------------------------------------------------------------------------


def test_bridges_are_their_equations():
    x, v = seq(), torch.randn(3, 5).double().requires_grad_()
    block = make("bridge", "add", 4, 5)
    wanted = [row + block.project(one) for row, one in zip(rows(x), v, strict=True)]
    same(rows(block(x, Vec(v))), wanted, [x.values, v], block)
    block = make("bridge", "film", 4, 5)
    wanted = []
    for row, one in zip(rows(x), v, strict=True):
        out = block.project.weight @ one + block.project.bias
        wanted.append((1 + out[:4]) * row + out[4:])
    same(rows(block(x, Vec(v))), wanted, [x.values, v], block)
    for name in ("prefix", "memory"):
        block = make("bridge", name, 5, 4, length=3)
        parts = zip(block.project.weight.split(4), block.project.bias.split(4), strict=True)
        steps = [v @ weight.t() + bias for weight, bias in parts]
        same([block(Vec(v)).values], [torch.stack(steps, 1)], [v], block)


@pytest.mark.parametrize("bridge", ["add", "film", "prefix", "memory"])
def test_every_bridge_brings_its_vector_into_a_stack(bridge):
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "target"},
        "decoder": {
            "kind": "stack", "mixer": "attention", "bridge": bridge, "from": {"x": "embedding", "vector": "v"},
            "cross": "cross_attention" if bridge == "memory" else None,
        },
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }  # fmt: skip
    fields = {"target": Field("ids", vocabulary=7, start=0, stop=1), "v": Field("vec", dim=3)}
    graph = compile_graph(nodes, fields).materialise().double()
    ids = Ids(torch.tensor([[0, 2, 3], [0, 4, 5]]))
    one, other = (graph({"target": ids, "v": Vec(torch.full((2, 3), f).double())})[0]["output"] for f in (0.0, 1.0))
    assert (one.values - other.values).abs().amax(dim=(1, 2)).min() > 1e-6  # every row reads it
    state = graph.start({"v": Vec(torch.ones(2, 3).double())})
    steps = []
    for t in range(3):
        outputs, state = graph({"target": ids.steps(t, t + 1)}, state)
        steps.append(outputs["output"].values)
    torch.testing.assert_close(torch.cat(steps, 1), other.values)
