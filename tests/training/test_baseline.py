"""Heads that begin as a baseline: the untrained model is validated, too, and stays the best unless it improves."""

import json
import random
import signal
from itertools import accumulate

import pytest
import torch

from composer.config.composition import compose
from composer.inference.model import Model
from composer.metrics import Evaluator
from composer.metrics.bootstrap import Examples
from composer.runs import checkpoint
from composer.training.run import train as job
from composer.training.validation import within_chance
from tests.support.runs import logged

pytestmark = pytest.mark.slow

SMALL = [
    "model=forecaster", "data=series", "data.length=12", "data.horizon=3", "data.test=0.2", "mixer=gru", "model.dim=8",
    "training.steps=4", "training.validate_every=2", "training.checkpoint_every=3", "training.log_every=2",
    "training.batch=8", "training.monitor=mse", "training.figures=false", "logger=none", "trainer.threads=1",
]  # fmt: skip


@pytest.fixture
def config(tmp_path):
    """Overrides to train on a random walk, of which nothing but the last value can be known."""
    draw = random.Random(1)
    walk = accumulate(draw.gauss(0, 1) for _ in range(240))
    (tmp_path / "walk.csv").write_text("value\n" + "".join(f"{value}\n" for value in walk))
    return [*SMALL, f"data.path={tmp_path}/walk.csv", f"runs={tmp_path}"]


def test_a_model_that_training_makes_worse_stays_the_naive_forecast(config):
    folder = job.train(compose([*config, "name=walk", "optimiser.learning_rate=0.5"])).folder
    facts = json.loads((folder.path / "run.json").read_text())
    assert (facts["result_step"], facts["last_step"]) == (0, 4)
    assert facts["test"]["mse_over_naive"]["value"] == pytest.approx(1, abs=0.002)
    assert [line["step"] for line in logged(folder.path) if "valid/mse" in line] == [0, 2, 4]
    last = float((folder.path.parent / "walk.csv").read_text().split()[-1])
    [forecast] = Model.load(folder.path).predict([[[step] for step in [*range(11), last]]])
    assert forecast["predicted"] == pytest.approx([last] * 3, abs=0.2)


@pytest.mark.parametrize(("gain", "kept"), [(0.02, True), (0.5, False), (-0.5, True)])
def test_a_baseline_is_replaced_by_what_is_better_by_more_than_a_standard_error(gain, kept):
    """240 windows of 24 steps that overlap are ten independent ones: a standard error is sqrt(2 / 10) / 5 = 0.09."""
    draw = torch.Generator().manual_seed(1)
    before, noise = (torch.randn(240, generator=draw) / 5 + 1 for _ in range(2))
    assert within_chance(noise - gain, before, Examples(240, 120, torch.arange(240)), steps=24) is kept
    assert within_chance(before - 1e-6 * noise, before, Examples(), steps=24) is False  # small, but always so


def test_a_run_without_a_baseline_is_not_validated_before_its_first_step(config):
    head = ["model.nodes.output.from=encoder"]  # no window: a forecast begins at zero
    folder = job.train(compose([*config, "name=plain", *head])).folder
    assert [line["step"] for line in logged(folder.path) if "valid/mse" in line] == [2, 4]


def test_a_run_that_is_stopped_in_its_first_validation_goes_on_as_if_it_had_not_been(config, monkeypatch):
    whole = job.train(compose([*config, "name=whole"])).folder
    real = Evaluator.add

    def interrupted(*args, **options):
        monkeypatch.setattr(Evaluator, "add", real)
        signal.raise_signal(signal.SIGTERM)
        return real(*args, **options)

    monkeypatch.setattr(Evaluator, "add", interrupted)
    outcome = job.train(compose([*config, "name=stopped"]))
    assert outcome.status == "stopped"
    assert checkpoint.load(outcome.folder.last)["step"] == 0
    job.train(compose([f"resume={outcome.folder.path}"]))
    one, two = (checkpoint.load(folder.last) for folder in (whole, outcome.folder))
    assert one["progress"]["best"] == two["progress"]["best"]
    assert all(
        torch.equal(one["bounds"]["output"][name], two["bounds"]["output"][name]) for name in ("scale", "quantiles")
    )
    assert all(torch.equal(one["model"][name], two["model"][name]) for name in one["model"])
    assert logged(whole.path) == logged(outcome.folder.path)
