"""The graph of another run as a node: its layers as an independent loop finds them, its laws, and what it refuses."""

import pytest
import torch
from composer.catalogue.pretrained.graph import PretrainedGraph

from composer.core.problems import ConfigError, Invalid
from composer.core.signals import Field, Ids, Seq
from composer.graph.compiler import compile_graph
from composer.graph.trained import TrainedGraph
from composer.testing import LAWS, subject
from composer.testing.laws import chunks

IDS = {"kind": "ids", "vocabulary": 9, "start": 1, "stop": 2, "copies": "target", "reversed": False}
CODE = Field("ids", vocabulary=9, start=1, stop=2)


def embedded(source, **more):
    return {"kind": "embedding", "type": "token", "dim": 4, "from": source, **more}


def stack(source, depth=2, mixer="gru", **more):
    return {"kind": "stack", "depth": depth, "mixer": mixer, "norm": "layer", "from": source, **more}


def head(source, predicts):
    return {"kind": "head", "type": "categorical", "from": source, "predicts": predicts}


def language_model(**more):
    decoder, output = stack("embedding", **more), head("decoder", "target")
    nodes = {"embedding": embedded("target"), "decoder": decoder, "output": output}
    return TrainedGraph("runs/lm", nodes, {"target": IDS})


def encoder_decoder():
    fields = {"source": {**IDS, "copies": "source"}, "target": IDS}
    nodes = {
        "source_embedding": embedded("source"),
        "encoder": stack("source_embedding", causal=False),
        "target_embedding": embedded("target"),
        "decoder": stack({"x": "target_embedding", "memory": "encoder"}, cross="cross_attention"),
        "output": head("decoder", "target"),
    }
    return TrainedGraph("runs/translation", nodes, fields)


def two_texts():
    fields = {name: {**IDS, "copies": name} for name in ("title", "body")}
    nodes = {f"{name}_embedding": embedded(name) for name in fields}
    nodes |= {f"{name}_encoder": stack(f"{name}_embedding", causal=False) for name in fields}
    nodes |= {f"{name}_pool": {"kind": "pool", "type": "mean", "from": f"{name}_encoder"} for name in fields}
    nodes |= {"both": {"kind": "merge", "type": "concat", "from": [f"{name}_pool" for name in fields]}}
    nodes |= {"output": {"kind": "head", "type": "categorical", "from": "both", "predicts": "label"}}
    return TrainedGraph("runs/pairs", nodes, {**fields, "label": {"kind": "label", "vocabulary": 2}})


def refused(**knobs):
    with pytest.raises(Invalid) as caught:
        PretrainedGraph(9, **knobs)
    return caught.value


def by_hand(stack_module, x):
    """The layers of a stack without positions: the residual stream before every layer, then the normed output."""
    layers = []
    for layer in stack_module.layers:
        layers.append(x)
        for slot in layer.values():
            block, state = slot.call.block, slot.call.block.start(1)
            steps = []
            for step in slot.norm(Seq(x)).values.split(1, dim=1):
                y, state = block(Seq(step), state)
                steps.append(y.values)
            x = x + torch.cat(steps, dim=1)
    return [*layers, stack_module.norm(Seq(x)).values]


@pytest.mark.parametrize("ended", [False, True])
def test_the_vector_of_a_token_is_the_mixture_of_both_directions_after_they_read_it(ended):
    """Row by row, step by step, without padding: forwards from <sos>, backwards from <eos>, each turned back."""
    torch.manual_seed(0)
    block = PretrainedGraph(9, **PretrainedGraph.example).double().eval()
    with torch.no_grad():
        block.mix.copy_(torch.tensor([0.3, -1.0]))
        block.gamma.fill_(1.7)
    rows = [[5, 3, 8, 4, 6], [7, 4, 3], [6]]
    rows = [[*row, 2] for row in rows] if ended else rows
    lengths = torch.tensor([len(row) for row in rows])
    values = torch.full((3, int(lengths.max())), 8)
    for row, tokens in zip(values, rows, strict=True):
        row[: len(tokens)] = torch.tensor(tokens)
    found = block(Ids(values, lengths))[0]
    nodes = block.inner.graph.nodes
    shares = torch.softmax(block.mix, 0)
    for row, tokens in enumerate(rows):
        directions = []
        for name, text in (("", [1, *tokens]), ("backward_", [2, *tokens[::-1][int(ended) :]])):
            x = nodes[f"{name}embedding"](Ids(torch.tensor([text]))).values
            mixed = sum(share * layer for share, layer in zip(shares, by_hand(nodes[f"{name}decoder"], x), strict=True))
            mixed = mixed[0, len(text) - len(tokens) :]
            directions.append(mixed.flip(0) if name else mixed)
        wanted = 1.7 * torch.cat(directions, dim=-1)
        torch.testing.assert_close(found.values[row, : len(tokens)], wanted)


@pytest.mark.parametrize("law", [law for law in LAWS if law not in ("export", "signals")])
def test_a_causal_graph_streams_and_one_that_reads_a_whole_text_does_not(law):
    for trained in (language_model(), language_model(mixer="attention"), encoder_decoder()):
        of = subject(PretrainedGraph, run=trained, frozen=False)
        assert of.causal == (trained.path == "runs/lm")
        chunks(of, [1, 3]) if law == "chunks" else LAWS[law](of)


def test_a_frozen_graph_has_no_gradient_and_no_dropout_and_a_learning_one_has_both():
    x = Ids(torch.tensor([[3, 4, 5]]))
    for frozen in (True, False):
        block = PretrainedGraph(9, run=language_model(dropout=0.5), frozen=frozen, dim=6).train()
        assert (block(x)[0].values == block(x)[0].values).all() == frozen
        block(x)[0].values.sum().backward()
        own = {name for name, p in block.named_parameters() if p.grad is not None and not name.startswith("inner.")}
        inner = [p.grad is not None for name, p in block.named_parameters() if name.startswith("inner.")]
        assert own == {"mix", "gamma", "project.weight"}
        assert inner == [not frozen] * len(inner)
        assert block.eval().train().inner.graph.training == (not frozen)


def test_the_stacks_are_found_where_there_is_no_choice_and_named_where_there_is():
    found = {trained.path: [stack.name for stack in PretrainedGraph(9, run=trained).inner.stacks] for trained in
             (language_model(), encoder_decoder())}  # fmt: skip
    assert found == {"runs/lm": ["decoder"], "runs/translation": ["encoder"]}
    both = PretrainedGraph(9, **PretrainedGraph.example).inner
    assert [stack.name for stack in both.stacks] == ["decoder", "backward_decoder"]
    assert (both.widths, both.count) == ([4, 4], 2)
    assert not any("output" in name for name, _ in both.named_parameters())  # the heads are left behind
    choices = "(stacks that can be read: title_encoder, body_encoder)"
    several = refused(run=two_texts())
    assert (several.parameter, several.message.endswith(choices)) == ("read", True)
    assert [s.name for s in PretrainedGraph(9, run=two_texts(), read=["body_encoder"]).inner.stacks] == ["body_encoder"]
    for read, sentence in (
        (["title_encoder", "body_encoder"], "read different texts"),
        (["title_encodr"], "does not exist. Did you mean 'title_encoder'?"),
        (["title_pool"], "depends on more than one field, or is no stack"),
        ([], "expected one or more stacks"),
    ):
        assert sentence in refused(run=two_texts(), read=read).message
    assert "depends on more than one field" in refused(run=encoder_decoder(), read=["decoder"]).message


def test_a_graph_without_stacks_or_with_another_vocabulary_is_refused():
    nodes = {"embedding": embedded("target"), "output": head("embedding", "target")}
    assert "no stack of 'runs/bag'" in refused(run=TrainedGraph("runs/bag", nodes, {"target": IDS})).message
    with pytest.raises(Invalid, match="has 12 tokens, but the graph of 'runs/lm' knows 9"):
        PretrainedGraph(12, run=language_model())
    assert "expected the folder" in refused(run=TrainedGraph()).message
    nodes = {"embedding": {"kind": "embedding", "type": "nothing", "from": "target"}}
    broken = refused(run=TrainedGraph("runs/old", nodes, {"target": IDS}))
    assert "'runs/old' does not compile here: nodes.embedding.type: there is no embedding" in broken.message


def test_the_proof_refuses_a_bidirectional_graph_on_the_way_to_what_is_predicted():
    def compiled(run):
        nodes = {
            "features": {"kind": "pretrained", "type": "graph", "from": "target", "run": run.plain()},
            "decoder": stack("features"),
            "output": head("decoder", "target"),
        }
        return compile_graph(nodes, {"target": CODE})

    assert compiled(language_model()).plan.streams == {"features", "decoder", "output"}
    for run in (PretrainedGraph.example["run"], two_way()):
        with pytest.raises(ConfigError) as caught:
            compiled(run)
        (problem,) = caught.value.problems
        assert problem.path == "model.nodes.features"
        assert "reads the future: 'target' -> features -> decoder -> output. 'graph' looks both ways" in problem.message


def two_way():
    fields = {"source": {**IDS, "copies": "source"}, "tags": {"kind": "ids", "vocabulary": 3, "axis": "source"}}
    nodes = {
        "embedding": embedded("source"),
        "encoder": stack("embedding", mixer="attention", causal=False),
        "output": head("encoder", "tags"),
    }
    return TrainedGraph("runs/bert", nodes, fields)
