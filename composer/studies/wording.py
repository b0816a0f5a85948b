"""A comparison in words: numbers with their intervals, the answer in a sentence, the statistics that were used."""

from __future__ import annotations

import math
from collections.abc import Sequence

from composer.studies.statistics import Estimate
from composer.studies.verdicts import Arm, Verdict, best_against_naive

#: The most arms that the sentence names one by one.
NAMED = 3

#: A forecast is called better than the naive one if its squared error is below this share of the naive one's.
BEATEN = 0.9995


def with_interval(estimate: Estimate) -> str:
    """'0.231 ± 0.004': the interval to two digits, and the mean to as many decimals."""
    mean, half = estimate.mean, estimate.half
    if not half:  # one seed, or all seeds gave the same
        return f"{mean:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6 or max(abs(mean), half) >= 1e7:
        return f"{mean:.4g} ± {half:.2g}"
    return f"{mean:.{decimals}f} ± {half:.{decimals}f}"


def metric_name(metric: str) -> str:
    """'valid/token_accuracy' -> 'validation token accuracy'."""
    return metric.replace("valid/", "validation ").replace("test/", "test ").replace("_", " ")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def answer(arms: Sequence[Arm], metric: str, direction: str, verdicts: Sequence[Verdict]) -> str:
    """Which arm is the best, which others are not distinguishable from it, and whether any beats a naive forecast."""
    naive = _against_naive(arms, metric)
    return " ".join([_ranked(arms, metric, direction, verdicts), *([naive] if naive else [])])


def _against_naive(arms: Sequence[Arm], metric: str) -> str | None:
    """A sentence if no arm is better than the naive forecast."""
    found = best_against_naive(arms, metric)
    if found is None or found[1].mean < BEATEN:
        return None
    arm, ratio = found
    none, error = "No arm is", f"the lowest squared error, that of {arm.name},"
    if len(arms) == 1:
        none, error = "It is not", "its squared error"
    return f"{none} better than the naive forecast: {error} is {with_interval(ratio)} of the naive one."


def _ranked(arms: Sequence[Arm], metric: str, direction: str, verdicts: Sequence[Verdict]) -> str:
    best = arms[0]
    quality = best.quality(metric)
    seeds = count(len(best.runs), "seed") if len(best.runs) > 1 else "one seed, so no interval can be given"
    result = f"{with_interval(quality)}, {seeds}"
    if len(arms) == 1:
        return f"{best.name} is the only arm. Its {metric_name(metric)} is {result}."
    rank = "lowest" if direction == "min" else "highest"
    parts = [f"{best.name} has the {rank} {metric_name(metric)} ({result})"]
    untuned = [verdict.arm for verdict in verdicts if verdict.untuned]
    close, untold, worse = (
        [verdict.arm for verdict in verdicts if verdict.distinguishable is told and not verdict.untuned]
        for told in (False, None, True)
    )
    if close:
        parts.append(f"{_these(close, verdicts)} not distinguishable from it")
    if worse:
        parts.append(f"{_these(worse, verdicts)} worse")
    if untold:
        which = these(untold) if len(untold) <= NAMED else f"{len(untold)} of the others"
        which = "the others" if len(untold) == len(verdicts) > 1 else which
        parts.append(f"whether {best.name} differs from {which} cannot be told with so few seeds")
    if untuned:
        parts.append(f"{_these(untuned, verdicts)} not tuned")
    return "; ".join(parts) + "."


def _these(names: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    if len(names) == len(verdicts) > 1:
        return "all others are"
    which = these(names) if len(names) <= NAMED else f"{len(names)} others"
    return f"{which} {'is' if len(names) == 1 else 'are'}"


def these(names: Sequence[str]) -> str:
    """'gru, lstm and attention'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def methods(verdicts: Sequence[Verdict]) -> str:
    """How intervals and verdicts were computed."""
    intervals = "Intervals are 95 % confidence intervals over seeds, by Student's t distribution."
    told = [verdict for verdict in verdicts if verdict.p is not None]
    if not told:
        return intervals
    paired = sum(verdict.paired for verdict in told)
    counts = {"paired by seed": paired, "by Welch's test": len(told) - paired}
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    correction = "with a single comparison, Holm's correction changes nothing"
    if len(told) > 1:
        correction = f"the p-values are corrected for {len(told)} comparisons by Holm's method"
    tests = f"Verdicts are two-sided t-tests against the best at the 5 % level ({kinds}); {correction}."
    if any(verdict.distinguishable is False for verdict in told):
        tests += " In brackets: the seeds that would find a difference of the size seen with a power of 80 %."
    return f"{intervals} {tests}"
