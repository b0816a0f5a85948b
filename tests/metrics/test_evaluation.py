"""A whole evaluation, against a loop over rows, and what it leaves behind."""

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.signals import Field, Ids, Image, Label, Seq
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.metrics import (
    evaluate,
)
from composer.objectives import Batch
from tests.support.metrics import FAMILIES, SMALL, TARGETS, Drawn, family, generates

pytestmark = pytest.mark.slow


def row_by_row(graph, objective, count):
    """Every row alone, without any padding: what a person would compute."""
    head = graph.heads[0]
    module = graph.nodes["output"]
    found = []
    graph.eval()
    for row in range(count):
        batch = objective.batch("valid", [row])
        inputs = {name: batch.signals[name] for name in graph.plan.inputs if name not in graph.plan.generated}
        with torch.no_grad():
            outputs, _ = graph(inputs | graph.shifted(batch.signals))
            losses = graph.losses(outputs, batch.signals)["output"]
        found.append((losses, batch.weight(head.predicts), module.predict(outputs["output"]), batch.signals, inputs))
    return found


def test_an_evaluation_of_tags_equals_a_loop_over_rows():
    graph, objective = family("tags")
    found = evaluate(graph, objective, [objective.batch("valid", range(9))]).values
    rows = row_by_row(graph, objective, 9)
    losses = torch.cat([losses[weight > 0] for losses, weight, *_ in rows])
    assert len(losses) < sum(losses.numel() for losses, *_ in rows), "some steps are <blank>"
    assert found["loss"] == pytest.approx(float(losses.mean()), rel=1e-5)
    right = torch.cat([(p.values == s["target"].values)[w > 0] for _, w, p, s, _ in rows])
    assert found["accuracy"] == pytest.approx(float(right.double().mean()))


def test_an_evaluation_of_generated_tokens_equals_a_loop_over_rows(monkeypatch):
    graph, objective = family("generated tokens")
    wanted_of = objective.batch("valid", range(9)).signals["target"]
    shown = objective.show("target", wanted_of)

    def half_right(batch, options):
        """The right answer for every other row: the first symbol of what is given says which rows these are."""
        inputs, length = batch.signals, options.length
        assert length > int(wanted_of.counts[: len(inputs["source"].values)].max())
        values = torch.full((inputs["source"].batch, length), 1)
        counts = inputs["source"].counts
        for i, n in enumerate(counts.tolist()):
            values[i, :n] = inputs["source"].values[i, :n]
            if i % 2:
                values[i, 0] = 2 + (values[i, 0] - 1) % 5
        return Ids(values)

    generates(monkeypatch, half_right)
    found = evaluate(graph, objective, [objective.batch("valid", range(9))], samples=3)
    assert found.values["exact"] == pytest.approx(5 / 9)
    assert found.values["wer"] == pytest.approx(4 / sum(len(text.split()) for text in shown))
    assert [sample["right"] for sample in found.samples] == [True, False, True]
    assert [sample["wanted"] for sample in found.samples] == shown[:3]
    assert found.samples[0]["found"] == shown[0]
    assert found.samples[1]["source"] == shown[1], "copy is given what it has to write"
    rows = row_by_row(graph, objective, 9)
    losses = torch.cat([losses.flatten() for losses, *_ in rows])
    assert found.values["loss"] == pytest.approx(float(losses.mean()), rel=1e-5)
    right = torch.cat([(p.values == s["target"].values).flatten() for _, _, p, s, _ in rows])
    assert found.values["token_accuracy"] == pytest.approx(float(right.double().mean()))


def test_an_evaluation_of_an_alignment_reads_what_the_head_predicts():
    graph, objective = family("alignment")
    found = evaluate(graph, objective, [objective.batch("valid", range(9))], samples=9)
    rows = row_by_row(graph, objective, 9)
    cost = sum(float(losses) for losses, *_ in rows) / sum(int(s["target"].counts) for *_, s, _ in rows)
    assert found.values["loss"] == pytest.approx(cost, rel=1e-5)
    assert cost > 0
    written = [objective.show("target", p)[0] for _, _, p, _, _ in rows]
    assert [sample["found"] for sample in found.samples] == written


def test_a_forecast_goes_on_from_its_own_steps_and_not_from_the_true_ones():
    graph, objective = family("forecast")
    batch = objective.batch("valid", range(6))
    found = evaluate(graph, objective, [batch]).values
    target, source = batch.signals["target"], batch.signals["source"]
    written = torch.zeros(6, 0, 1)
    graph.eval()
    with torch.no_grad():
        for _ in range(target.time):  # everything anew for every step: no state
            late = torch.cat([torch.zeros(6, 1, 1), written], dim=1)
            outputs, _ = graph({"source": source, "target": Seq(late)})
            written = torch.cat([written, outputs["output"].values[:, -1:]], dim=1)
    mse = float((written - target.values).square().mean())
    assert found["mse"] == pytest.approx(mse, rel=1e-4)
    naive = float((source.values[:, -1:] - target.values).square().mean())
    assert found["mse_over_naive"] == pytest.approx(mse / naive, rel=1e-4)


# What an evaluation leaves behind


def test_every_module_is_in_its_own_mode_again():
    graph, objective = family("label")
    graph.train()
    graph.nodes["pool"].eval()
    modes = [module.training for module in graph.modules()]

    def broken():
        yield objective.batch("valid", range(2))
        assert not any(module.training for module in graph.modules())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(graph, objective, broken())
    assert [module.training for module in graph.modules()] == modes
    graph.eval()


def test_smoothed_labels_are_for_training_alone():
    graph, objective = family("label")
    overrides = [*FAMILIES["label"][0], *SMALL, "model.nodes.output.label_smoothing=0.3"]
    smooth, _ = compile_config(compose(overrides))
    smooth = smooth.materialise()
    batches = [objective.batch("valid", range(5))]
    assert evaluate(smooth, objective, batches).values == evaluate(graph, objective, batches).values
    outputs, _ = smooth({"source": batches[0].signals["source"]})
    trained = smooth.train().losses(outputs, batches[0].signals)["output"]
    assert not torch.allclose(trained, smooth.eval().losses(outputs, batches[0].signals)["output"])


def test_pictures_are_not_shown_as_text():
    fields = {"source": Field("image", channels=1, height=8, width=8), "target": TARGETS["label"]}
    nodes = {
        "embedded": {"kind": "embedding", "type": "patches", "from": "source", "size": 4, "dim": 4},
        "pool": {"kind": "pool", "type": "mean", "from": "embedded"},
        "output": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "target"},
    }
    graph: Graph = compile_graph(nodes, fields).materialise()
    signals = {"source": Image(torch.randn(3, 1, 8, 8)), "target": Label(torch.tensor([0, 1, 2]))}
    found = evaluate(graph, Drawn(fields), [Batch(signals)], samples=2)
    assert [set(sample) for sample in found.samples] == [{"wanted", "found", "right"}] * 2


def test_an_example_without_anything_to_predict_is_not_shown_as_right():
    """Skip-gram leaves out frequent words, of which some rows are left with no pair of words."""
    words = ["data=python_docs", "data.length=64", "data.tokeniser={type: words, vocabulary: 100}", "model.dim=4"]
    graph, objective = compile_config(
        compose(["model=skip_gram", "objective=skip_gram", "head=negative_sampling", *words])
    )
    batch = objective.batch("valid", range(40))
    found = evaluate(graph.materialise(), objective, [batch], samples=40)
    assert 0 < len(found.samples) == int(batch.weight("target").any(1).sum()) < 40
    assert all(sample["wanted"] for sample in found.samples)


def test_a_language_model_has_nothing_to_compare_and_shows_nothing():
    graph, objective = family("language model")
    assert evaluate(graph, objective, [objective.batch("valid", range(3))]).samples == []


@pytest.mark.parametrize("name", FAMILIES)
def test_the_loss_is_the_one_that_training_lowers(name):
    from composer.training.losses import loss_sums
    from composer.training.micro_batches import weigh

    graph, objective = family(name)
    batches = [objective.batch("valid", range(5)), objective.batch("valid", range(5, 7))]
    sums = torch.zeros(1)
    graph.eval()
    with torch.no_grad():
        for batch in batches:
            inputs = {key: batch.signals[key] for key in graph.plan.inputs if key not in graph.plan.generated}
            outputs, _ = graph(inputs | graph.shifted(batch.signals))
            sums = sums + loss_sums(graph, outputs, batch)
    trained = float(sums[0] / sum(weigh(batch, "target") for batch in batches))
    assert evaluate(graph, objective, batches).values["loss"] == pytest.approx(trained, rel=1e-5)
