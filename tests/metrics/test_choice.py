"""A head gets the metrics that fit it and its target, each with a name, a meaning and a direction."""

import math
from dataclasses import replace

import pytest

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import ConfigError, UserError
from composer.core.signals import Contents, Field
from composer.graph.compiler import compile_graph
from composer.metrics import (
    LOSS,
    describe,
    direction,
    evaluate,
    headline,
    metrics_for,
    monitor_for,
    scores_for,
)
from tests.support.metrics import FAMILIES, SMALL, SOURCE, TARGETS, Drawn, family

#: What users judge by, where it is not the loss.
JUDGES = {
    "tags": "accuracy",
    "tags together": "accuracy",
    "label": "accuracy",
    "alignment": "wer",
    "forecast": "mse",
    "numbers": "mse",
    "there or not": "micro_f1",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_a_head_gets_the_metrics_that_fit_it(name):
    graph, objective = family(name)
    wanted = FAMILIES[name][1].split()
    assert list(metrics_for(graph)["output"]) == wanted
    found = evaluate(graph, objective, [objective.batch("valid", range(7))])
    assert list(found.values) == wanted
    assert all(math.isfinite(value) for key, value in found.values.items() if key != "bleu")
    assert headline(found.values) in found.values
    assert wanted[0] == LOSS
    assert monitor_for(graph) == JUDGES.get(name, "loss")


def nodes_for(head, kind):
    """What a head of this kind needs before it: a step or a vector a row, and whatever else it reads."""
    found = {
        "embedded": {"kind": "embedding", "type": "token", "dim": 4, "from": "source"},
        "mixed": {"kind": "mixer", "type": "gru", "from": "embedded"},
    }
    ports = {"x": "mixed"} | {
        port: {"memory": "embedded", "ids": "source"}[port]
        for port in ("memory", "ids")
        if port in registry.blocks("head")[head].forward.__annotations__
    }
    if kind in ("vec", "label"):
        found["pool"] = {"kind": "pool", "type": "mean", "from": "mixed"}
        ports["x"] = "pool"
    return found | {"output": {"kind": "head", "type": head, "from": ports, "predicts": "target"}}


@pytest.mark.parametrize("head", registry.blocks("head"))
def test_every_head_has_metrics_for_every_target_it_can_predict(head):
    """On whatever it compiles with: the loss first, all of them named in the table, none of them nan."""
    works = 0
    block = registry.blocks("head")[head]
    for kind, field in TARGETS.items():
        aligned = getattr(block, "aligned", True)
        steps = 8 if "target_steps" in Signature.of(block).facts else None  # at least as many as a row has
        own = replace(field, axis="source" if field.timed and aligned else None, steps=steps)
        fields = {"source": SOURCE, "target": own}
        try:
            graph = compile_graph(nodes_for(head, kind), fields).materialise()
        except ConfigError:
            continue  # not a target of this head
        works += 1
        found = evaluate(graph, Drawn(fields), [Drawn(fields).batch("valid", range(6))])
        assert next(iter(found.values)) == "loss"
        assert set(found.values) <= set(registry.entries("metric"))
        assert all(math.isfinite(value) for value in found.values.values()), (kind, found.values)
        assert ("mse" in found.values) == (kind in ("seq", "vec") and not getattr(block, "binary", False))
        assert ("wer" in found.values) == (kind == "ids" and not aligned)
    assert works


TOKENS = {"kind": "embedding", "type": "token", "dim": 4}


def test_several_heads_prefix_their_names_and_their_losses_add_up():
    fields = {"source": SOURCE, "target": TARGETS["label"], "other": TARGETS["vec"]}
    pool = {"kind": "pool", "type": "mean", "from": "embedded"}
    graph = compile_graph(
        {
            "embedded": {**TOKENS, "from": "source"},
            "pool": pool,
            "first": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "target"},
            "second": {"kind": "head", "type": "gaussian", "from": "pool", "predicts": "other"},
        },
        fields,
    ).materialise()
    objective = Drawn(fields)
    found = evaluate(graph, objective, [objective.batch("valid", range(5))], keep=True, samples=2)
    values = found.values
    assert list(values) == [
        "loss", "first/loss", "first/accuracy", "first/accuracy_over_commonest", "first/macro_f1",
        "second/loss", "second/mse", "second/mae", "second/mse_over_naive",
    ]  # fmt: skip
    assert values["loss"] == pytest.approx(values["first/loss"] + values["second/loss"])
    assert found.interval("loss")[0] < values["loss"] < found.interval("loss")[1]
    assert [sample["head"] for sample in found.samples] == ["first", "first", "second", "second"]
    assert headline(values) == "first/accuracy"


def test_masked_tokens_of_a_text_are_no_tags():
    target = Field("ids", vocabulary=7, axis="source", contents=Contents(tokens=tuple("^$abcde"), text=True))
    graph = compile_graph(nodes_for("categorical", "ids"), {"source": SOURCE, "target": target})
    assert list(scores_for(graph)) == ["loss", "perplexity", "token_accuracy"]


@pytest.mark.slow
def test_a_language_model_of_both_directions_has_the_metrics_of_each():
    overrides = ["data=python_docs", "data.length=24", "model=bidirectional_lm", "objective=bidirectional_lm", *SMALL]
    graph, objective = compile_config(compose(overrides))
    found = evaluate(graph.materialise(), objective, [objective.batch("valid", range(3))]).values
    heads = [head.name for head in graph.heads]
    each = ["loss", "perplexity", "bits_per_character", "token_accuracy"]
    assert list(found) == ["loss", *(f"{head}/{name}" for head in heads for name in each)]
    assert len(heads) == 2
    assert all(math.isfinite(value) for value in found.values())


def test_every_name_is_described_and_has_a_direction():
    assert {direction(name) for name in registry.entries("metric")} == {"min", "max"}
    assert all(describe(name) for name in registry.entries("metric"))
    assert describe("output/bleu").startswith("sacreBLEU's BLEU: n-grams of up to 4 words")
    with pytest.raises(UserError, match="Did you mean 'bleu'"):
        direction("blue")
