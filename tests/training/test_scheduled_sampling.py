"""Scheduled sampling: inputs that the model generates itself, in the right share, however a batch is divided."""

import math

import pytest
import torch

from composer.core.problems import Invalid
from composer.core.signals import Field, Ids, Seq
from composer.decoding.token_choice import drawn
from composer.graph.compiler import compile_graph
from composer.training.scheduled_sampling import SampledInputs, sampled_heads
from composer.training.settings import ScheduledSampling, Training

FIELDS = {"source": Field("ids", vocabulary=9), "target": Field("ids", vocabulary=7, start=0, stop=1)}
LENGTHS = torch.tensor([6, 2, 4, 5])


def nodes(mixer="gru", dropout=0.5):
    stack = {"kind": "stack", "mixer": mixer, "depth": 1, "dropout": dropout}
    return {
        "source_embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "source"},
        "encoder": {**stack, "from": "source_embedding"},
        "target_embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "target"},
        "decoder": {**stack, "cross": "cross_attention", "from": {"x": "target_embedding", "memory": "encoder"}},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }


def sharp(config, fields=FIELDS):
    """A graph in training mode whose predictions depend clearly on its inputs."""
    graph = compile_graph(config, fields).materialise().double()
    with torch.no_grad():
        for parameter in graph.parameters():
            parameter.mul_(3)
    return graph.train()


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        "source": Ids(torch.randint(9, (4, 5), generator=generator), torch.tensor([5, 3, 4, 1])),
        "target": Ids(torch.randint(7, (4, 6), generator=generator), LENGTHS),
    }


def sampled(graph, rate, steps=10, seed=1, **more):
    return SampledInputs(graph, ScheduledSampling(rate=rate, **more), steps, seed)


@pytest.mark.parametrize("mixer", ["gru", "attention"])
def test_the_inputs_are_what_the_model_predicts_from_them(mixer):
    """At the rate 1, every input is the prediction of the step before: computed in parallel, from the mixed inputs."""
    graph = sharp(nodes(mixer))
    inputs = graph.read(batch())
    before, draws = {module: module.training for module in graph.modules()}, torch.get_rng_state()
    mixed = sampled(graph, 1.0, shape="constant", choice="greedy").mixed(graph, inputs, 10, torch.arange(4))
    assert {module: module.training for module in graph.modules()} == before
    assert torch.equal(torch.get_rng_state(), draws)
    found = mixed["target"]
    assert not found.values.requires_grad
    assert mixed["source"] is inputs["source"]
    assert (found.values[:, 0] == 0).all()  # <sos>
    predicted = graph.eval()(mixed)[0]["output"].values.argmax(-1)
    real = found.mask[:, 1:]
    assert torch.equal(found.values[:, 1:][real], predicted[:, :-1][real])
    assert (found.values != inputs["target"].values).any()


def test_every_input_is_the_given_or_the_predicted_one_in_the_right_share():
    graph = sharp(nodes())
    inputs = graph.read(batch())
    true, real = inputs["target"].values, inputs["target"].mask[:, 1:]
    mixer, own = sampled(graph, 0.4, shape="constant", choice="greedy", steps=150), []
    graph.eval()
    for step in range(1, 151):
        mixed = mixer.mixed(graph, inputs, step, torch.arange(4))
        predicted = graph(mixed)[0]["output"].values.argmax(-1)[:, :-1]
        found = mixed["target"].values[:, 1:]
        assert ((found == true[:, 1:]) | (found == predicted))[real].all()
        differ = (predicted != true[:, 1:]) & real
        own.append((found == predicted)[differ])
    share = torch.cat(own).double()
    assert share.mean() == pytest.approx(0.4, abs=4 * math.sqrt(0.24 / len(share)))


def test_a_token_is_drawn_from_the_model_s_distribution():
    graph = sharp(nodes())
    logits = torch.randn(1, 7, dtype=torch.float64).expand(5000, -1)
    numbers = (torch.arange(5000, dtype=torch.float64) + 0.5) / 5000
    token = drawn(graph.nodes["output"].log_probabilities(logits), numbers)
    shares = token.bincount(minlength=7) / 5000
    torch.testing.assert_close(shares.double(), logits[0].softmax(-1), atol=1 / 2500, rtol=0)


def test_any_division_of_a_batch_mixes_the_same_inputs():
    graph = sharp(nodes())
    inputs, mixer = graph.read(batch()), sampled(graph, 0.5)
    whole = mixer.mixed(graph, inputs, 10, torch.arange(4))["target"].values
    for rows in (torch.tensor([0, 2]), torch.tensor([1, 3]), torch.tensor([2])):
        part = {name: Ids(signal.values[rows], signal.lengths[rows]) for name, signal in inputs.items()}
        part = {name: signal.steps(0, int(signal.lengths.max())) for name, signal in part.items()}
        found = mixer.mixed(graph, part, 10, rows)["target"]
        assert torch.equal(found.filled(), Ids(whole[rows, : found.time], found.lengths).filled())
    again = SampledInputs(graph, mixer.settings, mixer.steps, mixer.seed).mixed(graph, inputs, 10, torch.arange(4))
    assert torch.equal(again["target"].values, whole)
    assert not torch.equal(mixer.mixed(graph, inputs, 9, torch.arange(4))["target"].values, whole)


def test_real_values_are_the_model_s_means():
    fields = {"target": Field("seq", dim=3)}
    config = {
        "frame": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": "target"},
        "decoder": {"kind": "stack", "mixer": "gru", "depth": 1, "from": "frame"},
        "output": {"kind": "head", "type": "gaussian", "from": "decoder", "predicts": "target"},
    }
    graph = compile_graph(config, fields).materialise().double().eval()
    inputs = graph.read({"target": Seq(torch.randn(2, 5, 3, dtype=torch.float64))})
    mixed = sampled(graph, 1.0, shape="constant", choice="greedy").mixed(graph, inputs, 1, torch.arange(2))
    predicted = graph.nodes["output"].predict(graph(mixed)[0]["output"]).values
    torch.testing.assert_close(mixed["target"].values[:, 1:], predicted[:, :-1])


def test_the_rate_rises_to_its_end():
    graph = sharp(nodes())
    for shape in ("linear", "exponential", "inverse_sigmoid"):
        mixer = sampled(graph, 0.3, steps=1000, start=0.2, shape=shape)
        rates = [mixer.rate(step) for step in range(1, 1001)]
        assert rates[:200] == [0.0] * 200
        assert rates == sorted(rates)
        assert rates[-1] == pytest.approx(0.3)
    assert sampled(graph, 0.3, steps=1000, start=0.2).rate(600) == pytest.approx(0.15)
    assert sampled(graph, 0.3, steps=1000, start=0.2, shape="inverse_sigmoid").rate(600) == pytest.approx(0.15)
    exponential = sampled(graph, 1.0, steps=1000, shape="exponential")  # 1 - k^i, as in the paper
    assert (1 - 0.99 * exponential.rate(500)) ** 2 == pytest.approx(0.01)
    assert [sampled(graph, 0.3, steps=4, start=0.5, shape="constant").rate(step) for step in (1, 2, 3, 4)] == [
        0, 0, 0.3, 0.3,
    ]  # fmt: skip


def test_teacher_forcing_is_left_alone():
    graph = sharp(nodes())
    inputs = graph.read(batch())
    assert sampled(graph, 0.5, start=0.5).mixed(graph, inputs, 5, torch.arange(4)) is inputs


def problem(config, fields=FIELDS, **settings):
    with pytest.raises(Invalid) as caught:
        sampled_heads(compile_graph(config, fields), ScheduledSampling(rate=0.5, **settings))
    return caught.value.parameter, caught.value.message


def test_a_model_without_one_head_that_generates_is_a_problem():
    tagger = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "source"},
        "output": {"kind": "head", "type": "categorical", "from": "embedding", "predicts": "target"},
    }
    fields = {"source": FIELDS["source"], "target": Field("ids", vocabulary=7, axis="source")}
    assert problem(tagger, fields) == (
        "rate",
        "lets the model read what it generates, but this model generates nothing. Set it to 0 (no sampling).",
    )
    two = nodes() | {"aux": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"}}
    assert "one head, not by several or none: output, aux" in problem(two)[1]


def test_settings_without_effect_are_a_problem():
    with pytest.raises(Invalid) as caught:
        Training(scheduled_sampling=ScheduledSampling(shape="constant"))
    assert caught.value.parameter == "scheduled_sampling.shape"
    with pytest.raises(Invalid, match="does not go with carry"):
        Training(carry=True, scheduled_sampling=ScheduledSampling(rate=0.1))
