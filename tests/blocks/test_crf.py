"""The conditional random field against a sum, or a maximum, over all tag sequences."""

from itertools import pairwise, product

import pytest
import torch

from composer.core.problems import ConfigError, Invalid, UserError
from composer.core.signals import Field, Ids, Seq
from composer.graph.compiler import compile_graph
from composer.objectives import Batch
from composer.training.losses import loss_sums
from tests.support.twins import make, rows, same, seq

TAGS = 3
BIO = ("O", "B-a", "I-a", "B-b", "I-b")


def crf(tags=TAGS, tokens=None, blank=None, **knobs):
    block = make("head", "crf", 4, tags, tokens, blank, **knobs)
    for weight in (block.first, block.change, block.last):
        torch.nn.init.normal_(weight)
    return block


def score(block, steps, path):
    """The score of one tag sequence, by the formula."""
    total = block.first[path[0]] + block.last[path[-1]] + sum(steps[t, tag] for t, tag in enumerate(path))
    return total + sum(block.change[one, other] for one, other in pairwise(path))


def scored(block, steps):
    """Every tag sequence and its score."""
    paths = list(product(range(steps.shape[1]), repeat=len(steps)))
    return paths, torch.stack([score(block, steps, path) for path in paths])


def test_the_loss_is_the_share_of_the_target_among_all_sequences():
    block, x = crf(), seq()
    target = Ids(torch.tensor([[0, 2, 1, 1, 0], [1, 1, 2, 99, 99], [2, 99, 99, 99, 99]]), x.lengths)
    output = block(x)
    wanted = []
    for steps, tags in zip(rows(output), rows(target), strict=True):
        _, every = scored(block, steps)
        wanted.append(every.logsumexp(0) - score(block, steps, tags.tolist()))
    same([block.loss(output, target)], [torch.stack(wanted)], [x.values], block)


def test_blank_tags_are_hidden():
    """The loss is that of the known tags, summed over the values of the others; a row without known tags costs 0."""
    block, x = crf(blank=2), seq()
    target = Ids(torch.tensor([[0, 2, 1, 2, 0], [2, 2, 2, 99, 99], [1, 99, 99, 99, 99]]), x.lengths)
    output = block(x)
    wanted = []
    for steps, tags in zip(rows(output), rows(target), strict=True):
        paths, every = scored(block, steps)
        fits = [all(tag in (2, found) for tag, found in zip(tags.tolist(), path, strict=True)) for path in paths]
        wanted.append(every.logsumexp(0) - every[torch.tensor(fits)].logsumexp(0))
    same([block.loss(output, target)], [torch.stack(wanted)], [x.values], block)
    assert block.loss(output, target)[1] == 0


def test_a_row_without_steps_costs_nothing():
    block, x = crf(), seq(lengths=[2, 0])
    target = Ids(torch.tensor([[0, 1], [99, 99]]), x.lengths)
    losses = block.loss(block(x), target)
    assert losses[1] == 0 < losses[0]


def test_the_prediction_is_the_best_of_all_sequences():
    for seed in range(5):
        block, x = crf(), seq(seed=seed)
        output = block(x)
        for steps, found in zip(rows(output), rows(block.predict(output)), strict=True):
            paths, every = scored(block, steps)
            assert tuple(found.tolist()) == paths[int(every.argmax())]


def test_marginals_are_sums_over_all_sequences():
    block, x = crf(), seq()
    output = block(x)
    for steps, found in zip(rows(output), rows(Seq(block.log_marginals(output), x.lengths)), strict=True):
        paths, every = scored(block, steps)
        shares = every.softmax(0)
        for t, tag in product(range(len(steps)), range(TAGS)):
            there = torch.tensor([path[t] == tag for path in paths])
            torch.testing.assert_close(found[t, tag].exp(), shares[there].sum())


def legal(path):
    tags = ["O", *(BIO[tag] for tag in path)]
    return all(tag[0] != "I" or before in (tag, "B" + tag[1:]) for before, tag in pairwise(tags))


def test_bio_predicts_the_best_of_the_sequences_that_it_allows():
    free, bound = crf(5, BIO), crf(5, BIO, bio=True)
    bound.load_state_dict(free.state_dict())
    illegal = 0
    for seed in range(8):
        output = free(seq(lengths=[4, 2, 1], seed=seed))
        illegal += sum(not legal(row.tolist()) for row in rows(free.predict(output)))
        for steps, found in zip(rows(output), rows(bound.predict(output)), strict=True):
            paths, every = scored(free, steps)
            allowed = torch.tensor([legal(path) for path in paths])
            assert tuple(found.tolist()) == paths[int(every.masked_fill(~allowed, -torch.inf).argmax())]
    assert illegal > 0
    with pytest.raises(Invalid, match="are not BIO"):
        crf(3, ("NOUN", "VERB", "I-x"), bio=True)


def nodes(source="source"):
    return {
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": source},
        "output": {"kind": "head", "type": "crf", "from": "embedding", "predicts": "target"},
    }


def test_a_crf_in_a_graph_may_not_see_its_answer():
    fields = {"source": Field("ids", vocabulary=5), "target": Field("ids", vocabulary=3, start=0, axis="source")}
    compile_graph(nodes(), fields)
    with pytest.raises(ConfigError, match="the model reads its own answer: 'target' -> embedding -> output"):
        compile_graph(nodes("target"), {"target": Field("ids", vocabulary=3, start=0, stop=1)})


def test_steps_cannot_be_weighed_one_by_one():
    fields = {"source": Field("ids", vocabulary=5), "target": Field("ids", vocabulary=3, axis="source")}
    signals = {"source": Ids(torch.tensor([[0, 1, 2]])), "target": Ids(torch.tensor([[0, 1, 2]]))}
    batch = Batch(signals, {"target": torch.tensor([[0.0, 1.0, 1.0]])})
    graph = compile_graph(nodes(), fields).materialise()
    outputs, _ = graph(signals)
    with pytest.raises(UserError, match="predicts all steps of a row together"):
        loss_sums(graph, outputs, batch)
    fields["target"] = Field("ids", vocabulary=3, axis="source", blank=0)
    hides = compile_graph(nodes(), fields).materialise()
    assert loss_sums(hides, hides(signals)[0], batch).isfinite().all()
