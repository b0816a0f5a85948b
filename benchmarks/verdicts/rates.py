"""A ranking that flips between 3 and 12 learning rates, and how a comparison reports it.

The losses in rates.jsonl are those of real runs: reversing sequences, width 32, 100 steps, one seed. ``train_rates``
makes them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.verdicts.simulated import METRIC, record
from composer.config.composition import compose
from composer.studies.findings.answers import answer
from composer.studies.findings.compared_tasks import Task
from composer.studies.findings.verdicts import ranked, verdicts_of
from composer.studies.records.arms import Arm
from composer.studies.tuning.search_space import Interval
from composer.studies.tuning.tuning_rule import next_values, unfinished
from composer.training.run.train import train

LOSSES = Path(__file__).with_name("rates.jsonl")
ARMS = ("gru", "mingru", "attention", "s4d")

#: Two decades, ends included; and three of them, chosen from the losses to show a flip: not every three rates have one.
#: By the ends and the middle (0.0005, 0.004056, 0.05) gru stays the first, and s4d and mingru change places.
RATES = tuple(round(5e-4 * 100 ** (i / 11), 6) for i in range(12))
FEW = RATES[::5]

Tried = Mapping[str, Mapping[float, float]]


def show_flip(tried: Tried) -> None:
    """The ranking and the verdicts by three rates and by twelve."""
    print("\nReversing, width 32, 100 steps: the best loss of every arm, and what is said of it")
    for rates in (FEW, RATES):
        best = {arm: min(rates, key=lambda rate: losses[rate]) for arm, losses in tried.items()}
        arms = [Arm(arm, (record(arm, 1, {METRIC: tried[arm][rate]}),), ()) for arm, rate in best.items()]
        reasons = {arm: why for arm in best if (why := untuned({rate: tried[arm][rate] for rate in rates}))}
        task = Task("", ranked(arms, METRIC, "min"), verdicts_of(arms, METRIC, untuned=reasons))
        words = {verdict.arm: verdict.words for verdict in task.verdicts}
        print(f"\n  {len(rates)} rates from {rates[0]:g} to {rates[-1]:g}")
        for arm in task.arms:
            reason = f", not tuned: {reasons[arm.name]}" if arm.name in reasons else ""
            said = words.get(arm.name, f"best{reason}")
            print(f"    {arm.name:<10}{arm.quality(METRIC).mean:>8.4f}  at {best[arm.name]:<9g} {said}")
        print(f"  {answer(task, METRIC, 'min', reasons)}")


def untuned(tried: Mapping[float, float]) -> str:
    """Why the best of some rates may not be the best there is, by the rule of studies."""
    space = Interval(min(tried), max(tried), log=True)
    return unfinished("learning_rate", space, tried, len(tried)) if next_values(space, tried) else ""


def recorded() -> Tried:
    tried: dict[str, dict[float, float]] = {arm: {} for arm in ARMS}
    for line in LOSSES.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        tried[found["arm"]][found["rate"]] = found["loss"]
    return tried


def train_rates(folder: Path) -> Tried:
    """Every arm at every rate: 48 runs below a folder."""
    tried: dict[str, dict[float, float]] = {arm: {} for arm in ARMS}
    for arm in ARMS:
        for rate in RATES:
            overrides = [f"mixer={arm}", f"optimiser.learning_rate={rate}", f"name={arm}_{rate}", f"runs={folder}"]
            fixed = ["data=reverse", "model.dim=32", "training.steps=100", "training.figures=false", "logger=none"]
            train(compose([*fixed, *overrides, "seed=1"]))
            facts = json.loads((folder / f"{arm}_{rate}" / "run.json").read_text(encoding="utf-8"))
            tried[arm][rate] = facts["result"][METRIC]
    return tried
