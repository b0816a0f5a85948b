"""Learning rates and weight decay by node, and layer-wise decay of the rate."""

import pytest
import torch
from torch import nn

from composer.config.composition import compose
from composer.core.capabilities import declared
from composer.core.problems import UserError
from composer.runs import checkpoint
from composer.training.optimisation.node_rates import Declared, grouped
from composer.training.run.plan import prepare
from composer.training.run.train import train
from tests.support.registered import FAMILIES, with_defaults

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


#: Names that say that a weight is no factor of a product: it sets a rate, a place or a preference.
NEVER = {"decay", "damping", "frequency", "step", "change", "transition", "table", "bias", "scale", "gamma"}


@pytest.mark.parametrize(("kind", "name"), FAMILIES)
def test_a_block_declares_weights_that_it_has_and_rates_do_not_decay(kind, name):
    block = with_defaults(kind, name).module
    weights = dict(block.named_parameters())
    for module_path, module in block.named_modules():
        prefix = f"{module_path}." if module_path else ""
        factors = declared(module, "rate_factors")
        assert {f"{prefix}{own}" for own in (*declared(module, "no_decay"), *factors)} <= weights.keys()
        assert all(0 < factor <= 1 for factor in factors.values())
    graph = nn.ModuleDict({"nodes": nn.ModuleDict({"it": block})})
    kept = {
        id(parameter)
        for group in grouped(graph.named_parameters(), declared=Declared.by(graph))
        if group.get("weight_decay") == 0.0
        for parameter in group["params"]
    }
    decaying = [own for own, weight in weights.items() if weight.requires_grad and id(weight) not in kept]
    assert not [own for own in decaying if own.rpartition(".")[2] in NEVER]
    assert all(weights[own].dim() >= 2 for own in decaying)


SELECTIVE = [*(each for each in BASE if "heads" not in each), "mixer=selective"]


def rates(*overrides):
    plan = prepare(compose([*SELECTIVE, *overrides]))
    graph = plan.meta.materialise()
    names = {parameter: name.removeprefix("nodes.") for name, parameter in graph.named_parameters()}
    groups = plan.optimiser(graph.named_parameters()).param_groups
    return {names[p]: (group["lr"], group["weight_decay"]) for group in groups for p in group["params"]}


def test_declared_weights_do_not_decay_whatever_the_settings_of_their_node():
    for overrides, rate, decay in [
        ([], 0.01, 0.1),
        (["optimiser.groups.encoder={learning_rate: 1e-4, weight_decay: 0.5}"], 1e-4, 0.5),
        (["optimiser.layer_decay=0.5"], 0.01 / 4, 0.1),
    ]:
        layer = {name: pair for name, pair in rates(*overrides).items() if name.startswith("encoder.layers.1.mixer.")}
        assert {pair for name, pair in layer.items() if name.endswith(".decay")} == {(rate, 0.0)}
        assert {pair for name, pair in layer.items() if name.endswith("rise.weight")} == {(rate, decay)}


def test_a_declared_factor_multiplies_the_rate_of_its_node(monkeypatch):
    from composer.catalogue.mixer.selective import Selective

    monkeypatch.setattr(Selective, "rate_factors", {"decay": 0.1}, raising=False)
    for overrides, rate in [
        ([], 0.01),
        (["optimiser.groups.encoder.learning_rate=1e-4"], 1e-4),
        (["optimiser.layer_decay=0.5"], 0.01 / 2),
    ]:
        found = rates(*overrides)
        top = {name.rpartition(".")[2]: pair[0] for name, pair in found.items() if name.startswith("encoder.layers.2.")}
        assert top["decay"] == pytest.approx(0.1 * rate)
        assert top["skip"] == pytest.approx(rate)
    assert next(iter(rates().values()))[0] == 0.01  # of the first group, which is logged


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({"no_decay": ("decy",)}, "declares 'decy', but it has no such weight. Did you mean 'decay'?"),
        ({"rate_factors": {"decay": 10}}, "expected a number above 0 up to 1"),
    ],
)
def test_a_wrong_declaration_is_refused_in_a_sentence(declared, sentence, monkeypatch):
    from composer.catalogue.mixer.selective import Selective

    for name, value in declared.items():
        monkeypatch.setattr(Selective, name, value, raising=False)
    with pytest.raises(UserError) as caught:
        rates()
    assert sentence in str(caught.value)


def test_a_run_goes_on_whose_weights_decayed_otherwise(tmp_path, monkeypatch):
    """The optimiser's state is saved by weight, so that other groups find it."""
    from composer.catalogue.mixer.selective import Selective

    few = [*SELECTIVE, "training.batch=4", "training.figures=false", "training.validate_rows=4", f"runs={tmp_path}"]
    with monkeypatch.context() as before:
        before.setattr(Selective, "no_decay", ())
        old = train(compose([*few, "training.steps=2"]), quiet=True).folder
    folder = train(compose([f"resume={old.path}", "training.steps=4"]), quiet=True).folder
    saved = checkpoint.load(folder.last)
    steps = {int(state["step"]) for state in saved["optimiser"].values()}
    assert (saved["step"], steps) == (4, {4})
    assert all(torch.isfinite(state["exp_avg"]).all() for state in saved["optimiser"].values())
