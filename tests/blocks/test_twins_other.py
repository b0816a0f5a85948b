"""Embeddings, simple mixers, feed-forward networks, pools, bridges and heads against an independent formula."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from composer.core import registry
from composer.core.meta import on_meta
from composer.core.problems import GraphError, Invalid
from composer.core.signals import Field, Ids, Image, Label, Seq, Vec
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from composer.testing import graph_subject, hold
from tests.support.paths import ROOT

GLOVE = ROOT.parent / "shared" / "data" / "glove" / "glove.50d.small.txt"
LENGTHS = [5, 3, 1]


def make(kind, name, *facts, **knobs):
    torch.manual_seed(0)
    return registry.blocks(kind)[name](*facts, **knobs).double().eval()


def seq(dim=4, lengths=LENGTHS, seed=1):
    """A ragged sequence with NaN in its padding."""
    values = torch.randn(len(lengths), max(lengths), dim, generator=torch.Generator().manual_seed(seed)).double()
    x = Seq(values, torch.tensor(lengths))
    return Seq(x.filled(float("nan")).requires_grad_(), x.lengths)


def rows(x):
    """Every row alone, without its padding."""
    return [row[:count] for row, count in zip(x.values, x.counts.tolist(), strict=True)]


def same(found, wanted, inputs=(), module=None):
    """Equal values, and equal gradients of every input and parameter under random weights."""
    found, wanted = torch.cat([f.flatten() for f in found]), torch.cat([w.flatten() for w in wanted])
    torch.testing.assert_close(found, wanted)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3)).double()
    leaves = [*inputs, *(module.parameters() if module is not None else ())]
    leaves = [leaf for leaf in leaves if leaf.requires_grad]
    if leaves:
        ours = torch.autograd.grad((found * weights).sum(), leaves, allow_unused=True, retain_graph=True)
        theirs = torch.autograd.grad((wanted * weights).sum(), leaves, allow_unused=True, retain_graph=True)
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other)


# Embeddings -----------------------------------------------------------------------------------------------------------

IDS = Ids(torch.tensor([[2, 0, 2, 1], [3, 3, 99, 99]]), torch.tensor([4, 2]))


def test_one_hot_is_the_table_by_hand():
    found = make("embedding", "one_hot", 4)(IDS)
    assert rows(found)[0].tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert rows(found)[1].tolist() == [[0, 0, 0, 1], [0, 0, 0, 1]]


def test_bag_of_words_is_the_table_by_hand():
    assert make("embedding", "bag_of_words", 4)(IDS).values.tolist() == [[1, 1, 2, 0], [0, 0, 0, 2]]
    assert make("embedding", "bag_of_words", 4, binary=True)(IDS).values.tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]


def test_tf_idf_is_the_table_by_hand():
    """Four documents, of which 4, 2, 1 and 1 hold the tokens 0 to 3: idf = log(4 / n)."""
    idf = tuple(math.log(4 / n) for n in (4, 2, 1, 1))
    wanted = torch.tensor([[0, math.log(2), 2 * math.log(4), 0], [0, 0, 0, 2 * math.log(4)]]).double()
    torch.testing.assert_close(make("embedding", "tf_idf", 4, idf)(IDS).values, wanted, atol=1e-6, rtol=0)
    relative = make("embedding", "tf_idf", 4, idf, relative=True)(IDS).values
    torch.testing.assert_close(relative, wanted / torch.tensor([[4.0], [2.0]]), atol=1e-6, rtol=0)


def test_tf_idf_says_that_the_data_must_count():
    nodes = {
        "bag": {"kind": "embedding", "type": "tf_idf", "from": "source"},
        "output": {"kind": "head", "type": "categorical", "from": "bag", "predicts": "label"},
    }
    fields = {"source": Field("ids", vocabulary=4), "label": Field("label", vocabulary=2)}
    with pytest.raises(GraphError, match="how rare its tokens are"):
        compile_graph(nodes, fields)


def test_cls_stands_before_the_first_step():
    block, x = make("embedding", "cls", 4), seq()
    y = block(x)
    assert y.lengths.tolist() == [6, 4, 2]
    same(rows(y), [torch.cat([2 * block.vector[None], row]) for row in rows(x)], [x.values], block)


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (4, 2), (5, 3), (1, 2)])
def test_conv_stem_is_conv1d_over_every_row_alone(kernel, stride):
    block, x = (
        make("embedding", "conv_stem", 4, dim_out=6, kernel=kernel, stride=stride, depth=2),
        seq(lengths=[7, 4, 1]),
    )

    def alone(row):
        for layer in block.layers:
            left = (kernel - 1) // 2
            padded = F.pad(row.t()[None], (left, kernel - 1 - left))
            row = F.gelu(F.conv1d(padded, layer.weight, layer.bias, stride))[0].t()
        return row

    y = block(x)
    assert y.lengths.tolist() == [math.ceil(math.ceil(n / stride) / stride) for n in (7, 4, 1)]
    same(rows(y), [alone(row) for row in rows(x)], [x.values], block)


def test_patches_are_squares_of_pixels_times_a_matrix():
    block = make("embedding", "patches", 2, 4, 6, dim=5, size=2)
    image = torch.randn(3, 2, 4, 6).double().requires_grad_()
    matrix, wanted = block.project.weight.flatten(1), []
    for top in (0, 2):
        for left in (0, 2, 4):
            square = image[:, :, top : top + 2, left : left + 2].flatten(1)
            wanted.append(square @ matrix.t() + block.project.bias)
    same([block(Image(image)).values], [torch.stack(wanted, 1)], [image], block)


def captioner(picture, **decoder):
    nodes = {
        "picture": {"kind": "embedding", "dim": 4, "from": "image", **picture},
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "target"},
        "decoder": {"kind": "stack", "mixer": "gru", **decoder},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }
    image = Field("image", channels=1, height=8, width=8)
    return compile_graph(nodes, {"image": image, "target": Field("ids", vocabulary=7, start=0, stop=1)})


@pytest.mark.parametrize("bridge", ["initial_state", "prefix", "film"])
def test_an_image_becomes_a_vector_that_a_decoder_starts_from(bridge):
    source = {"x": "embedding", "vector": "picture"}
    graph = captioner({"type": "image_cnn"}, bridge=bridge, **{"from": source})
    hold(graph_subject(graph.materialise()), ["chunks", "padding", "causality", "batch"])


def test_an_image_becomes_patches_that_a_decoder_attends_to():
    source = {"x": "embedding", "memory": "picture"}
    graph = captioner({"type": "patches", "size": 2}, cross="cross_attention", **{"from": source})
    assert graph.plan.outputs["picture"].kind == "seq"
    hold(graph_subject(graph.materialise()), ["chunks", "padding", "causality", "batch"])


@pytest.mark.parametrize("stride", [2, 3, 4])
def test_a_subsampled_sequence_is_not_taken_for_another(stride):
    stem = {"kind": "embedding", "type": "conv_stem", "dim_out": 4, "depth": 1, "stride": stride, "from": "source"}
    nodes = {"stem": stem, "output": {"kind": "head", "type": "categorical", "from": "stem", "predicts": "target"}}
    target, source = Field("ids", vocabulary=5), Field("seq", dim=3)
    for fields in (
        {"target": target, "source": source},
        {"a": target, "target": target, "b": target, "source": source},
    ):
        with pytest.raises(GraphError, match="along another sequence"):
            compile_graph(nodes, fields)


def test_patches_that_do_not_fit_are_refused_with_those_that_do():
    with pytest.raises(Invalid, match="Use 1, 2"):
        make("embedding", "patches", 1, 4, 6, dim=5, size=3)


def test_image_cnn_is_convolutions_norms_and_means():
    block = make("embedding", "image_cnn", 2, dim=5, depth=2, filters=3, kernel=3, grid=2)
    image = torch.randn(3, 2, 8, 8).double().requires_grad_()
    values = image
    for convolution, norm, _ in block.layers:
        values = F.conv2d(values, convolution.weight, convolution.bias, stride=2, padding=1)
        flat = values.flatten(1)
        scaled = (flat - flat.mean(1, keepdim=True)) / (flat.var(1, keepdim=True, correction=0) + norm.eps).sqrt()
        values = F.gelu(scaled.view_as(values) * norm.weight[:, None, None] + norm.bias[:, None, None])
    cells = torch.stack([values[:, :, i, j] for i in range(2) for j in range(2)], dim=-1)  # 2 x 2 are left: a cell each
    same([block(Image(image)).values], [block.project(cells.flatten(1))], [image], block)


# Pretrained vectors ---------------------------------------------------------------------------------------------------

TOKENS = ("<unk>", "cat", "dog", "New York")
VECTORS = "cat 1 2 3\ndog 4 5 6\nunseen 7 8 9\nNew York 0.5 0.25 -1\ncat 9 9 9\n"


def pretrained(path, tokens=TOKENS, **knobs):
    knobs = {"dim": None, **knobs}
    return make("embedding", "pretrained", len(tokens), tokens, path=str(path), **knobs)


@pytest.mark.parametrize("header", ["", "5 3\n"], ids=["glove", "word2vec"])
def test_pretrained_rows_are_the_files(tmp_path, header, caplog):
    (tmp_path / "vectors.txt").write_text(header + VECTORS)
    block = pretrained(tmp_path / "vectors.txt")
    assert block.weight[1:].tolist() == [[1, 2, 3], [4, 5, 6], [0.5, 0.25, -1]]
    assert block.weight[0].abs().sum() > 0
    assert not block.weight.requires_grad
    assert "1 of 4 tokens are not in" in caplog.text
    assert "<unk>" in caplog.text
    y = block(Ids(torch.tensor([[2, 1], [3, 77]]), torch.tensor([2, 1])))
    assert y.values[0].tolist() == [[4, 5, 6], [1, 2, 3]]


def test_pretrained_can_be_tuned_and_projected(tmp_path):
    (tmp_path / "vectors.txt").write_text(VECTORS)
    block = pretrained(tmp_path / "vectors.txt", frozen=False, dim=2)
    assert block.weight.requires_grad
    y = block(Ids(torch.tensor([[1, 2]])))
    wanted = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).double() @ block.project.weight.t()
    torch.testing.assert_close(y.values[0], wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat 1 2 3\ndog 4 5\n", "line 2 of .* has 2 numbers, the file's width is 3"),
        ("cat 1 2 3\ndog 4 5 6 7\n", "line 2 of .* has 4 numbers, the file's width is 3"),
        ("2 3\ncat 1 2 3\ndog 4\n", "line 3 of .* has 1 numbers, the file's width is 3"),
        ("cat 1 2 x\n", "line 1 of .*could not convert string to float: 'x'"),
        ("cow 1 2 3\n", "none of the 4 tokens"),
        ("cat\n", "line 1 of .* expected a token and its numbers"),
        ("", "line 1 of .* expected a token and its numbers"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(tmp_path, text, words):
    (tmp_path / "vectors.txt").write_text(text)
    with pytest.raises(Invalid, match=words):
        pretrained(tmp_path / "vectors.txt")


def test_a_missing_file_is_a_problem_before_any_weight_exists(tmp_path):
    path = tmp_path / "no.txt"
    nodes = {
        "words": {"kind": "embedding", "type": "pretrained", "path": str(path), "dim": None, "from": "x"},
        "output": {"kind": "head", "type": "categorical", "from": "words", "predicts": "y"},
    }
    fields = {"x": Field("ids", vocabulary=4, tokens=TOKENS), "y": Field("ids", vocabulary=2, axis="x")}
    with pytest.raises(GraphError, match="there is no file") as caught:
        compile_graph(nodes, fields)
    assert caught.value.problems[0].path == "model.nodes.words.path"
    path.write_text(VECTORS)
    graph = compile_graph(nodes, fields)
    assert graph.plan.outputs["words"].dim == 3
    assert graph.materialise().nodes["words"].weight[2].tolist() == [4, 5, 6]
    with pytest.raises(GraphError, match="does not name its tokens"):
        compile_graph(nodes, {**fields, "x": Field("ids", vocabulary=4)})


def test_on_meta_only_the_first_line_is_read(tmp_path):
    (tmp_path / "vectors.txt").write_text("cat 1 2 3\n" + "broken\n" * 3)
    with on_meta():
        block = registry.blocks("embedding")["pretrained"](4, TOKENS, path=str(tmp_path / "vectors.txt"), dim=None)
    assert block.weight.shape == (4, 3)
    assert block.weight.is_meta


@pytest.mark.skipif(not GLOVE.exists(), reason=f"needs {GLOVE}")
def test_glove_rows_are_the_files():
    lines = [line.split(" ") for line in GLOVE.read_text().splitlines()]
    tokens = ("<sos>", *(line[0] for line in lines))
    block = pretrained(GLOVE, tokens)
    for place, line in enumerate(lines, start=1):
        torch.testing.assert_close(block.weight[place], torch.tensor([float(text) for text in line[1:]]).double())


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
        "a": Field("ids", vocabulary=4, idf=(1.0,) * 4),
        "b": Field("ids", vocabulary=4, idf=(1.0,) * 4),
        "label": Field("label", vocabulary=2),
    }
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "a"},
        "pool": {"kind": "pool", "type": "tf_idf", "from": {"x": "embedding", "ids": "a"}},
        "output": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "label"},
    }
    compile_graph(nodes, fields)
    nodes["pool"]["from"]["ids"] = "b"
    with pytest.raises(GraphError, match="along another sequence than x"):
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


# Heads ----------------------------------------------------------------------------------------------------------------


def test_gaussian_is_torchs_distribution():
    x, y = seq(), Seq(torch.randn(3, 5, 2).double(), torch.tensor(LENGTHS))
    for variance in ("fixed", "learned"):
        block = make("head", "gaussian", 4, 2, variance=variance)
        output, _ = block(x)
        losses = Ids(block.loss(output, y), y.lengths)
        wanted = []
        for row, target in zip(rows(output), rows(y), strict=True):
            scale = (0.5 * row[:, 2:]).exp() if variance == "learned" else torch.ones(len(row), 2).double()
            wanted.append(-torch.distributions.Normal(row[:, :2], scale).log_prob(target).sum(-1))
        same(rows(losses), wanted, [x.values], block)
        assert losses.values[1, 3:].tolist() == [0, 0]
        assert torch.equal(block.predict(output).values, output.values[..., :2])
    vector = Vec(torch.randn(3, 4).double())
    fixed = make("head", "gaussian", 4, 2)
    target = Vec(torch.randn(3, 2).double())
    output, _ = fixed(vector)
    wanted = -torch.distributions.Normal(output.values, 1.0).log_prob(target.values).sum(-1)
    torch.testing.assert_close(fixed.loss(output, target), wanted)


def test_bernoulli_is_torchs_distribution():
    block, vector = make("head", "bernoulli", 4, 3), Vec(torch.randn(5, 4).double())
    target = Vec(torch.randint(2, (5, 3)).double())
    logits = vector.values @ block.project.weight.t() + block.project.bias
    wanted = -torch.distributions.Bernoulli(logits=logits).log_prob(target.values).sum(-1)
    same([block.loss(block(vector), target)], [wanted], module=block)
    x, steps = seq(), Seq(torch.randint(2, (3, 5, 3)).double(), torch.tensor(LENGTHS))
    losses = block.loss(block(x), steps)
    assert losses.shape == (3, 5)
    assert losses[2, 1:].tolist() == [0] * 4
    wanted = F.binary_cross_entropy_with_logits(block(x).values[0], steps.values[0], reduction="none").sum(-1)
    torch.testing.assert_close(losses[0], wanted)


def paths(steps, symbols):
    return torch.cartesian_prod(*[torch.arange(symbols)] * steps).view(-1, steps)


def test_ctc_is_the_sum_over_all_paths_and_torchs():
    block, x = make("head", "ctc", 4, 2), seq(lengths=[5, 3, 2])
    target = Ids(torch.tensor([[0, 0, 1], [1, 0, 99], [1, 99, 99]]), torch.tensor([3, 2, 1]))
    output = block(x)
    wanted = []
    for row, ids in zip(rows(output), rows(target), strict=True):
        total = torch.zeros(()).double()
        for path in paths(len(row), 3):
            joined = path[torch.cat([torch.tensor([True]), path[1:] != path[:-1]])]
            if torch.equal(joined[joined != 2], ids):
                total = total + row.log_softmax(-1).gather(1, path[:, None]).sum().exp()
        wanted.append(-total.log())
    same([block.loss(output, target)], [torch.stack(wanted)], [x.values], block)
    theirs = F.ctc_loss(
        output.filled().log_softmax(-1).transpose(0, 1), torch.tensor([0, 0, 1, 1, 0, 1]), x.lengths, target.lengths,
        blank=2, reduction="none",
    )  # fmt: skip
    torch.testing.assert_close(block.loss(output, target), theirs)


def test_ctc_says_what_a_target_that_does_not_fit_costs():
    x, target = seq(lengths=[2, 2]), Ids(torch.tensor([[1, 1], [0, 1]]), torch.tensor([2, 2]))
    kept, skipped = (make("head", "ctc", 4, 2, impossible=way) for way in ("keep", "skip"))
    assert kept.loss(kept(x), target).isinf().tolist() == [True, False]
    losses = skipped.loss(skipped(x), target)
    assert losses[0] == 0 < losses[1]
    losses.sum().backward()
    assert skipped.project.weight.grad.isfinite().all()


def test_ctc_collapses_repeats_then_blanks():
    block = make("head", "ctc", 4, 3)
    path = torch.tensor([[0, 0, 3, 0, 1, 1], [3, 3, 3, 3, 2, 2], [2, 1, 0, 0, 0, 0]])
    output = Seq(F.one_hot(path, 4).double(), torch.tensor([6, 4, 2]))
    assert [row.tolist() for row in rows(block.predict(output))] == [[0, 0, 1], [], [2, 1]]


def test_ctc_in_a_graph_needs_no_alignment_but_may_not_see_its_answer():
    nodes = {
        "stem": {"kind": "embedding", "type": "conv_stem", "dim_out": 4, "stride": 2, "depth": 1, "from": "source"},
        "output": {"kind": "head", "type": "ctc", "from": "stem", "predicts": "target"},
    }
    fields = {"source": Field("seq", dim=3), "target": Field("ids", vocabulary=5, start=0, stop=1)}
    graph = compile_graph(nodes, fields).materialise().double()
    source, target = seq(3, [8, 5]), Ids(torch.tensor([[2, 3, 2], [4, 99, 99]]), torch.tensor([3, 1]))
    outputs, _ = graph({"source": source})
    assert graph.losses(outputs, {"target": target})["output"].shape == (2,)
    nodes["stem"] = {"kind": "embedding", "type": "token", "dim": 4, "from": "target"}
    with pytest.raises(GraphError, match="the model reads its own answer: 'target' -> stem -> output"):
        compile_graph(nodes, fields)


def pointer_nodes():
    return {
        "source_embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "source"},
        "encoder": {"kind": "stack", "mixer": "gru", "causal": False, "from": "source_embedding"},
        "target_embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "target"},
        "decoder": {"kind": "stack", "mixer": "gru", "from": "target_embedding"},
        "output": {
            "kind": "head", "type": "pointer", "predicts": "target",
            "from": {"x": "decoder", "memory": "encoder", "ids": "source"},
        },
    }  # fmt: skip


def pointer_fields(source=("<sos>", "<eos>", "a", "b", "x"), target=("<sos>", "<eos>", "b", "a")):
    return {
        "source": Field("ids", vocabulary=len(source), tokens=source),
        "target": Field("ids", vocabulary=len(target), start=0, stop=1, tokens=target),
    }


def test_pointer_is_the_papers_mixture():
    source, target = ("a", "b", "x"), ("b", "c", "a")
    block = make("head", "pointer", 4, 5, 3, source, 3, target)
    x, memory = seq(lengths=[3, 2]), seq(5, [4, 2], seed=2)
    ids = Ids(torch.tensor([[0, 2, 0, 1], [2, 2, 99, 99]]), torch.tensor([4, 2]))  # a x a b; x x: nothing to copy
    output, state = block(x, memory=memory, ids=ids)
    assert state is None
    copies = {0: 2, 1: 0}
    wanted = []
    for hs, ms, tokens in zip(rows(x), rows(memory), rows(ids), strict=True):
        places = [s for s, token in enumerate(tokens.tolist()) if token in copies]
        for h in hs:
            weights = torch.stack([block.query(h) @ block.key(m) / 2 for m in ms]).softmax(0)
            both = torch.cat([h, weights @ ms])
            write = torch.sigmoid(block.gate(both)) if places else torch.ones(1).double()
            p = write * block.project(both).softmax(-1)
            for s in places:
                token = F.one_hot(torch.tensor(copies[tokens[s].item()]), 3)
                p = p + (1 - write) * weights[s] / weights[places].sum() * token
            wanted.append(p.log())
    same([torch.cat(rows(output))], [torch.stack(wanted)], [x.values, memory.values], block)
    torch.testing.assert_close(output.filled().exp().sum(-1)[0], torch.ones(3).double())  # a distribution
    losses = block.loss(output, Ids(torch.tensor([[2, 0, 1], [1, 0, 99]]), torch.tensor([3, 2])))
    torch.testing.assert_close(losses[0], -torch.stack(wanted)[range(3), [2, 0, 1]])
    assert losses[1, 2] == 0


def test_pointer_streams_and_decodes_in_a_graph():
    graph = compile_graph(pointer_nodes(), pointer_fields()).materialise().eval()
    source = Ids(torch.tensor([[2, 3, 4], [3, 99, 99]]), torch.tensor([3, 1]))
    decoded = greedy(graph, {"source": source}, "output", 4)
    ahead = torch.cat([torch.zeros(2, 1, dtype=torch.long), decoded.values[:, :-1]], dim=1)
    outputs, _ = graph({"source": source, "target": Ids(ahead)})
    assert torch.equal(outputs["output"].values.argmax(-1), decoded.values)


def test_pointer_must_know_which_tokens_are_the_same():
    compile_graph(pointer_nodes(), pointer_fields())
    for fields, words in (
        (pointer_fields(("p", "q")), "no token of the ids is in the target's vocabulary"),
        ({"source": Field("ids", vocabulary=5), "target": Field("ids", vocabulary=4, start=0)}, "share one vocabulary"),
    ):
        with pytest.raises(GraphError, match=words):
            compile_graph(pointer_nodes(), fields)
    shared = {"source": Field("ids", vocabulary=4), "target": Field("ids", vocabulary=4, start=0)}
    compile_graph(pointer_nodes(), shared)


@pytest.mark.parametrize("port", ["memory", "ids"])
def test_pointing_at_what_is_predicted_is_a_leak(port):
    nodes = pointer_nodes()
    nodes["output"]["from"] = {"x": "decoder", "memory": "target_embedding", "ids": "target"}
    if port == "ids":  # the memory is harmless, but as long as the target
        fields = pointer_fields() | {"beside": Field("seq", dim=4, axis="target")}
        nodes["output"]["from"]["memory"] = "beside"
    else:
        fields = pointer_fields()
    del nodes["source_embedding"], nodes["encoder"]
    with pytest.raises(GraphError, match=r"read\s+as a whole"):
        compile_graph(nodes, fields)


def test_a_label_can_be_predicted_from_a_bag_of_words():
    """The baseline: words counted, one matrix. Two topics with words of their own are told apart."""
    nodes = {
        "bag": {"kind": "embedding", "type": "bag_of_words", "from": "source"},
        "output": {"kind": "head", "type": "categorical", "from": "bag", "predicts": "label"},
    }
    fields = {"source": Field("ids", vocabulary=6), "label": Field("label", vocabulary=2)}
    graph = compile_graph(nodes, fields).materialise()
    source = Ids(torch.tensor([[0, 1, 2], [3, 4, 5], [2, 0, 0], [4, 4, 3]]))
    label = Label(torch.tensor([0, 1, 0, 1]))
    optimizer = torch.optim.SGD(graph.parameters(), 0.5)
    for _ in range(20):
        optimizer.zero_grad()
        graph.losses(graph({"source": source})[0], {"label": label})["output"].mean().backward()
        optimizer.step()
    assert graph({"source": source})[0]["output"].values.argmax(-1).tolist() == [0, 1, 0, 1]
    assert isinstance(graph.nodes["output"].project, nn.Linear)
