"""Layers of a stack that share their weights, layers of different widths, and how two directions are joined."""

import pytest
import torch
from torch import nn

from composer.core.problems import ConfigError
from composer.core.signals import Field, Ids
from composer.core.streaming.streaming_copy import streaming_copy
from composer.graph.compiler import compile_graph
from composer.graph.describe import count_parameters, count_state, summarise
from composer.testing import LAWS, graph_subject, hold
from composer.training.memory import recompute_sublayers, sublayers

FIELDS = {"target": Field("ids", vocabulary=7, start=0, stop=1)}
D = 8


def config(**stack):
    return {
        "embedding": {"kind": "embedding", "type": "token", "dim": D, "from": "target"},
        "decoder": {"kind": "stack", "norm": "layer", "from": "embedding", **stack},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }


def compiled(**stack):
    return compile_graph(config(**stack), FIELDS).materialise().double()


def problem(**stack):
    with pytest.raises(ConfigError) as caught:
        compile_graph(config(**stack), FIELDS)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def tokens():
    return {"target": Ids(torch.randint(7, (3, 6), generator=torch.Generator().manual_seed(0)))}


HYBRID = {
    "layers": {"local": {"mixer": "gru"}, "whole": {"mixer": "attention"}},
    "pattern": ["local", "whole"], "ffn": "mlp",
}  # fmt: skip
ATTENTION = {"mixer": "attention", "ffn": "mlp"}


@pytest.mark.parametrize("stack", [{**ATTENTION, "depth": 3}, {**HYBRID, "depth": 3}, {**HYBRID, "depth": 4}])
def test_shared_layers_equal_layers_with_copied_weights(stack):
    shared, plain = compiled(**stack, share=True), compiled(**stack)
    layers, period = plain.nodes["decoder"].layers, len(shared.nodes["decoder"].layers)
    assert period == len(stack.get("pattern", [""]))
    weights = {name: value for name, value in shared.state_dict().items() if ".layers." not in name}
    plain.load_state_dict(weights, strict=False)
    for index, layer in enumerate(layers):
        layer.load_state_dict(shared.nodes["decoder"].layers[index % period].state_dict())
    gradients = []
    for graph in (shared, plain):
        outputs, _ = graph(tokens())
        outputs["output"].values.square().sum().backward()
        gradients.append(dict(graph.named_parameters()))
    torch.testing.assert_close(shared(tokens())[0]["output"].values, plain(tokens())[0]["output"].values)
    for name, weight in gradients[0].items():
        head, _, rest = name.partition(".layers.")
        if rest:  # the gradient of a shared weight is the sum over its uses
            first, _, rest = rest.partition(".")
            uses = [f"{head}.layers.{index}.{rest}" for index in range(int(first), len(layers), period)]
            expected = sum(gradients[1][use].grad for use in uses)
        else:
            expected = gradients[1][name].grad
        torch.testing.assert_close(weight.grad, expected)


def test_shared_layers_have_the_parameters_of_one_and_the_states_of_all():
    one, shared, plain = (compiled(mixer="gru", depth=n, share=s) for n, s in ((1, False), (4, True), (4, False)))
    assert count_parameters(shared) == count_parameters(one) < count_parameters(plain)
    assert count_state(shared, 8) == count_state(plain, 8)
    summaries = [summarise(compile_graph(config(**ATTENTION, depth=4, share=share), FIELDS)) for share in (True, False)]
    costs = [summary["totals"]["flops_per_token"] for summary in summaries]
    assert costs[0] == costs[1]
    assert summaries[0]["nodes"][1]["contents"] == ["4 x attention + mlp, shared weights"]
    assert len(list(sublayers(shared))) == 1


@pytest.mark.parametrize("stack", [{"mixer": "gru", "depth": 3}, {**HYBRID, "depth": 4}])
def test_shared_layers_obey_the_laws(stack):
    hold(graph_subject(compiled(**stack, share=True)), [law for law in LAWS if law not in ("export", "signals")])


def test_recomputed_shared_layers_have_the_same_gradients():
    graphs = [compiled(**ATTENTION, depth=3, share=True) for _ in range(2)]
    recompute_sublayers(graphs[1])
    for graph in graphs:
        graph(tokens())[0]["output"].values.square().sum().backward()
    for one, other in zip(*(graph.parameters() for graph in graphs), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_a_streaming_copy_of_shared_layers_copies_each_layer_once():
    stack = compiled(mixer="gru", depth=3, share=True).eval().nodes["decoder"]
    copy = streaming_copy(stack)
    steps = [slots[0][1] for _, slots in copy._steps]
    assert len(steps) == 3
    assert set(steps) == {copy.layers[0]["mixer"].step}
    assert copy.layers[0]["mixer"] is not stack.layers[0]["mixer"]


PYRAMID = {
    "layers": {"wide": {"mixer": "gru", "dim": 12}, "own": {"mixer": "gru"}, "narrow": {"mixer": "gru", "dim": 6}},
    "pattern": ["wide", "own", "narrow"], "depth": 3,
}  # fmt: skip


@pytest.mark.parametrize("residual", [True, False])
def test_layers_of_other_widths_equal_the_layers_one_after_the_other(residual):
    graph = compiled(**PYRAMID, norm=None, residual=residual)
    found = graph.run(tokens())
    x = found["embedding"].values
    for layer, width in zip(graph.nodes["decoder"].layers, (12, D, 6), strict=True):
        resize = layer["resize"].call.block.project
        x = x @ resize.weight.T + resize.bias
        assert x.shape[-1] == width
        y, _ = layer["mixer"].call.block.cell(x)
        x = x + y if residual else y
    torch.testing.assert_close(found["decoder"].values, x)
    assert graph.plan.outputs["decoder"].dim == 6


@pytest.mark.parametrize("order", ["pre", "post"])
def test_layers_of_other_widths_obey_the_laws(order):
    subject = graph_subject(compiled(**PYRAMID, ffn="mlp", order=order))
    hold(subject, [law for law in LAWS if law not in ("export", "signals")])


@pytest.mark.slow
def test_shared_layers_and_other_widths_export():
    for stack in ({"mixer": "gru", "depth": 3, "share": True}, PYRAMID):
        LAWS["export"](graph_subject(compiled(**stack)))


def test_a_layer_of_the_stack_s_own_width_needs_no_linear_layer():
    layers = {"own": {"mixer": "gru", "dim": D}}
    graph = compiled(layers=layers, pattern=["own"], depth=2)
    assert all(list(layer) == ["mixer"] for layer in graph.nodes["decoder"].layers)


def test_shared_layers_of_other_widths_have_to_end_with_the_width_they_begin_with():
    found = problem(**PYRAMID | {"depth": 6}, share=True)
    assert found.path == "model.nodes.decoder.share"
    assert "of the width 8 at first, and of the width 6 after the last layer" in found.message
    layers = {"wide": {"mixer": "gru", "dim": 12}, "own": {"mixer": "gru"}}
    hold(graph_subject(compiled(layers=layers, pattern=["wide", "own"], depth=5, share=True)), ["chunks", "steps"])


def test_a_width_that_does_not_suit_a_block_is_a_problem_of_the_block():
    layers = {"odd": {"mixer": {"type": "attention", "heads": 4}, "dim": 6}}
    assert "4 heads do not divide the width 6" in problem(layers=layers, pattern=["odd"]).message


TAGS = {"source": FIELDS["target"], "target": Field("ids", vocabulary=5, axis="source")}


def read_both_ways(**stack):
    nodes = config(**{"causal": False} | stack)
    nodes["embedding"]["from"] = "source"
    return compile_graph(nodes, TAGS).materialise().double()


@pytest.mark.parametrize(("mixer", "theirs"), [("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_concatenated_directions_of_two_layers_equal_torch(mixer, theirs):
    """torch's second layer reads both directions: here a linear layer of them comes before the second recurrence."""
    graph = read_both_ways(mixer=mixer, depth=2, norm=None, residual=False, join="concat")
    found = graph.run({"source": tokens()["target"]})
    assert graph.plan.outputs["decoder"].dim == 2 * D
    x = found["embedding"].values
    for index, layer in enumerate(graph.nodes["decoder"].layers):
        if index > 0:
            x = layer["resize"].call.block.project(x)  # (B, T, D)
        both = layer["mixer"].call.block
        twin = theirs(D, D, batch_first=True, bidirectional=True).double()
        weights = [weight for way in (both.ahead, both.back) for weight in way.block.cell.parameters()]
        with torch.no_grad():
            for mine, its in zip(weights, twin.parameters(), strict=True):
                its.copy_(mine)
        x, _ = twin(x)  # (B, T, 2 D)
    torch.testing.assert_close(found["decoder"].values, x)


@pytest.mark.parametrize("join", ["mean", "concat"])
@pytest.mark.parametrize("order", ["pre", "post"])
def test_joined_directions_obey_the_laws(join, order):
    graph = read_both_ways(mixer="gru", ffn="mlp", depth=2, residual=False, join=join, order=order)
    hold(graph_subject(graph), [law for law in LAWS if law not in ("export", "signals")])


@pytest.mark.parametrize(
    ("mixer", "causal"), [("gru", True), ("attention", False), ({"type": "bidirectional", "mixer": "gru"}, False)]
)
def test_directions_cannot_be_joined_where_the_stack_does_not_make_them(mixer, causal):
    with pytest.raises(ConfigError, match="this stack makes no recurrence bidirectional") as caught:
        read_both_ways(mixer=mixer, causal=causal, join="mean")
    assert [problem.path for problem in caught.value.problems] == ["model.nodes.decoder.join"]


def test_concatenated_directions_and_a_residual_connection_are_a_problem():
    with pytest.raises(ConfigError, match="turns the width 8 into 16, and a residual connection adds"):
        read_both_ways(mixer="gru", join="concat")


def test_concatenated_directions_have_no_shared_layers():
    with pytest.raises(ConfigError, match="of the width 8 at first, and of the width 16 after the last layer"):
        read_both_ways(mixer="gru", join="concat", residual=False, share=True)
