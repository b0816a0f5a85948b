"""Heads against torch's distributions, and against the sums that their papers define."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from composer.core.problems import ConfigError
from composer.core.signals import Contents, Field, Ids, Label, Seq, Vec
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from tests.support.twins import LENGTHS, make, rows, same, seq


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
    with pytest.raises(ConfigError, match="the model reads its own answer: 'target' -> stem -> output"):
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
        "source": Field("ids", vocabulary=len(source), contents=Contents(tokens=source)),
        "target": Field("ids", vocabulary=len(target), start=0, stop=1, contents=Contents(tokens=target)),
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
        with pytest.raises(ConfigError, match=words):
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
    with pytest.raises(ConfigError, match=r"read\s+as a whole"):
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
