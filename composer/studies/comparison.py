"""The comparison of runs, sweeps and studies: arms ranked by one metric, their verdicts, the answer in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from composer.core import registry
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.showing.short_table import ShortTable, ShownAsTable
from composer.metrics import LOSS, direction
from composer.runs.finding import Skipped, Unreadable
from composer.runs.record import SweepRecord
from composer.studies.findings.answers import answer, headline, methods
from composer.studies.findings.compared_tasks import Task, judge_tasks, verdict_words
from composer.studies.findings.over_examples import (
    LengthCurve,
    OverExamples,
    fragile,
    over_examples,
    quality_by_length,
    why_missing,
)
from composer.studies.findings.rate_curves import Curve, curves, tuning_notes, untuned_arms
from composer.studies.findings.scaling import Ladders, ladders_of
from composer.studies.findings.verdicts import Verdict
from composer.studies.formatting import count
from composer.studies.records.arm_names import distinct_names, grouped, name_arms, overrides_apart
from composer.studies.records.arms import Arm
from composer.studies.records.fairness import missing_runs, not_comparable, unfair_settings
from composer.studies.records.run_records import ComparedRun, read_runs, read_sweep
from composer.training import faults
from composer.training.run.record import TEST, VALID, on_split

__all__ = ["Arm", "Comparison", "Task", "Verdict", "compare"]

TUNING = "tuning"

#: What JSON and the report show as it is.
SHOWN = ("sentence", "answers", "judged", "validated", "direction", "methods", "warnings")

#: The most tasks that have an answer each.
ANSWERS = 8


@dataclass(frozen=True, repr=False)
class Comparison(ShownAsTable):
    """
    tasks: the arms that were tested on the same data, with their verdicts; often a single task
    judged: the metric that ranks the arms, such as test/loss
    validated: the same metric on the validation split, which chose checkpoints and tuned values, such as valid/loss
    direction: "min" or "max", the better direction of the judged metric
    trials: the tuning runs of searches and studies, pruned and failed ones too
    skipped: folders that could not be compared, with the reasons
    warnings: what makes the comparison unfair or uncertain, in sentences
    sentence: the answer, or of several tasks, how many have a clear one
    answers: of each task, where there are several, but not so many that nobody would read them
    over_examples: of every arm but the best of its task, its difference over resampled test examples, by name; empty
        where the arms are not judged on the test split
    sources: the paths that the user named
    curves: of a tuned study, the quality of every arm by learning rate
    untuned: the arms that are not tuned, with the reasons
    """

    tasks: tuple[Task, ...]
    judged: str
    validated: str
    direction: str
    trials: tuple[ComparedRun, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    sentence: str
    answers: tuple[str, ...]
    over_examples: Mapping[str, OverExamples]
    sources: tuple[Path, ...]
    curves: Mapping[str, Curve]
    untuned: Mapping[str, str]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Task by task, the best first."""
        return tuple(arm for task in self.tasks for arm in task.arms)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of every arm but the best of its task, in the arms' order."""
        return tuple(verdict for task in self.tasks for verdict in task.verdicts)

    @property
    def methods(self) -> str:
        """Which split judged the arms, and how intervals and verdicts were computed, in sentences."""
        split = _split_used(self.judged, self.trials)
        return " ".join(part for part in (split, methods(self.tasks), why_missing(self.over_examples)) if part)

    def short_table(self) -> ShortTable:
        """The arms of every task, the best first, with their verdicts, and below them the answer."""
        head = ("arm", self.judged, "verdict", "seeds")
        columns = zip(self.arms, self.shown(self.judged), self.verdict_words(), strict=True)
        rows = [(arm.name, shown, words, str(len(arm.runs))) for arm, shown, words in columns]
        warned = [f"With {count(len(self.warnings), 'warning')}, in .warnings."] if self.warnings else []
        title = f"Comparison of {count(len(rows), 'arm')} by {self.judged}"
        return ShortTable(title, head, rows, (self.judged, "seeds"), (self.sentence, *warned))

    def verdict_words(self) -> list[str]:
        """The verdict of every arm in a few words."""
        return [
            words for task in self.tasks for words in verdict_words(task, self.judged, self.direction, self.untuned)
        ]

    def shown(self, metric: str) -> list[str]:
        """A metric of all arms, with its interval over seeds cut to its possible values; '-' for one that has none."""
        return [found.get(arm.name, "-") for task in self.tasks for found in [task.shown(metric)] for arm in task.arms]

    @cached_property
    def by_length(self) -> tuple[LengthCurve, ...]:
        """Quality by the length of the test examples, of the arms that recorded it."""
        return quality_by_length(self.arms, self.judged)

    @cached_property
    def ladders(self) -> Ladders | None:
        """The laws of loss against size, where the arms are those of a ladder."""
        return ladders_of(self.arms, self.judged, self.direction)


Place = str | PathLike[str]


def compare(paths: Place | Sequence[Place], metric: str | None = None) -> Comparison:
    """Compare the runs, sweeps and studies at these paths, or the outcomes of ``Config.train``.

    metric: judges them; by default, the metric of their sweep. Without a split (``loss``, not ``valid/loss``) it is
        that of the test split where all final runs have one, else that of the validation split
    """
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    if not paths:
        raise UserError("there is nothing to compare: name the folders of runs, sweeps or studies.")
    sources = tuple(Path(path) for path in paths)
    found, skipped = read_runs(sources)
    sweeps = _sweeps(found, skipped)
    requested, better = _judged(metric, found, list(sweeps.values()))
    trials = name_arms([run for run in found if run.record.phase == TUNING])
    runs = name_arms([run for run in found if run.record.phase != TUNING])
    usable, unusable = _sorted_out(runs, requested)
    skipped += [(run.folder, reason) for run, reason in unusable]
    diverged = _diverged(usable, [run for run, _ in unusable], requested)
    warnings = missing_runs(usable, [run for run, _ in unusable], diverged)
    judged = requested if metric == requested or not usable else _on_test(requested, usable, warnings)
    validated = on_split(judged, VALID)
    if not usable and trials:
        warnings.append("There are no final runs, so the tuning trials are compared with each other.")
        usable, unusable, diverged = *_sorted_out(trials, requested), []
    if not usable:
        raise UserError(f"there is nothing to compare. {_why(skipped or [(t.folder, why) for t, why in unusable])}")
    if metric is None and len({sweep.judged for sweep in sweeps.values()}) > 1:
        warnings.append(f"The sweeps were judged by different metrics; here all are judged by {judged}.")
    renamed = distinct_names([*usable, *diverged])
    usable, diverged = renamed[: len(usable)], renamed[len(usable) :]
    warnings += unfair_settings(usable)
    arms = _arms(usable, diverged)
    tuned = curves(trials, validated, better, sweeps)
    untuned = untuned_arms(arms, tuned.values())
    tasks = judge_tasks(arms, judged, better, untuned)
    warnings += not_comparable([task.arms for task in tasks])
    warnings += tuning_notes([task.arms for task in tasks], tuned, untuned)
    over = {name: found for task in tasks for name, found in over_examples(task, judged).items()}
    answers = [
        " ".join(filter(None, (answer(task, judged, better, untuned), fragile(task.verdicts, over)))) for task in tasks
    ]
    several = tuple(answers) if 1 < len(answers) <= ANSWERS else ()
    return Comparison(
        tasks, judged, validated, better, tuple(trials), tuple(skipped), tuple(warnings), headline(tasks, answers),
        several, over, sources, tuned, untuned,
    )  # fmt: skip


def _sweeps(runs: Sequence[ComparedRun], skipped: list[Skipped]) -> dict[Path, SweepRecord]:
    """The records of the sweeps that the runs belong to, by their folders, where these name the metric that judges
    them."""
    sweeps = {}
    for folder in dict.fromkeys(run.folder.resolve().parent for run in runs):
        try:
            sweeps[folder] = read_sweep(folder)
        except Unreadable as error:
            skipped.append((folder, f"its runs are compared, but {error}"))
    return {folder: sweep for folder, sweep in sweeps.items() if sweep.judged}


def _judged(metric: str | None, runs: Sequence[ComparedRun], sweeps: Sequence[SweepRecord]) -> tuple[str, str]:
    """The metric that ranks the arms, and its better direction."""
    known = list(dict.fromkeys(name for run in runs for name in run.result))
    if metric is None:
        named = {sweep.judged: sweep.direction for sweep in sweeps}
        monitors = {run.record.monitor or LOSS for run in runs}  # by which the runs chose their best checkpoints
        monitor = monitors.pop() if len(monitors) == 1 else LOSS
        name, better = next(iter(named.items())) if len(named) == 1 else (f"{VALID}{monitor}", None)
        return name, better if better in ("min", "max") else _direction(name)
    name = metric if metric in known else f"{VALID}{metric}"
    if known and name not in known:
        raise UserError(f"--metric: no run has '{metric}'.{did_you_mean(name, known)}  (metrics: {listed(known, 30)})")
    return name, _direction(name)


def _on_test(requested: str, runs: Sequence[ComparedRun], warnings: list[str]) -> str:
    """The metric on the test split if every run has it there, else on the validation split, with a warning if only some
    runs lack it."""
    tested = on_split(requested, TEST)
    without = [run.name for run in runs if not math.isfinite(run.result.get(tested, math.nan))]
    if 0 < len(without) < len(runs):
        warnings.append(
            f"{len(without)} of {len(runs)} runs {'has' if len(without) == 1 else 'have'} no {tested} "
            f"({listed(without, 3)}), so the arms are judged on the validation split, which chose their checkpoints."
        )
    return requested if without else tested


def _split_used(judged: str, trials: Sequence[ComparedRun]) -> str:
    """Which split judges, and what the validation split has chosen, in a sentence; empty for a training metric."""
    tuned = (name for trial in trials for name in trial.record.parameters)
    chosen = " and ".join(["the checkpoints", *dict.fromkeys(str(name).rpartition(".")[2] for name in tuned)])
    if judged.startswith(TEST):
        return f"Judged on the test split, which was read once, at the end; the validation split chose {chosen}."
    return f"Judged on the validation split, which also chose {chosen}." if judged.startswith(VALID) else ""


def _direction(name: str) -> str:
    """The better direction of a metric."""
    bare = name.removeprefix(VALID).removeprefix(TEST)
    if bare.rpartition("/")[2] not in registry.entries("metric"):
        raise UserError(f"'{name}' is none of our metrics. Name the file that registers it: --plugin metrics.py")
    return direction(bare)


def _sorted_out(runs: Sequence[ComparedRun], judged: str) -> tuple[list[ComparedRun], list[tuple[ComparedRun, str]]]:
    """The runs that can be compared, and the others with the reasons."""
    reasons = [(run, _unusable(run, judged)) for run in runs]
    return [run for run, reason in reasons if reason is None], [(run, why) for run, why in reasons if why is not None]


def _unusable(run: ComparedRun, judged: str) -> str | None:
    """Why a run is not compared; None if it is."""
    reason = f": {' '.join(run.record.reason.split())}" if run.record.reason else ""
    if run.record.status == "running":
        return "still running, or killed: there is no end in its run.json"
    if run.record.status != "finished":
        return f"{run.record.status}{reason}"
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


def _diverged(usable: Sequence[ComparedRun], others: Sequence[ComparedRun], judged: str) -> list[ComparedRun]:
    """The runs whose training diverged, one a seed; without those of seeds that were run again."""
    found = {(run.arm, run.seed): run for run in others if run.seed is not None and _has_diverged(run, judged)}
    there = {(run.arm, run.seed) for run in usable}
    return [run for key, run in found.items() if key not in there]


def _has_diverged(run: ComparedRun, judged: str) -> bool:
    if run.record.status == "failed":
        return faults.diverged(run.record.reason or "")
    return run.record.status == "finished" and not math.isfinite(run.result.get(judged, 0.0))


def _arms(runs: Sequence[ComparedRun], diverged: Sequence[ComparedRun]) -> list[Arm]:
    both = [*runs, *diverged]
    apart = dict(zip((run.folder for run in both), overrides_apart(both), strict=True))
    lost = grouped(diverged, lambda run: run.arm)
    done = grouped(runs, lambda run: run.arm)
    return [
        Arm(
            name,
            tuple(sorted(done.get(name, ()), key=lambda run: (run.seed is None, run.seed or 0))),
            apart[group[0].folder],
            tuple(sorted(run.seed for run in lost.get(name, ()) if run.seed is not None)),
            group[0].config,
        )
        for name, group in grouped(both, lambda run: run.arm).items()
    ]
