"""What a training step costs beside the model: train.py, and a loop written by hand on the same graph and batches.

python -m benchmarks.training [--rounds 5]

Both compute the same losses and gradients, clip them and take steps of fused AdamW with the same schedule. Ours also
reads its batches from the data, logs, draws its bar, checks that the loss is a number and writes checkpoints. They take
turns in one process; the best round of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch
from lightning import Callback
from rich.console import Console
from torch import nn

from composer.config.composition import compose
from composer.runs.folder import RunFolder
from composer.training.loggers import RunInfo
from composer.training.losses import loss_sums
from composer.training.run.plan import TrainingPlan, prepare
from composer.training.run.record import RunRecorder
from composer.training.run.train import fit
from composer.training.screen import Screen

TEXT = ["data=python_docs", "model=language_model"]
CASES = {
    "dates, dim 32": ["model.dim=32", "training.batch=16"],
    "dates, default": [],
    "text, gru 128": [*TEXT, "mixer=gru", "data.length=64", "training.batch=16"],
    "text, attention 128 x 4": [*TEXT, "data.length=64", "model.nodes.decoder.depth=4", "training.batch=12"],
    "text, attention 256": [*TEXT, "model.dim=256", "training.batch=16"],
}


class Stopwatch(Callback):
    """Times the steps alone, without what comes before the first and after the last."""

    def on_train_start(self, trainer, module):
        self.began = time.perf_counter()

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if (taken := module.progress.step) == module.steps - 1:
            self.seconds = (time.perf_counter() - self.began) / taken


def ours(plan: TrainingPlan) -> float:
    """Seconds a step of train.py."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as place, open("/dev/null", "w") as nowhere:
        folder = RunFolder(Path(place) / "run")
        folder.make()
        plan.loggers.open(RunInfo(folder=folder.path, name="run", identifier="run"))
        screen = Screen(folder.log, console=Console(file=nowhere, force_terminal=True))
        record = RunRecorder(plan, folder, screen)
        try:
            fit(plan, screen, record, None, watch)
        finally:
            screen.end()
            plan.loggers.finish("finished", {})
    return watch.seconds


def by_hand(plan: TrainingPlan, batches: list) -> float:
    """Seconds a step of a loop such as one writes for one model."""
    graph = plan.meta.materialise(1)
    optimiser = torch.optim.AdamW(graph.parameters(), lr=0.002, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, len(batches))
    began = time.perf_counter()
    for batch in batches:
        outputs, _ = graph(graph.read(batch.signals))
        loss = loss_sums(graph, outputs, batch).sum() / batch.weight("target").sum()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(graph.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return (time.perf_counter() - began) / len(batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="about how long a round of one side lasts")
    parser.add_argument("--case", help="only those whose name has this in it")
    options = parser.parse_args()
    print(f"{'model':26} {'by hand, ms':>12} {'train.py, ms':>12} {'more, ms':>10} {'ratio':>8}")
    for name, overrides in CASES.items():
        if options.case and options.case not in name:
            continue
        plan = planned(overrides, 20)
        steps = max(40, int(options.seconds / by_hand(plan, taken(plan, 20))))
        plan = planned(overrides, steps)
        batches = taken(plan, steps - 1)
        times: dict[str, list[float]] = {"ours": [], "by hand": []}
        for _ in range(options.rounds):
            times["ours"].append(ours(plan))
            times["by hand"].append(by_hand(plan, batches))
        mine, theirs = (min(times[side]) * 1e3 for side in ("ours", "by hand"))
        print(f"{name:26} {theirs:12.2f} {mine:12.2f} {mine - theirs:+10.2f} {mine / theirs:8.3f}", flush=True)


def planned(overrides: list[str], steps: int) -> TrainingPlan:
    fixed = ["training.validate_every=null", "training.validate_rows=1", "training.decode_rows=0"]
    return prepare(compose([*overrides, *fixed, f"training.steps={steps}"]))


def taken(plan: TrainingPlan, count: int) -> list:
    return [parts[0] for parts in islice(plan.loader().forever(), count)]


if __name__ == "__main__":
    main()
