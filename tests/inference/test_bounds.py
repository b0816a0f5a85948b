"""The bounds of real-valued predictions: calibrated by the validations of a run, the same in every command."""

import random

import pytest

from composer.config.composition import compose
from composer.inference.model import Model
from composer.runs import checkpoint
from composer.runs.checkpoint_content import misfit
from composer.training.run.train import train

pytestmark = pytest.mark.slow

SMALL = [
    "data=series", "data.length=8", "data.horizon=3", "data.test=0.3", "data.valid=0.3", "mixer=gru", "model.dim=8",
    "training.steps=2", "training.validate_every=2", "training.figures=false", "logger=none", "trainer.threads=1",
    "name=run",
]  # fmt: skip
FAMILIES = {
    "at once": ["model=forecaster"],
    "learned variance": ["model=forecaster", "model.nodes.output.variance=learned"],
    "by steps": ["experiment=forecast_by_steps", "data=series", "embedding=continuous", "head=gaussian"],
}


@pytest.fixture(params=FAMILIES)
def run(request, tmp_path):
    """A run on two random walks, of which one is ten times as wild as the other."""
    draw, level, lines = random.Random(1), [0.0, 50.0], ["calm,wild"]
    for _ in range(600):
        level = [level[0] + draw.gauss(0, 1), level[1] + draw.gauss(0, 10)]
        lines.append(",".join(map(str, level)))
    (tmp_path / "walks.csv").write_text("\n".join(lines))
    overrides = [*FAMILIES[request.param], *SMALL, f"data.path={tmp_path}/walks.csv", f"runs={tmp_path}"]
    return train(compose(overrides)).folder.path


def test_the_bounds_of_predict_hold_the_share_that_evaluate_shows(run):
    model = Model.load(run)
    records = model.predict(model.data(split="test"))
    inside, widths = [], []
    for record in records:
        wanted = [[float(cell) for cell in step.split()] for step in record["wanted"].split(";")]
        for step, low, high in zip(wanted, record["low"], record["high"], strict=True):
            inside += [a <= value <= b for a, value, b in zip(low, step, high, strict=True)]
        widths.append([record["high"][step][1] - record["low"][step][1] for step in (0, 2)])
    shown = model.evaluate(model.data(split="test"), decode_rows=None).values["coverage"]
    assert sum(inside) / len(inside) == pytest.approx(shown, abs=0.005)  # the targets are printed with four digits
    assert 0.9 < shown <= 1
    assert sum(last for _, last in widths) > 1.2 * sum(first for first, _ in widths)
    narrow = model.predict(model.data(split="test"), limit=1, confidence=0.5)[0]
    assert records[0]["low"][0][0] < narrow["low"][0][0] < narrow["predicted"][0][0] < narrow["high"][0][0]


def test_damaged_bounds_are_refused(run):
    content = checkpoint.load(run / "checkpoints" / "best.safetensors")
    [(head, bounds)] = content["bounds"].items()
    assert misfit(content) is None
    for damaged in ({**bounds, "scale": bounds["scale"][0]}, {"scale": bounds["scale"]}, {**bounds, "quantiles": None}):
        assert "bounds" in misfit({**content, "bounds": {head: damaged}})
    graph = Model.load(run).graph
    for other in ({"decoder": bounds}, {head: {**bounds, "scale": bounds["scale"][:, :1]}}):
        with pytest.raises(Exception, match="of another model"):
            checkpoint.check_weights(graph, {**content, "bounds": other})
