"""Graphs, not templates: wirings that must compile, and problems that must read well."""

import pytest
import torch

from composer.core.problems import ConfigError
from composer.core.signals import Field, Ids
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from composer.testing import graph_subject, hold

FIELDS = {
    "source": Field("ids", vocabulary=9),
    "other": Field("seq", dim=3),
    "target": Field("ids", vocabulary=7, start=0, stop=1),
    "label": Field("label", vocabulary=4),
    "tags": Field("ids", vocabulary=5, axis="source"),
}
EMBED = {"kind": "embedding", "type": "token", "dim": 8}
LAYERS = {"kind": "stack", "mixer": "attention", "ffn": "mlp", "norm": "layer", "position": "sinusoidal"}
HEAD = {"kind": "head", "type": "categorical"}


def seq2seq(**changes):
    nodes = {
        "source_embedding": {**EMBED, "from": "source"},
        "encoder": {**LAYERS, "from": "source_embedding", "causal": False},
        "target_embedding": {**EMBED, "from": "target"},
        "decoder": {**LAYERS, "cross": "cross_attention", "from": {"x": "target_embedding", "memory": "encoder"}},
        "output": {**HEAD, "from": "decoder", "predicts": "target"},
    }
    return {name: node for name, node in (nodes | changes).items() if node is not None}


def problems(nodes, fields=FIELDS):
    with pytest.raises(ConfigError) as caught:
        compile_graph(nodes, fields)
    return {problem.path.removeprefix("model.nodes."): problem.message for problem in caught.value.problems}


@pytest.mark.slow
def test_two_encoders_into_one_decoder():
    nodes = seq2seq(
        other_embedding={"kind": "embedding", "type": "continuous", "dim_out": 8, "from": "other"},
        second_encoder={"kind": "stack", "mixer": "gru", "from": "other_embedding", "causal": False},
        memory={"kind": "merge", "type": "append", "from": ["encoder", "second_encoder"]},
        decoder={**LAYERS, "cross": "cross_attention", "from": {"x": "target_embedding", "memory": "memory"}},
    )
    graph = compile_graph(nodes, FIELDS)
    assert graph.plan.streams == {"target_embedding", "decoder", "output"}
    hold(graph_subject(graph.materialise()), ["chunks", "padding", "causality", "batch", "none"])


@pytest.mark.slow
def test_a_skip_connection_a_tied_embedding_and_two_heads():
    nodes = seq2seq(
        skip={"kind": "merge", "type": "add", "from": ["decoder", "target_embedding"]},
        output={**HEAD, "from": "skip", "predicts": "target", "tied": "target_embedding"},
        pool={"kind": "pool", "type": "mean", "from": "encoder"},
        topic={**HEAD, "from": "pool", "predicts": "label"},
    )
    graph = compile_graph(nodes, FIELDS).materialise()
    assert graph.nodes["output"].project.weight is graph.nodes["target_embedding"].weight
    assert "topic" not in graph.plan.streams
    hold(graph_subject(graph), ["chunks", "padding", "causality", "batch", "none"])


def test_a_hybrid_repeats_its_pattern():
    layers = {"recurrent": {"mixer": "mingru"}, "global": {"mixer": "attention"}}
    stack = {"kind": "stack", "from": "target_embedding", "layers": layers, "ffn": "mlp", "norm": "layer", "depth": 6}
    nodes = seq2seq(
        decoder=stack | {"pattern": ["recurrent", "recurrent", "global"]}, encoder=None, source_embedding=None
    )
    graph = compile_graph(nodes, FIELDS)
    names = ["2 x mingru + mlp", "1 x attention + mlp"]
    assert graph.nodes["decoder"].contents() == names * 2


@pytest.mark.parametrize("mixer", ["rnn", "lstm", "gru", "mingru", "attention"])
@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("residual", [True, False])
def test_every_kind_of_stack_generates_step_by_step(mixer, order, residual):
    stack = {"mixer": mixer, "order": order, "residual": residual}
    nodes = seq2seq()
    nodes["encoder"] |= stack
    nodes["decoder"] |= stack
    graph = compile_graph(nodes, FIELDS).materialise().eval()
    source = Ids(torch.randint(9, (2, 5)), torch.tensor([5, 3]))
    written = greedy(graph, {"source": source}, "output", length=6)
    late = graph.shifted({"target": written})
    again, _ = graph({"source": source, **late})
    assert torch.equal(again["output"].values.argmax(-1)[written.mask], written.values[written.mask])


def test_a_language_model_generates_from_nothing():
    nodes = seq2seq(source_embedding=None, encoder=None, decoder={**LAYERS, "from": "target_embedding"})
    graph = compile_graph(nodes, FIELDS).materialise().eval()
    written = greedy(graph, {}, "output", length=4, batch=3)
    assert written.values.shape[0] == 3
    assert torch.equal(written.values[0], written.values[2])


def test_an_aligned_graph_predicts_along_its_source():
    nodes = {
        "embedding": {**EMBED, "from": "source"},
        "encoder": {**LAYERS, "from": "embedding", "causal": False},
        "output": {**HEAD, "from": "encoder", "predicts": "tags"},
    }
    assert not compile_graph(nodes, FIELDS).plan.generated
    nodes["output"] = {**HEAD, "from": "encoder", "predicts": "target"}
    assert "another sequence than 'target'" in problems(nodes)["output.from"]


def test_swapping_one_block_leaves_the_other_nodes_weights_as_they_were():
    one = compile_graph(seq2seq(), FIELDS).materialise(seed=4)
    other = compile_graph(seq2seq(output={**HEAD, "bias": False, "from": "decoder", "predicts": "target"}), FIELDS)
    before, after = one.nodes["decoder"].state_dict(), other.materialise(seed=4).nodes["decoder"].state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_every_error_at_once():
    nodes = seq2seq(
        encoder={**LAYERS, "from": "source_embeding", "causal": False, "depht": 3},
        decoder={**LAYERS, "mixer": {"type": "bidirectional", "mixer": "lstm"}, "from": "target_embedding"},
        output={**HEAD, "from": "decoder", "predicts": "target", "label_smoothing": 2},
    )
    found = problems(nodes)
    assert "Did you mean 'depth'?" in found["encoder.depht"]
    assert "Did you mean 'source_embedding'?" in found["encoder.from"]
    assert "at least 0 and below 1, found 2" in found["output.label_smoothing"]
    assert "'target' -> target_embedding -> decoder -> output" in found["decoder"]
    assert "nothing reads this node" in found["source_embedding"]


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"encoder": {**LAYERS, "from": "source", "causal": False}}, "encoder.from", "Put an embedding between."),
        ({"output": {**HEAD, "from": "decoder", "predicts": "label"}}, "output.from", "Put a pool before the head."),
        ({"output": {**HEAD, "type": "gaussian", "from": "decoder", "predicts": "target"}},
         "output.predicts", "is of kind ids"),
        ({"decoder": {**LAYERS, "from": {"x": "target_embedding", "memory": "encoder"}}},
         "decoder", "no layer reads it"),
        ({"decoder": {**LAYERS, "cross": "cross_attention", "from": "target_embedding"}},
         "decoder.cross", "needs a memory"),
        ({"encoder": {**LAYERS, "mixer": {"type": "attention", "heads": 3}, "from": "source_embedding"}},
         "encoder.mixer.heads", "3 heads do not divide the width 8. Use 1, 2, 4"),
        ({"encoder": {**LAYERS, "mixer": "gru", "position": "rotary", "from": "source_embedding", "causal": False}},
         "encoder.position", "acts inside attention"),
        ({"encoder": {**LAYERS, "from": "decoder", "causal": False}}, "encoder.from", "in a circle"),
        ({"output": {**HEAD, "from": "decoder", "predicts": "target", "tied": "source_embedding"}},
         "output.tied", "(9, 8)"),
        ({"sum": {"kind": "merge", "type": "add", "from": ["encoder", "target_embedding"]},
          "decoder": {**LAYERS, "from": "sum"}}, "sum.from", "one time axis"),
        ({"source": {**EMBED, "from": "target"}}, "source", "already the name of a field"),
    ],
)  # fmt: skip
def test_a_problem_says_what_to_do(changes, path, words):
    found = problems(seq2seq(**changes))
    assert path in found, found
    assert words in found[path]


@pytest.mark.slow
def test_a_hundred_nodes_compile():
    nodes = {"embedding": {**EMBED, "from": "target"}}
    for index in range(98):
        before = f"n{index - 1}" if index else "embedding"
        nodes[f"n{index}"] = {
            "kind": "stack",
            "mixer": "mingru",
            "ffn": "mlp",
            "norm": "layer",
            "depth": 1,
            "from": before,
        }
    nodes["output"] = {**HEAD, "from": "n97", "predicts": "target"}
    assert len(compile_graph(nodes, FIELDS).plan.nodes) == 100
