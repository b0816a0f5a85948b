"""A user's heads: one with a metric and a form of predictions of its own, and ones with no more than a head needs."""

import json
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import composer
from composer import Ids, Label, Seq, Vec
from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import UserError
from composer.inference.prediction import PredictionOptions, Predictor
from composer.metrics import describe, direction, evaluate, headline, metrics_for, monitor_for
from composer.runs.folder import read_lines
from composer.training.run.plan import prepare
from tests.support import processes
from tests.support.paths import ROOT

PLUGIN = '''
"""Real values with a Laplace distribution, judged by how many lie near."""

import torch
from torch import Tensor, nn

from composer import ReportRequest, Metric, HeadBatch, Vec, register


@register("metric", "near")
class Near(Metric):
    direction = "max"
    meaning = "the share of values within 0.5 of what was wanted"
    quoted = 0

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        near = ((found - wanted).abs() < 0.5) * weight
        return torch.stack([near.sum((1, 2)), (torch.ones_like(wanted) * weight).sum((1, 2))], dim=1)


@register("head", "laplace")
class Laplace(nn.Module):
    metrics = ("mae", "near")
    monitor = "near"

    def __init__(self, dim: int, target_dim: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale
        self.project = nn.Linear(dim, target_dim)

    def forward(self, x: Vec) -> Vec:
        return Vec(self.project(x.values))

    def predict(self, output: Vec) -> Vec:
        return output

    def loss(self, output: Vec, target: Vec) -> Tensor:
        return ((output.values - target.values).abs() / self.scale).sum(-1)

    def report(self, output: Vec, asked: ReportRequest) -> list[dict]:
        values = asked.unscaled(output.values)[:, 0].tolist()
        return [{"predicted": value, "scale": self.scale} for value in values]
'''


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of train.py with the plugin's head."""
    folder = tmp_path_factory.mktemp("laplace")
    (folder / "mine.py").write_text(PLUGIN)
    (folder / "conf" / "head").mkdir(parents=True)
    (folder / "conf" / "head" / "laplace.yaml").write_text("# A Laplace distribution.\ntype: laplace\nscale: 0.5\n")
    overrides = ["plugins=[mine.py]", "data=adding", "data.length=5", "data.train_size=60", "data.valid_size=30"]
    overrides += ["model=seq2vec", "embedding=continuous", "head=laplace", "model.dim=8", "mixer=gru"]
    overrides += ["training.steps=4", "training.validate_every=2", "training.figures=false", "name=run", "runs=runs"]
    command = [ROOT / "train.py", "--config-dir", "conf", *overrides]
    done = processes.program(command, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder
    registry.forget("head", "laplace")
    registry.forget("metric", "near")


@pytest.mark.slow
def test_a_head_brings_its_own_metric(trained, monkeypatch):
    monkeypatch.chdir(trained)
    rows = [row for row in read_lines(trained / "runs" / "run" / "metrics.jsonl") if "valid/loss" in row]
    names = [name for name in rows[-1] if name.startswith("valid/")]
    assert names == ["valid/loss", "valid/mae", "valid/near"], "in the order that the head gives them"
    model = composer.load(trained / "runs" / "run", checkpoint="last", plugins=["mine.py"])
    found = model.evaluate(model.data(split="valid"))
    assert found.values["near"] == pytest.approx(rows[-1]["valid/near"])
    assert json.loads((trained / "runs" / "run" / "run.json").read_text())["monitor"] == "near"
    target = model.data(split="valid").objective.batch("valid", range(30)).signals["target"].values
    predicted = torch.tensor([row["predicted"] for row in model.predict(model.data(split="valid"))])
    assert found.values["near"] == pytest.approx(float(((predicted - target[:, 0]).abs() < 0.5).double().mean()))
    assert (direction("near"), headline(found.values)) == ("max", "near")
    assert describe("output/near") == "the share of values within 0.5 of what was wanted"


@pytest.mark.slow
def test_a_head_says_what_a_prediction_looks_like(trained):
    command = ["-m", "composer", "predict", "runs/run", "--plugin", "mine.py", "data.valid_size=3"]
    done = processes.program(command, cwd=trained)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 3
    assert all(record["scale"] == 0.5 and isinstance(record["predicted"], float) for record in records)


class Bare(nn.Module):
    """No more than a head needs."""

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(dim, size)

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(self.project(x.filled() if isinstance(x, Seq) else x.values))


class BareTokens(Bare):
    def __init__(self, dim: int, target_vocabulary: int) -> None:
        super().__init__(dim, target_vocabulary)

    def predict(self, output: Seq | Vec) -> Ids | Label:
        best = output.values.argmin(-1)  # of costs: not what an argmax of the output would give
        return Ids(best, output.lengths) if isinstance(output, Seq) else Label(best)

    def loss(self, output: Seq | Vec, target: Ids | Label) -> torch.Tensor:
        wanted = target.filled(0) if isinstance(target, Ids) else target.values
        losses = F.cross_entropy(-output.values.flatten(0, -2), wanted.flatten(), reduction="none").view_as(wanted)
        return losses if not isinstance(target, Ids) or target.mask is None else losses.masked_fill(~target.mask, 0.0)


class BareNumbers(Bare):
    def __init__(self, dim: int, target_dim: int) -> None:
        super().__init__(dim, target_dim)

    def predict(self, output: Seq | Vec) -> Seq | Vec:
        return output

    def loss(self, output: Seq | Vec, target: Seq | Vec) -> torch.Tensor:
        return (output.values - target.values).square().sum(-1)


HEADS = {"bare_tokens": BareTokens, "bare_numbers": BareNumbers}

#: The data of every kind of target, with a head of each, and what a row of predictions has.
KINDS = {
    "label": (["data=parity", "model=seq2vec", "data.length=6"], "bare_tokens", {"predicted"}),
    "tags": (["data=associative_recall", "model=tagger"], "bare_tokens", {"predicted", "tokens"}),
    "generated tokens": (["data=copy", "data.symbols=5", "data.length=4"], "bare_tokens", {"predicted"}),
    "language model": (
        ["data=copy", "model=language_model", "data.length=4"],
        "bare_tokens",
        {"log_probability", "steps", "perplexity"},
    ),
    "numbers": (["data=adding", "model=seq2vec", "embedding=continuous"], "bare_numbers", {"predicted"}),
    "forecast": (
        ["data=sine", "embedding=continuous", "data.length=6", "data.horizon=4"],
        "bare_numbers",
        {"predicted"},
    ),
}


@pytest.fixture
def heads():
    for name, head in HEADS.items():
        registry.register("head", name)(head)
    yield
    for name in HEADS:
        registry.forget("head", name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("heads")
def test_a_head_with_a_loss_and_a_prediction_works_everywhere(kind):
    overrides, head, fields = KINDS[kind]
    output = {"kind": "head", "type": head, "predicts": "target"}
    composed = compose([*overrides, "model.dim=8", "mixer=gru"])
    nodes = composed.values["model"]["nodes"]
    nodes["output"] = output | {"from": nodes["output"]["from"]}
    graph, objective = compile_config(composed)
    graph = graph.materialise()
    batch = objective.batch("train", range(6))
    outputs, _ = graph(graph.read(batch.signals))
    graph.losses(outputs, batch.signals)["output"].sum().backward()
    assert all(parameter.grad is not None for parameter in graph.parameters())
    found = evaluate(graph, objective, [objective.batch("valid", range(6))]).values
    assert all(math.isfinite(value) for value in found.values())
    records = list(Predictor(graph.eval(), objective, PredictionOptions(length=4)).split("valid", 5))
    assert len(records) == 5
    assert all(set(record) - {"row", "source", "target", "wanted"} == fields for record in records)


@pytest.mark.slow
@pytest.mark.usefixtures("heads")
def test_greedy_decoding_asks_the_head_for_its_most_likely_token():
    """Not the largest entry of its output, which need not be a logit."""
    composed = compose(["data=copy", "data.symbols=5", "data.length=4", "model.dim=8", "mixer=gru"])
    composed.values["model"]["nodes"]["output"] = {
        "kind": "head", "type": "bare_tokens", "predicts": "target", "from": "decoder",
    }  # fmt: skip
    graph, objective = compile_config(composed)
    graph = graph.materialise().eval()
    source = objective.batch("valid", range(5)).signals["source"]
    found = composer.decoding.greedy(graph, {"source": source}, "output", 6)
    with torch.no_grad():
        written = torch.zeros(5, 0, dtype=torch.long)
        for _ in range(found.time):
            late = torch.cat([torch.full((5, 1), graph.plan.inputs["target"].start or 0), written], dim=1)
            outputs, _ = graph({"source": source, "target": Ids(late)})
            written = torch.cat([written, outputs["output"].values[:, -1:].argmin(-1)], dim=1)
    assert torch.equal(found.filled(0), Ids(written, found.lengths).filled(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metrics", "monitor", "message"),
    [
        (("acuracy",), None, "the head 'output'.*There is no metric 'acuracy'. Did you mean 'accuracy'"),
        (("mae_over_naive",), None, "the head 'output'.*goes on from no sequence"),
        (("mse", "mae"), "rmse", "the head 'output' is judged by 'rmse', which is none of its metrics. Did you mean"),
    ],
)
@pytest.mark.usefixtures("heads")
def test_a_metric_that_cannot_be_is_found_before_training(metrics, monitor, message, monkeypatch):
    monkeypatch.setattr(BareNumbers, "metrics", metrics, raising=False)
    monkeypatch.setattr(BareNumbers, "monitor", monitor, raising=False)
    composed = compose([*KINDS["numbers"][0], "model.dim=8", "mixer=gru", "head=gaussian"])
    composed.values["model"]["nodes"]["output"] = {
        "kind": "head", "type": "bare_numbers", "predicts": "target", "from": "pool",
    }  # fmt: skip
    with pytest.raises(UserError, match=message):
        prepare(composed)


@pytest.mark.slow
@pytest.mark.usefixtures("heads")
def test_a_head_may_choose_its_metrics_by_what_it_predicts(monkeypatch):
    def metrics(self, target):
        return ("wer",) if target.decodes else ("perplexity",)

    def judge(self, target):
        return "wer" if target.decodes else None

    monkeypatch.setattr(BareTokens, "metrics", metrics, raising=False)
    monkeypatch.setattr(BareTokens, "judge", judge, raising=False)
    for kind, wanted in (("generated tokens", "wer"), ("language model", "perplexity")):
        composed = compose([*KINDS[kind][0], "model.dim=8", "mixer=gru"])
        nodes = composed.values["model"]["nodes"]
        nodes["output"] = {"kind": "head", "type": "bare_tokens", "predicts": "target", "from": nodes["output"]["from"]}
        graph, _ = compile_config(composed)
        assert list(metrics_for(graph)["output"]) == ["loss", wanted]
        assert monitor_for(graph) == ("wer" if wanted == "wer" else "loss")
