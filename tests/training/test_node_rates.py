"""Learning rates and weight decay by node, and layer-wise decay of the rate."""

import pytest

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.training.optimisers import decay_groups
from composer.training.run.plan import prepare

BASE = [
    "data=parity", "optimiser.learning_rate=0.01", "optimiser.weight_decay=0.1", "model.dim=8",
    "mixer.heads=2", "model.nodes.encoder.depth=3", "position=learned", "model=seq2vec",
]  # fmt: skip


def made(*overrides):
    """The optimiser's rate and decay for every parameter, by name."""
    plan = prepare(compose([*BASE, *overrides]))
    graph = plan.meta.materialise()
    optimiser = plan.optimiser(graph.named_parameters())
    names = {parameter: name.removeprefix("nodes.") for name, parameter in graph.named_parameters()}
    return {
        names[parameter]: (group["lr"], group["weight_decay"])
        for group in optimiser.param_groups
        for parameter in group["params"]
    }


@pytest.mark.slow
def test_a_node_has_a_rate_and_a_decay_of_its_own():
    found = made("optimiser.groups.encoder.learning_rate=1e-4", "optimiser.groups.embedding={weight_decay: 0.5}")
    assert found["encoder.layers.0.ffn.call.block.rise.weight"] == (1e-4, 0.1)
    assert found["encoder.layers.0.ffn.call.block.rise.bias"] == (1e-4, 0.0)  # vectors never decay
    assert found["embedding.embedding.weight"] == (0.01, 0.5)
    assert found["output.project.weight"] == (0.01, 0.1)


@pytest.mark.slow
def test_the_rate_decays_by_layers_from_the_head_down():
    found = made("optimiser.layer_decay=0.5", "optimiser.groups.embedding.weight_decay=0.3")
    rates = {name: rate for name, (rate, _) in found.items()}
    assert rates["output.project.weight"] == 0.01  # the pool between has no weights
    for layer, rate in enumerate((0.01 / 8, 0.01 / 4, 0.01 / 2)):
        own = {rate for name, rate in rates.items() if name.startswith(f"encoder.layers.{layer}.")}
        assert own == {rate}
    assert rates["encoder.norm.norm.weight"] == 0.01 / 2
    assert {rate for name, rate in rates.items() if name.startswith("encoder.position.")} == {0.01 / 8}
    assert found["embedding.embedding.weight"] == (0.01 / 16, 0.3)
    own = made("optimiser.layer_decay=0.5", "optimiser.groups.encoder.learning_rate=1e-4")
    assert {rate for name, (rate, _) in own.items() if name.startswith("encoder.")} == {1e-4}  # whatever their layer


@pytest.mark.slow
def test_without_settings_by_node_the_groups_are_those_of_the_optimiser_alone():
    plan = prepare(compose(BASE))
    graph = plan.meta.materialise()
    ours, plain = plan.optimiser(graph.named_parameters()), decay_groups(graph.named_parameters())
    assert [group["params"] for group in ours.param_groups] == [group["params"] for group in plain]


@pytest.mark.slow
def test_the_first_group_which_is_logged_has_the_rate_of_the_optimiser():
    rates = list(made("optimiser.groups.embedding.learning_rate=0.5", "optimiser.layer_decay=0.9").values())
    assert rates[0][0] == 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("optimiser.groups.encodr.learning_rate=1e-4", "the node 'encodr' does not exist. Did you mean 'encoder'?"),
        ("optimiser.groups.pool.learning_rate=1e-4", "the node 'pool' has no weights."),
        ("optimiser.groups.encoder.rate=1e-4", "'encoder' has no parameter 'rate'."),
        ("optimiser.groups.encoder.learning_rate=-1", "expected a number above 0"),
        ("optimiser.groups.encoder={}", "sets neither learning_rate nor weight_decay"),
        ("optimiser.layer_decay=1.5", "optimiser.layer_decay"),
    ],
)
def test_what_has_no_effect_is_refused_with_its_place(override, sentence):
    with pytest.raises(UserError) as caught:
        made(override)
    message = " ".join(str(caught.value).split())
    assert sentence in message
    assert f"command line: {override}" in message


@pytest.mark.slow
def test_a_rate_for_a_frozen_node_is_refused_unless_it_learns_later():
    rate = "optimiser.groups.embedding.learning_rate=1e-4"
    with pytest.raises(UserError, match="has no effect: 'embedding' is frozen"):
        made(rate, "init.freeze=[embedding]")
    assert made(rate, "init.freeze=[embedding]", "init.unfreeze_after=5")["embedding.embedding.weight"][0] == 1e-4
