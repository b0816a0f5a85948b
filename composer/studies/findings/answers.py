"""The answer of a comparison in a sentence, and the statistics that were used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from composer.studies.findings.compared_tasks import RANK, Task
from composer.studies.findings.verdicts import (
    ALL_PAIRS,
    NO_SPREAD,
    NOT_TUNED,
    TOO_FEW,
    TWO_TESTS,
    Verdict,
    diverged_in,
)
from composer.studies.formatting import count, metric_name, these, with_interval
from composer.studies.planning.ladder import RUNG
from composer.studies.records.arms import Arm

#: The most arms that the sentence names one by one.
NAMED = 3

#: The longest name that the sentence repeats.
SHORT = 40

#: The metric that compares a forecast with a naive one.
OVER_NAIVE = "mse_over_naive"

#: A forecast is called better than the naive one if its squared error is below this share of the naive one's.
BEATEN = 0.9995

#: How p-values were corrected for the number of arms and the choice of the best, in words.
CORRECTED = {
    TWO_TESTS: "corrected by Holm's method over all arms, that must agree with Tukey's test, the farthest arm first",
    ALL_PAIRS: "corrected by Bonferroni's method for all pairs of arms, because the arms have different seeds",
}


def headline(tasks: Sequence[Task], answers: Sequence[str]) -> str:
    """The answer of a single task, or how many tasks have a clear one; of a ladder, how often a family is the best."""
    if len(tasks) == 1:
        return answers[0]
    clear = sum(task.clear for task in tasks)
    families = Counter(rung["family"] for task in tasks if (rung := RUNG.fullmatch(task.best.name)) is not None)
    if families.total() == len(tasks):
        where = these([f"{family} at {times}" for family, times in families.most_common()])
        text = f"Of {len(tasks)} sizes and lengths of training, the best is {where}; beyond chance"
        return f"{text} in {clear or 'none'} of them."
    which = f"in {clear} of them, one arm is" if clear else "in none of them is an arm"
    return f"{len(tasks)} tasks: {which} better than all others beyond chance."


def answer(task: Task, metric: str, direction: str, untuned: Mapping[str, str] = MappingProxyType({})) -> str:
    """Which arm is the best, which others are not distinguishable from it, and whether any beats a naive forecast."""
    naive = _against_naive(task.arms, metric)
    text = " ".join([_ranked(task, metric, direction, untuned), *([naive] if naive else [])])
    return f"{task.name}: {text}" if task.name else text


def _against_naive(arms: Sequence[Arm], metric: str) -> str | None:
    """A sentence if arms were compared with the naive forecast, on the split of the metric, and none is better."""
    name = f"{metric.rpartition('/')[0]}/{OVER_NAIVE}"
    found = [(arm, arm.quality(name)) for arm in arms if arm.measured(name)]
    arm, ratio = min(found, key=lambda pair: pair[1].mean, default=(None, None))
    if arm is None or ratio is None or ratio.mean < BEATEN:
        return None
    none, error = "No arm is", f"the lowest squared error, that of {arm.name},"
    if len(arms) == 1:
        none, error = "It is not", "its squared error"
    return f"{none} better than the naive forecast: {error} is {with_interval(ratio)} of the naive one."


def _ranked(task: Task, metric: str, direction: str, untuned: Mapping[str, str]) -> str:
    best, verdicts = task.best, task.verdicts
    seeds = count(len(best.runs), "seed") if len(best.runs) > 1 else "one seed, so no interval can be given"
    result = f"{task.shown(metric).get(best.name, '-')}, {seeds}{f'; it {diverged_in(best)}' if best.diverged else ''}"
    if not verdicts:
        return f"{best.name} is the only arm. Its {metric_name(metric)} is {result}."
    first = f"{best.name} has the {RANK[direction]} {metric_name(metric)} ({result})"
    if task.tie and best.name not in untuned:
        none = "No arm is distinguishable from the others" if len(verdicts) > 1 else "The arms are not distinguishable"
        differ = any(arm.quality(metric).mean != best.quality(metric).mean for arm in task.arms)
        return f"{none}: {first}{', but the difference may be chance' if differ else ', and so have the others'}."
    parts = [first]
    if best.name in untuned:
        parts.append(f"{best.name} is {NOT_TUNED} ({untuned[best.name]}), and could be better still")
    close, worse = ([verdict.arm for verdict in verdicts if verdict.distinguishable is far] for far in (False, True))
    if close:
        parts.append(f"{_these(close, verdicts)} not distinguishable from it")
    if worse:
        parts.append(f"{_these(worse, verdicts)} worse")
    untuned_others = [verdict.arm for verdict in verdicts if verdict.untuned]
    if untuned_others:
        parts.append(f"{_these(untuned_others, verdicts)} {NOT_TUNED}")
    for why in dict.fromkeys(verdict.why for verdict in verdicts if verdict.why and not verdict.untuned):
        parts.append(_unjudged(best.name, [verdict.arm for verdict in verdicts if verdict.why == why], why, verdicts))
    return "; ".join(parts) + "."


def _unjudged(best: str, names: Sequence[str], why: str, verdicts: Sequence[Verdict]) -> str:
    """Why these arms have no verdict."""
    if why not in (TOO_FEW, NO_SPREAD):
        return f"{these(names)} {why}"
    which = these(names) if len(names) <= NAMED else f"{len(names)} of the others"
    which = "the others" if len(names) == len(verdicts) > 1 else which
    reason = "with so few seeds" if why == TOO_FEW else "because the difference is the same in every seed"
    best = best if len(best) <= SHORT else "it"
    return f"whether {best} differs from {which} cannot be told {reason}"


def _these(names: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    if len(names) == len(verdicts) > 1:
        return "all others are"
    which = these(names) if len(names) <= NAMED else f"{len(names)} others"
    return f"{which} {'is' if len(names) == 1 else 'are'}"


def methods(tasks: Sequence[Task]) -> str:
    """How intervals and verdicts were computed."""
    intervals = "Intervals are 95 % confidence intervals over seeds, by Student's t distribution."
    tested = [verdict for task in tasks for verdict in task.verdicts if verdict.p is not None]
    if not tested:
        return intervals
    paired = sum(verdict.paired for verdict in tested)
    counts = {"paired by seed": paired, "by Welch's test": len(tested) - paired}
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    several = sum(len(task.arms) > 1 for task in tasks)
    tests = f"Verdicts are t-tests against the best{' of the task' if len(tasks) > 1 else ''} ({kinds})"
    corrections = {verdict.correction for verdict in tested if verdict.correction}
    tests += "".join(f", {CORRECTED[correction]}" for correction in sorted(corrections))
    if several > 1:
        tests += f", {'and' if corrections else 'corrected'} by Bonferroni's method for {several} tasks"
    tests += "; the chance that any of equal arms is called worse is at most 5 % for the whole comparison."
    if any(verdict.seeds is not None for verdict in tested):
        tests += (
            " In brackets: the seeds an arm that would find a difference of the size seen with a power of 80 %, and "
            "their 80 % interval, because the true difference is known from few seeds."
        )
    return f"{intervals} {tests}"
