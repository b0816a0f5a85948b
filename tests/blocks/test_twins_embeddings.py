"""Embeddings against an independent formula."""

import math

import pytest
import torch
import torch.nn.functional as F

from composer.core.problems import ConfigError, Invalid
from composer.core.signals import Field, Ids, Image
from composer.graph.compiler import compile_graph
from composer.testing import graph_subject, hold
from tests.support.twins import make, rows, same, seq

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
    with pytest.raises(ConfigError, match="how rare its tokens are"):
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
        with pytest.raises(ConfigError, match="along another sequence"):
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
