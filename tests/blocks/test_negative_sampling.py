"""The head of word2vec: its loss, its draws and its probabilities are the papers' formulas."""

import math

import pytest
import torch
from scipy import stats

from composer.core.problems import ConfigError
from composer.core.signals import Field, Ids, Label, Seq, Vec
from composer.graph.compiler import compile_graph
from tests.support.twins import LENGTHS, make, rows, seq

FREQUENCY = (0.5, 0.25, 0.125, 0.1, 0.025, 0.0)
V, D, K = len(FREQUENCY), 4, 3


def head(**knobs):
    return make("head", "negative_sampling", D, V, FREQUENCY, **{"negatives": K, **knobs})


def noise(power=0.75):
    """The token that was never counted is as rare as the rarest one."""
    weights = [max(f, 0.025) ** power for f in FREQUENCY]
    return [w / sum(weights) for w in weights]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_the_training_loss_is_the_formula_in_a_loop():
    block, x = head().train(), seq(D)
    target = Ids(torch.randint(V, (3, 5), generator=torch.Generator().manual_seed(2)), torch.tensor(LENGTHS))
    real = sum(LENGTHS)
    drawn = torch.randint(V, (real, K), generator=torch.Generator().manual_seed(3))
    block.draw = lambda count: drawn[:count]
    losses = Ids(block.loss(block(x), target), target.lengths)
    u, negatives = block.vectors.tolist(), iter(drawn.tolist())
    for h, wanted, found in zip(rows(x), rows(target), rows(losses), strict=True):
        for vector, token, loss in zip(h.tolist(), wanted.tolist(), found.tolist(), strict=True):
            dot = [sum(a * b for a, b in zip(vector, u[j], strict=True)) for j in range(V)]
            expected = -math.log(sigmoid(dot[token])) - sum(math.log(sigmoid(-dot[k])) for k in next(negatives))
            assert loss == pytest.approx(expected)
    assert losses.values[1, LENGTHS[1] :].tolist() == [0] * (5 - LENGTHS[1])
    losses.values.sum().backward()
    assert x.values.grad.nan_to_num(nan=-1).isfinite().all()
    untouched = set(range(V)) - {*drawn.flatten().tolist(), *(i for row in rows(target) for i in row.tolist())}
    assert all(not block.vectors.grad[token].any() for token in untouched)


@pytest.mark.parametrize("power", [0.75, 1.0, 0.0])
def test_negatives_are_drawn_by_their_frequency_to_the_power(power):
    block = head(power=power)
    torch.manual_seed(5)
    found = block.draw(20_000).flatten().bincount(minlength=V)
    assert (
        stats.chisquare(found.numpy(), torch.tensor(noise(power), dtype=torch.float64).numpy() * 20_000 * K).pvalue
        > 1e-3
    )


def test_training_draws_from_the_generator_whose_state_a_checkpoint_keeps_and_evaluation_draws_nothing():
    block, x, target = head().train(), Vec(torch.randn(50, D).double()), Label(torch.randint(V, (50,)))
    torch.manual_seed(1)
    first, state = block.loss(x, target), torch.get_rng_state()
    second = block.loss(x, target)
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(block.loss(x, target), second)
    block.eval()
    state = torch.get_rng_state()
    block.loss(x, target), block.predict(x)
    assert torch.equal(torch.get_rng_state(), state)


def test_evaluation_is_a_softmax_with_the_noise_as_its_prior(monkeypatch):
    monkeypatch.setattr("composer.catalogue.head.negative_sampling.SCORES", 2 * V)  # two vectors at a time
    block, x = head(), seq(D)
    target = Ids(torch.randint(V, (3, 5)), torch.tensor(LENGTHS))
    losses, found = Ids(block.loss(block(x), target), target.lengths), block.predict(block(x))
    wanted, best = [], []
    for h, ids in zip(rows(x), rows(target), strict=True):
        p = torch.softmax(h @ block.vectors.T, -1) * torch.tensor(noise()).double()
        p = p / p.sum(-1, keepdim=True)
        wanted.append(-p.log().gather(-1, ids[:, None])[:, 0])
        best.append(p.argmax(-1))
        torch.testing.assert_close(block.log_probabilities(h).exp(), p, rtol=1e-6, atol=1e-6)
    for one, other in zip(rows(losses), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
    assert all(torch.equal(one, other) for one, other in zip(rows(found), best, strict=True))


def test_the_expected_loss_is_least_where_the_probabilities_are_those_of_evaluation():
    """Levy and Goldberg, 2014: at scores log p - log(K q), which the softmax with the prior q turns back into p."""
    p, q = torch.tensor([0.1, 0.2, 0.3, 0.2, 0.15, 0.05]).double(), torch.tensor(noise()).double()
    scores = (p.log() - (K * q).log()).requires_grad_()
    expected = (p * torch.nn.functional.softplus(-scores)).sum() + K * (q * torch.nn.functional.softplus(scores)).sum()
    expected.backward()
    torch.testing.assert_close(scores.grad, torch.zeros(V).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.softmax(scores.detach() + q.log(), 0), p)


@pytest.mark.parametrize("training", [True, False])
def test_a_batch_of_padding_alone_has_no_loss(training):
    block, none = head().train(training), torch.zeros(2, dtype=torch.long)
    assert block.loss(Seq(torch.randn(2, 3, D).double(), none), Ids(torch.zeros(2, 3).long(), none)).sum() == 0


def test_a_field_without_counts_is_refused():
    fields = {"source": Field("ids", vocabulary=5), "target": Field("label", vocabulary=3)}
    nodes = {
        "bag": {"kind": "embedding", "type": "bag_of_words", "from": "source"},
        "output": {"kind": "head", "type": "negative_sampling", "from": "bag", "predicts": "target"},
    }
    with pytest.raises(ConfigError, match="does not count the values of this field"):
        compile_graph(nodes, fields)
