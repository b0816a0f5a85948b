"""Forecasters with defaults alone: their error beside that of repeating the last value, and what their bounds hold.

python -m benchmarks.forecasts [--data ../shared/data] [--folder forecasts] [--mixers gru] [--series walk sine]

Two random walks and a daily series with drift and a weak week, of which hardly more than the last value can be known;
ETTh1, oil temperature and load by the hour, where it lies in --data; and ``data=sine``. Every figure is of the test
split, the last fifth of a series, and of the best checkpoint. A run is a folder in --folder; a run that has finished is
not repeated. A forecaster that loses to the last value by more than 2 % is marked.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from composer.config.composition import compose
from composer.training.run.train import train

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MIXERS = ("attention", "gru", "lstm", "mingru")
COMMON = ("model=forecaster", "training.figures=false", "training.samples=0", "logger=none", "trainer.threads=1")

#: The largest error, as a share of that of the last value, of a forecaster that does not lose to it.
LIMIT = 1.02


def walk(steps: int, seed: int) -> list[float]:
    """A random walk with steps of deviation 1."""
    draw = random.Random(seed)
    return list(accumulate(draw.gauss(0, 1) for _ in range(steps)))


def daily(days: int, seed: int) -> list[float]:
    """Ten years of a price, say: a random walk with drift, and a week whose swing is below the noise of a day."""
    return [
        100 + 0.02 * day + 0.3 * math.sin(2 * math.pi * day / 7) + value for day, value in enumerate(walk(days, seed))
    ]


#: The channels of every series that is made here.
MADE = {
    "walk": lambda: [walk(4000, 1)],
    "walks": lambda: [walk(6000, seed) for seed in (2, 3, 4)],
    "daily": lambda: [daily(3653, 5)],
}


def source(name: str, folder: Path, data: Path) -> tuple[str, ...]:
    """The overrides that choose a series; a series of our own is written first."""
    if name == "sine":
        return ("data=sine",)
    path = data / "ett" / "ETTh1.csv"
    if name in MADE:
        path = folder / f"{name}.csv"
        channels = MADE[name]()
        lines = [",".join(f"channel_{number}" for number in range(len(channels)))]
        lines += [",".join(f"{value:.6f}" for value in step) for step in zip(*channels, strict=True)]
        path.write_text("".join(f"{line}\n" for line in lines))
    return ("data=series", f"data.path={path}", "data.test=0.2")


def result(folder: Path, name: str, overrides: Sequence[str]) -> dict[str, float]:
    """The step of the best checkpoint and its metrics on the test split, trained unless the run has finished before."""
    record = folder / name / "run.json"
    if not record.is_file():
        train(compose([*COMMON, *overrides, f"runs={folder}", f"name={name}"]), quiet=True)
    facts = json.loads(record.read_text())
    return {"step": facts["result_step"]} | {metric: found["value"] for metric, found in facts["test"].items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that has ett/ETTh1.csv")
    parser.add_argument("--folder", type=Path, default=Path("forecasts"), help="of the files and runs")
    parser.add_argument("--mixers", nargs="+", default=MIXERS)
    parser.add_argument("--series", nargs="+", choices=[*MADE, "ett", "sine"], default=[*MADE, "ett", "sine"])
    parser.add_argument("--seed", type=int, default=1, help="of the weights")
    parser.add_argument("overrides", nargs="*", help="of train.py, to try something else than the defaults")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{'series':8} {'mixer':12} {'best at':>8} {'mse':>8} {'of naive':>9} {'coverage':>9}", flush=True)
    for series in options.series:
        if series == "ett" and not (options.data / "ett" / "ETTh1.csv").is_file():
            print(f"{series:8} left out: {options.data} has no ett/ETTh1.csv")
            continue
        chosen = source(series, options.folder, options.data)
        for mixer in options.mixers:
            own = (*chosen, f"mixer={mixer}", f"seed={options.seed}", *options.overrides)
            found = result(options.folder, f"{series}_{mixer}_{options.seed}", own)
            lost = "  loses" if found["mse_over_naive"] > LIMIT else ""
            print(f"{series:8} {mixer:12} {found['step']:8,} {found['mse']:8.4g} {found['mse_over_naive']:9.4f} "
                  f"{found['coverage']:9.3f}{lost}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
