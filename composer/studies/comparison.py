"""The comparison of runs, sweeps and studies: arms ranked by one metric, their verdicts, the answer in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from composer.core import registry
from composer.core.problems import UserError, did_you_mean, listed
from composer.metrics import JUDGE, direction
from composer.studies.fairness import missing_runs, unfair_settings
from composer.studies.naming import grouped, name_arms, overrides_apart, tell_apart
from composer.studies.runs import RunRecord, Skipped, Unreadable, read_runs, read_sweep
from composer.studies.scaling import Ladders, ladders_of
from composer.studies.verdicts import Arm, Verdict, judge
from composer.studies.wording import answer, methods
from composer.training.run.record import TEST, VALID

__all__ = ["Arm", "Comparison", "Verdict", "compare"]

TUNING = "tuning"


@dataclass(frozen=True)
class Comparison:
    """
    arms: best first
    judged: the metric that ranks the arms, such as valid/loss
    direction: "min" or "max", the better direction of the judged metric
    verdicts: of every arm but the best, in the arms' order
    trials: the tuning runs of searches and studies, pruned and failed ones too
    skipped: folders that could not be compared, with the reasons
    warnings: what makes the comparison unfair or uncertain, in sentences
    sentence: the answer
    sources: the paths that the user named
    """

    arms: tuple[Arm, ...]
    judged: str
    direction: str
    verdicts: tuple[Verdict, ...]
    trials: tuple[RunRecord, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    sentence: str
    sources: tuple[Path, ...]

    @property
    def methods(self) -> str:
        """How intervals and verdicts were computed, in sentences."""
        return methods(self.verdicts)

    @cached_property
    def ladders(self) -> Ladders | None:
        """The laws of loss against size, where the arms are those of a ladder."""
        return ladders_of(self.arms, self.judged, self.direction)


def compare(paths: Sequence[Path | str], metric: str | None = None) -> Comparison:
    """Compare the runs, sweeps and studies at these paths. ``metric`` judges them; by default, their sweep's metric."""
    if not paths:
        raise UserError("there is nothing to compare: name the folders of runs, sweeps or studies.")
    sources = tuple(Path(path) for path in paths)
    found, skipped = read_runs(sources)
    sweeps = _sweeps(found, skipped)
    judged, better = _judged(metric, found, sweeps)
    trials = name_arms([run for run in found if run.phase == TUNING])
    runs = name_arms([run for run in found if run.phase != TUNING])
    usable, unusable = _sorted_out(runs, judged)
    skipped += [(run.folder, reason) for run, reason in unusable]
    warnings = missing_runs(usable, [run for run, _ in unusable])
    if not usable and trials:
        warnings.append("There are no final runs, so the tuning trials are compared with each other.")
        usable, unusable = _sorted_out(trials, judged)
    if not usable:
        raise UserError(f"there is nothing to compare. {_why(skipped or [(t.folder, why) for t, why in unusable])}")
    if metric is None and len({sweep["judged"] for sweep in sweeps}) > 1:
        warnings.append(f"The sweeps were judged by different metrics; here all are judged by {judged}.")
    usable = tell_apart(usable)
    warnings += unfair_settings(usable)
    arms = _arms(usable, judged, better)
    verdicts = judge(arms, judged)
    return Comparison(
        arms, judged, better, verdicts, tuple(trials), tuple(skipped), tuple(warnings),
        answer(arms, judged, better, verdicts), sources,
    )  # fmt: skip


def _sweeps(runs: Sequence[RunRecord], skipped: list[Skipped]) -> list[dict[str, Any]]:
    """The facts of the sweeps that the runs belong to, where these name the metric that judges them."""
    sweeps = []
    for folder in dict.fromkeys(run.folder.resolve().parent for run in runs):
        try:
            sweeps.append(dict(read_sweep(folder)))
        except Unreadable as error:
            skipped.append((folder, f"its runs are compared, but {error}"))
    return [sweep for sweep in sweeps if isinstance(sweep.get("judged"), str)]


def _judged(metric: str | None, runs: Sequence[RunRecord], sweeps: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The metric that ranks the arms, and its better direction."""
    known = list(dict.fromkeys(name for run in runs for name in run.result))
    if metric is None:
        asked = {sweep["judged"]: sweep.get("direction") for sweep in sweeps}
        name, better = next(iter(asked.items())) if len(asked) == 1 else (f"{VALID}{_judge(runs)}", None)
        return name, better if better in ("min", "max") else _direction(name)
    name = metric if metric in known else f"{VALID}{metric}"
    if known and name not in known:
        raise UserError(f"--metric: no run has '{metric}'.{did_you_mean(name, known)}  (metrics: {listed(known, 30)})")
    return name, _direction(name)


def _judge(runs: Sequence[RunRecord]) -> str:
    """The metric by which all runs chose their best checkpoints; the loss where they differ."""
    judges = {str(run.facts.get("judge") or JUDGE) for run in runs}
    return judges.pop() if len(judges) == 1 else JUDGE


def _direction(name: str) -> str:
    """The better direction of a metric."""
    bare = name.removeprefix(VALID).removeprefix(TEST)
    if bare.rpartition("/")[2] not in registry.entries("metric"):
        raise UserError(f"'{name}' is none of our metrics. Name the file that registers it: --plugin metrics.py")
    return direction(bare)


def _sorted_out(runs: Sequence[RunRecord], judged: str) -> tuple[list[RunRecord], list[tuple[RunRecord, str]]]:
    """The runs that can be compared, and the others with the reasons."""
    reasons = [(run, _unusable(run, judged)) for run in runs]
    return [run for run, reason in reasons if reason is None], [(run, why) for run, why in reasons if why is not None]


def _unusable(run: RunRecord, judged: str) -> str | None:
    """Why a run is not compared; None if it is."""
    reason = f": {' '.join(run.reason.split())}" if run.reason else ""
    if run.status == "running":
        return "still running, or killed: there is no end in its run.json"
    if run.status != "finished":
        return f"{run.status}{reason}"
    if not run.result:
        return "no result in its run.json"
    if judged not in run.result:
        return f"no {judged} in its result, but {listed(run.result, 4)}"
    if not math.isfinite(run.result[judged]):
        return f"its {judged} is {run.result[judged]}: the training diverged"
    return None


def _why(skipped: Sequence[Skipped]) -> str:
    shown = "; ".join(f"{path}: {reason.rstrip('.')}" for path, reason in skipped[:3])
    many = f"None of {len(skipped)} folders is a finished run: " if len(skipped) > 1 else ""
    return f"{many}{shown}{'; ...' if len(skipped) > 3 else '' if shown.endswith('?') else '.'}"


def _arms(runs: Sequence[RunRecord], judged: str, better: str) -> tuple[Arm, ...]:
    """The arms, best first."""
    apart = dict(zip((run.folder for run in runs), overrides_apart(runs), strict=True))
    arms = [
        Arm(name, tuple(sorted(group, key=lambda run: (run.seed is None, run.seed or 0))), apart[group[0].folder])
        for name, group in grouped(runs, lambda run: run.arm).items()
    ]
    sign = 1 if better == "min" else -1
    return tuple(sorted(arms, key=lambda arm: sign * arm.quality(judged).mean))
