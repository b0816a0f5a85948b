"""Forecasts of an hourly series of seven channels, 96 steps from 96 (ETTh1; Zhou et al., 2021)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.learning.peers.forecasts import naive, nlinear
from benchmarks.learning.task import Contest, Ours, Peer, Task

FILE = "ett/ETTh1.csv"

#: Our template and head for a forecast.
MODEL = ("model=forecaster",)

#: A single linear layer takes a higher rate than the deep models do.
NLINEAR = Peer("NLinear", nlinear, differs="one linear layer over time; Adam with a constant rate", rate=5e-3)
NAIVE = Peer("the last value, repeated", naive)


def data(folder: Path) -> tuple[str, ...]:
    return ("data=series", f"data.path='{folder / FILE}'", "data.length=96", "data.horizon=96", "data.valid=0.2",
            "data.test=0.2", "training.batch=64")  # fmt: skip


FORECASTING = Task(
    name="forecasting",
    title="Forecasting a series",
    description="Oil temperature and load, hourly, 7 channels (ETTh1), 96 steps from 96, batches of 64; "
    "ours is the template `forecaster` as it is, with its dropout; squared and absolute errors of channels "
    "with deviation 1, on 256 windows drawn from the validation split. One linear layer over time (NLinear) has no "
    "size to match: it is there because larger models often lose to it.",
    data=data,
    contests=(
        Contest(Ours("ours, attention", (*MODEL, "mixer=attention", "mixer.heads=4")), (NLINEAR, NAIVE)),
        Contest(Ours("ours, lstm", (*MODEL, "mixer=lstm")), (NLINEAR, NAIVE)),
    ),
    figures=("mse", "mae"),
    steps=150,
    files=(FILE,),
    validate_rows=256,
    decode_rows=None,
)
