"""A graph with a language model on its source and one on its target, beside its decoder: every command takes it."""

import json

import pytest

from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.trained import SMALL

HEADS = [
    "data=copy", "data.symbols=6", "data.length=5", "mixer=gru", "model.dim=8", "training.steps=2",
    "training.validate_every=2", "model.nodes.encoder.causal=true", "model.nodes.encoder.depth=1",
    "model.nodes.decoder.depth=1",
    "+model.nodes.aux={kind: head, type: categorical, from: encoder, predicts: source}",
    "+model.nodes.alone={kind: mixer, type: gru, from: target_embedding}",
    "+model.nodes.second={kind: head, type: categorical, from: alone, predicts: target}",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(shared):
    return shared.run(lambda overrides: train(compose(overrides)), [*SMALL, *HEADS])


def test_typed_rows_are_predicted_by_the_heads_that_can(run, ask):
    code, out, err = ask("predict", run, "--given", "1 2 3")
    assert code == 0, err
    record = json.loads(out)
    assert "predicted" in record["output"]
    assert len(record["aux"]["predicted"]) == 3
    assert record["second"] == {}


def test_rows_of_the_data_are_predicted_by_all_heads(run, ask):
    code, out, err = ask("predict", run, "--rows", 2)
    assert code == 0, err
    assert {"output", "aux", "second"} <= set(json.loads(out.splitlines()[0]))


@pytest.mark.parametrize("head", ["output", "second"])
def test_both_heads_of_the_target_generate(run, ask, head):
    code, _, err = ask("generate", run, "1 2", "--head", head, "--length", 4)
    assert code == 0, err


@pytest.mark.parametrize("command", [("evaluate", "--rows", 8), ("inspect", "--examples", 1)])
def test_every_other_command_takes_the_graph(run, ask, tmp_path, command):
    name, *options = command
    folder = ["-o", tmp_path / name] if name != "evaluate" else []
    code, out, err = ask(name, run, *options, *folder)
    assert code == 0, err
    assert "aux/loss" in out or "wrote" in out
