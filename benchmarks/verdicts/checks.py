"""Errors, power, intervals and the seeds needed, over many simulated studies. Each check prints its table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from zlib import crc32

import numpy

from benchmarks.verdicts.simulated import (
    METRIC,
    NULL,
    Scenario,
    Study,
    correlated,
    holm_against_the_best,
    normal,
)
from composer.studies.findings.verdicts import verdicts_of
from composer.studies.records.arms import Arm
from composer.studies.statistics.over_seeds import LEVEL, Estimate, SeedsNeeded, estimate, paired_test, seeds_needed

#: Studies that are drawn at once.
CHUNK = 2000

#: Studies of a cell that is drawn again.
AGAIN = 20_000

#: The arms and the number of tasks of studies that have several.
SEVERAL_TASKS = ((3, 6),)


@dataclass(frozen=True)
class Cell:
    scenario: Scenario
    arms: int
    seeds: int

    def studies(self, count: int) -> Iterator[list[Arm]]:
        """Arms of ``count`` studies, one after the other; the same in every run of the benchmark."""
        rng = numpy.random.default_rng([crc32(self.scenario.name.encode()), self.arms, self.seeds])
        study = Study(self.arms, self.seeds, self.scenario.shared)
        for start in range(0, count, CHUNK):
            size = (min(CHUNK, count - start), self.arms, self.seeds)
            yield from study.each(self.scenario.draw(rng, size) + self.scenario.shift(self.arms)[:, None])


def _worse(arms: list[Arm], tasks: int = 1) -> set[str]:
    return {verdict.arm for verdict in verdicts_of(arms, METRIC, tasks=tasks) if verdict.distinguishable}


def false_worse(scenario: Scenario, arms: int, seeds: int, studies: int, tasks: int = 1) -> float:
    """The share of studies in which one of the equal best arms of any task is called worse."""
    equal = {str(arm) for arm, shift in enumerate(scenario.shift(arms)) if shift == 0}
    drawn = Cell(scenario, arms, seeds).studies(studies * tasks)
    wrong = [bool(_worse(each, tasks) & equal) for each in drawn]
    return sum(any(wrong[first : first + tasks]) for first in range(0, len(wrong), tasks)) / studies


def errors(studies: int, arms: Sequence[int], seeds: Sequence[int], jobs: int) -> bool:
    """The chance of any false "worse" in a study, by scenario and cell; whether all are within the bound.

    Where two arms are left, their t-test has exactly 5 %, so that about one such cell in 44 is above the bound
    by chance. Cells above it are therefore drawn again, with more studies.
    """
    bound = _bound(studies)
    print(f"\nStudies with a false 'worse', in percent ({studies:,} studies a cell; at most {100 * bound:.2f})")
    cells, above = 0, []
    with ProcessPoolExecutor(jobs) as pool:
        for index, scenario in enumerate(NULL):
            print(f"\n{scenario.name}\n  arms" + "".join(f"{f'{count} seeds':>10}" for count in seeds), flush=True)
            for each, tasks in [*((count, 1) for count in arms), *SEVERAL_TASKS]:
                row = [(index, each, count, tasks) for count in seeds]
                shares = list(pool.map(_cell, row, repeat(studies)))
                text = "".join(f"{100 * share:>9.2f}{' *'[share > bound]}" for share in shares)
                print(f"  {each:>4}{text}{f'  of each of {tasks} tasks' if tasks > 1 else ''}", flush=True)
                above += [cell for cell, share in zip(row, shares, strict=True) if share > bound]
                cells += len(row)
        again = max(AGAIN, studies)
        shares = list(pool.map(_cell, above, repeat(again)))
    print(f"\n{cells} cells, {len(above)} above the bound (*)")
    for (index, each, count, tasks), share in zip(above, shares, strict=True):
        of = f" of each of {tasks} tasks" if tasks > 1 else ""
        print(f"  {NULL[index].name}, {each} arms{of}, {count} seeds: {100 * share:.2f} in {again:,} studies, "
              f"at most {100 * _bound(again):.2f}")  # fmt: skip
    return all(share <= _bound(again) for share in shares)


def _bound(studies: int) -> float:
    """5 % and two standard errors."""
    return LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / studies)


def _cell(cell: tuple[int, int, int, int], studies: int) -> float:
    """For another process, to which a scenario cannot be sent."""
    index, arms, seeds, tasks = cell
    return false_worse(NULL[index], arms, seeds, studies, tasks)


def power(studies: int) -> None:
    """Against the procedure of before: the share of the arms that are worse by two deviations which are called so."""
    print(f"\nPower at a difference of two deviations, five seeds ({studies:,} studies)")
    print(f"  {'arms':>4}  {'which':<22}{'seeds':<18}{'before':>8}{'now':>8}{'ratio':>8}")
    for arms in (2, 3, 5, 10):
        for which, shift in (("one arm worse", _last), ("one arm ahead", _but_first)):
            for share in (0.0, 0.7):
                scenario = Scenario(f"power {which} {share}", correlated(share), shift)
                true = {str(arm) for arm, by in enumerate(shift(arms)) if by}
                found = [
                    (len(holm_against_the_best(each) & true), len(_worse(each) & true))
                    for each in Cell(scenario, arms, 5).studies(studies)
                ]
                before, now = (sum(column) / studies / len(true) for column in zip(*found, strict=True))
                kind = f"correlated {share}" if share else "independent"
                print(f"  {arms:>4}  {which:<22}{kind:<18}{before:>8.3f}{now:>8.3f}{now / before:>8.2f}", flush=True)


def _last(arms: int) -> numpy.ndarray:
    return numpy.where(numpy.arange(arms) == arms - 1, 2.0, 0.0)


def _but_first(arms: int) -> numpy.ndarray:
    return numpy.where(numpy.arange(arms) == 0, 0.0, 2.0)


def intervals(studies: int) -> None:
    """How many of the 95 % intervals hold the truth."""
    print(f"\nCoverage of 95 % intervals, in percent ({studies:,} studies)")
    print(f"  {'seeds':>5}{'mean':>8}{'difference':>12}{'mean, exponential':>20}{'difference':>12}")
    for seeds in (2, 3, 5, 10):
        row = []
        for draw, truth in ((normal, 0.0), (lambda rng, size: rng.exponential(size=size), 1.0)):
            rng = numpy.random.default_rng([7, seeds])
            pairs = draw(rng, (studies, 2, seeds)).tolist()
            means = [estimate(first) for first, _ in pairs]
            differences = [paired_test(first, second).difference for first, second in pairs]
            row += [_covered(means, truth), _covered(differences, 0.0)]
        print(f"  {seeds:>5}{row[0]:>8.1f}{row[1]:>12.1f}{row[2]:>20.1f}{row[3]:>12.1f}", flush=True)


def _covered(estimates: Sequence[Estimate], truth: float) -> float:
    return 100 * sum(abs(each.mean - truth) <= (each.half or 0.0) for each in estimates) / len(estimates)


def seeds(studies: int) -> None:
    """The number of seeds that a difference needs: whether its 80 % interval holds it, and whether it has the power."""
    print(
        f"\nSeeds needed ({studies:,} studies): the number's quantiles, and how often its 80 % interval holds the truth"
    )
    head = f"{'arms':>4}{'seeds':>7}{'effect':>8}{'truth':>7}{'power':>8}"
    print(f"  {head}   {'10/50/90 %':<20}{'holds':>7}{'where shown':>13}")
    for arms in (2, 5):
        for count in (3, 5, 10):
            for effect in (0.5, 1.0):
                _seeds_row(arms, count, effect, studies)


def _seeds_row(arms: int, count: int, effect: float, studies: int) -> None:
    """One arm is ahead of all others by ``effect`` deviations of a difference."""

    def shift(number: int) -> numpy.ndarray:
        return effect * math.sqrt(0.5) * _but_first(number)

    cell = Cell(Scenario(f"seeds {effect}", normal, shift), arms, count)
    found, shown, truth = [], [], None
    for each in cell.studies(studies):
        verdicts = {verdict.arm: verdict for verdict in verdicts_of(each, METRIC)}
        verdict = verdicts.get("1") or verdicts["0"]
        if truth is None:  # with the effect in place of the statistics that were seen
            truth = seeds_needed([replace(h, t=effect * math.sqrt(h.seeds)) for h in verdict.hurdles]).about
        if arms > 2 and verdict.best != "0":
            continue  # then the true difference is another one
        found.append(seeds_needed(verdict.hurdles))
        shown.append(not verdict.distinguishable)
    assert truth is not None
    held = [_holds(needed, truth) for needed in found]
    near = [h for h, s in zip(held, shown, strict=True) if s]
    numbers = sorted(needed.about or 1001 for needed in found)
    quantiles = "/".join(_number(numbers[int(q * (len(numbers) - 1))]) for q in (0.1, 0.5, 0.9))
    again = Cell(Scenario(f"again {effect}", normal, shift), arms, truth)
    power = sum("1" in _worse(each) for each in again.studies(min(2000, 4 * studies))) / min(2000, 4 * studies)
    print(
        f"  {arms:>4}{count:>7}{effect:>8}{truth:>7}{power:>8.2f}   {quantiles:<20}{sum(held) / len(held):>7.2f}"
        f"{sum(near) / max(1, len(near)):>13.2f}",
        flush=True,
    )


def _holds(needed: SeedsNeeded, truth: int) -> bool:
    low, high = (math.inf if end is None else end for end in (needed.low, needed.high))
    return low <= truth <= high


def _number(seeds: int) -> str:
    return "> 1,000" if seeds > 1000 else f"{seeds:,}"
