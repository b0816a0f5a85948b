"""Normalisation by window, and heads that forecast all steps at once: against formulas, and from file to forecast."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, UserError
from composer.core.signals import Contents, Field, Seq, Vec
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.metrics.fitting import metrics_for

NAMES = ("a", "b", "c")
SERIES = {
    "source": Field("seq", dim=3, steps=6, contents=Contents(names=NAMES)),
    "target": Field("seq", dim=2, steps=4, contents=Contents(names=("c", "a"))),
}
READ = {"x": "encoder", "window": "source"}


def nodes(head: dict[str, Any]) -> dict[str, Any]:
    return {
        "frame": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": {"x": "source", "window": "source"}},
        "encoder": {"kind": "stack", "depth": 1, "mixer": "gru", "norm": "layer", "from": "frame"},
        "output": {"kind": "head", "predicts": "target", "from": READ, **head},
    }


def step_by_step(**head: Any) -> Graph:
    found = nodes({"type": "gaussian", "from": {"x": "decoder", "window": "source"}, **head}) | {
        "late": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": {"x": "target", "window": "source"}},
        "decoder": {
            "kind": "stack", "depth": 1, "mixer": "gru", "cross": "cross_attention", "norm": "layer",
            "from": {"x": "late", "memory": "encoder"},
        },
    }  # fmt: skip
    return compile_graph(found, SERIES).materialise().double().eval()


def direct(**head: Any) -> Graph:
    graph = compile_graph(nodes({"type": "direct", **head}), SERIES).materialise().double().eval()
    head_ = graph.nodes["output"]
    with torch.no_grad():
        for parameter in head_.parameters():  # it begins as the window's centre alone
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    return graph


def windows(seed: int = 0) -> Seq:
    values = torch.randn(3, 6, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return Seq(values * torch.tensor([10.0, 50.0, 20.0]) + torch.tensor([30.0, -400.0, 0.0]), torch.tensor([6, 4, 2]))


@pytest.mark.parametrize("centre", ["mean", "last"])
def test_the_direct_head_is_its_formula_row_by_row(centre):
    graph = direct(centre=centre)
    head: Any = graph.nodes["output"]
    block = registry.blocks("head")["direct"](8, 2, 4, ("c", "a"), 3, NAMES, 6, centre=centre).double()
    block.load_state_dict(head.state_dict())
    h, source = Vec(torch.randn(3, 8).double()), windows()
    found = block(h, source)
    assert found.values.shape == (3, 4, 2)
    for row, count in enumerate([6, 4, 2]):
        window = source.values[row, :count][:, [2, 0]]
        middle = window.mean(0) if centre == "mean" else window[-1]
        deviation = (window.var(0, correction=0) + 1e-5).sqrt()
        z = torch.cat([torch.zeros(6 - count, 2).double(), (window - middle) / deviation])
        y = block.linear.weight @ z + (block.project.weight @ h.values[row] + block.project.bias).view(4, 2)
        torch.testing.assert_close(found.values[row], y * deviation + middle)


@pytest.mark.parametrize("make", [direct, step_by_step])
@pytest.mark.parametrize("variance", ["fixed", "learned"])
def test_a_forecast_follows_the_level_and_the_size_of_its_window(make, variance):
    graph = make(variance=variance)
    size, level = torch.tensor([2.0, 0.5, 3.0]).double(), torch.tensor([10.0, -5.0, 1.0]).double()
    source, target = windows(), Seq(torch.randn(3, 4, 2).double())
    other = source.like(source.values * size + level)
    moved = Seq(target.values * size[[2, 0]] + level[[2, 0]])
    late = {"source": source, "target": target} if graph.plan.generated else {"source": source}
    late_other = {"source": other, "target": moved} if graph.plan.generated else {"source": other}
    one, two = (graph(inputs)[0]["output"].values for inputs in (late, late_other))
    tolerance = {"atol": 1e-2, "rtol": 1e-3}  # what is added to the variance does not scale
    torch.testing.assert_close(two[..., :2], one[..., :2] * size[[2, 0]] + level[[2, 0]], **tolerance)
    if variance == "learned":
        torch.testing.assert_close(two[..., 2:], one[..., 2:] + 2 * size[[2, 0]].log(), **tolerance)


def test_a_forecast_begins_near_the_end_of_its_window():
    graph = compile_graph(nodes({"type": "direct"}), SERIES).materialise().double().eval()
    source = windows()
    last = source.values[torch.arange(3), source.counts - 1][:, [2, 0]]
    spread = torch.stack([source.values[row, :count].std(0) for row, count in enumerate([6, 4, 2])])[:, [2, 0]]
    with torch.no_grad():
        found = graph({"source": source})[0]["output"].values
    away = (found - last[:, None]).abs() / spread[:, None]
    assert away.mean().item() < 0.5


def test_a_target_may_end_before_the_forecast_but_not_after():
    graph = direct()
    outputs, _ = graph({"source": windows()})
    whole = Seq(torch.randn(3, 4, 2).double())
    losses, short = (graph.losses(outputs, {"target": whole.steps(0, end)})["output"] for end in (4, 3))
    torch.testing.assert_close(short, losses[:, :3])
    with pytest.raises(UserError, match="forecasts 4 steps at once, but 5 are wanted"):
        graph.losses(outputs, {"target": Seq(torch.zeros(3, 5, 2).double())})


@pytest.mark.parametrize(
    ("head", "fields", "path", "said"),
    [
        (
            {},
            {"target": Field("seq", dim=2, contents=Contents(names=("c", "a")))},
            "output.type",
            "does not fix the length",
        ),
        (
            {},
            {"source": Field("seq", dim=3, contents=Contents(names=NAMES))},
            "output.lags",
            "does not fix the length of the window",
        ),
        ({"lags": 5, "from": "encoder"}, {}, "output.lags", "Connect 'window'"),
        (
            {},
            {"target": Field("seq", dim=2, steps=4, contents=Contents(names=("c", "d")))},
            "output.from",
            "lacks the channel 'd'",
        ),
        ({}, {"target": Field("seq", dim=2, steps=4)}, "output.from", "have no names that say which"),
        ({"from": {"x": "encoder", "window": "target"}}, {}, "output.predicts", "reads its own answer"),
    ],
)
def test_what_cannot_be_forecast_is_refused_with_the_reason(head, fields, path, said):
    with pytest.raises(ConfigError) as caught:
        compile_graph(nodes({"type": "direct", **head}), SERIES | fields)
    assert any(p.path.endswith(path) and said in p.message for p in caught.value.problems), caught.value


def test_a_window_made_of_what_is_predicted_is_a_leak():
    found = nodes({"type": "gaussian", "from": {"x": "late", "window": "source"}}) | {
        "late": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": {"x": "target", "window": "target"}}
    }
    del found["frame"], found["encoder"]
    with pytest.raises(ConfigError, match="reads the future"):
        compile_graph(found, SERIES)


@pytest.mark.slow
@pytest.mark.parametrize("forecast", [None, ["b"]])
def test_the_template_reads_a_file_and_forecasts_every_step(tmp_path, forecast):
    rows = "".join(f"{step % 7},{(3 * step) % 11}\n" for step in range(80))
    (tmp_path / "series.csv").write_text("a,b\n" + rows)
    overrides = [
        "model=forecaster", "data=series", f"data.path={tmp_path}/series.csv", "data.length=12", "data.horizon=5",
        "model.dim=8", "mixer=gru",
    ]  # fmt: skip
    wanted = [] if forecast is None else [f"data.forecast={forecast}"]
    meta, objective = compile_config(compose([*overrides, *wanted]))
    graph = meta.materialise().eval()
    batch = objective.batch("train", range(3))
    outputs, _ = graph(graph.read(batch.signals))
    assert outputs["output"].values.shape == (3, 5, 2 if forecast is None else 1)
    last = batch.signals["source"].values[:, -1:]
    torch.testing.assert_close(
        outputs["output"].values, last[..., [0, 1] if forecast is None else [1]].expand(-1, 5, -1), atol=1.0, rtol=0
    )
    assert list(metrics_for(graph)["output"])[:3] == ["loss", "mse", "mae"]


def test_channels_that_are_never_rescaled_keep_their_values():
    """The features of a calendar: what they mean is their level, which a window of a few days does not vary."""
    field = Field("seq", dim=3, steps=6, contents=Contents(names=NAMES, fixed=("b",)))
    graph = compile_graph(nodes({"type": "direct"}), {**SERIES, "source": field})
    frame = graph.materialise().double().nodes["frame"]
    values = torch.randn(2, 6, 3, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    scale = frame.start(2, Seq(values))
    assert scale["centre"][:, 1].tolist() == [0, 0]
    assert scale["deviation"][:, 1].tolist() == [1, 1]
    torch.testing.assert_close(scale["centre"][:, [0, 2]], values[:, -1, [0, 2]])
