"""The verdict on each arm: is it worse than the best one, or could the difference be chance?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from composer.studies.formatting import count
from composer.studies.records.arms import Arm
from composer.studies.statistics.distributions import range_p
from composer.studies.statistics.over_seeds import (
    LEVEL,
    MOST_SEEDS,
    Estimate,
    Hurdle,
    SeedsNeeded,
    TTest,
    holm,
    own_limit,
    paired_test,
    pooled_spread,
    range_limit,
    seeds_needed,
    welch_test,
)

#: Smaller p-values are not told apart: no sample is so normal, and no sum so exact.
SMALLEST_P = 1e-12

#: Why there is no verdict, beside diverged seeds.
TOO_FEW, NO_SPREAD, NOT_TUNED = "too few seeds", "no spread between seeds", "not tuned"

#: How p-values are corrected: see ``_corrected``. Two arms with the same seeds need no correction.
TWO_TESTS, ALL_PAIRS = "Holm and Tukey", "Bonferroni"

#: A corrected p-value, None without a verdict, and the tests that it stands for.
Corrected = tuple[float | None, tuple[Hurdle, ...]]


@dataclass(frozen=True)
class Verdict:
    """An arm against the best arm.

    difference: the arm minus the best; paired by seed where two or more seeds are shared, else Welch's interval
    p: corrected for all arms, of the stricter of both tests; None if there is no verdict
    distinguishable: whether p is below 0.05; None if there is no verdict
    why: the reason why there is no verdict
    correction: for the number of arms; empty if there are two arms
    hurdles: the tests that the difference has to pass
    """

    arm: str
    best: str
    difference: Estimate
    p: float | None
    distinguishable: bool | None
    paired: bool
    why: str = ""
    correction: str = ""
    hurdles: tuple[Hurdle, ...] = ()

    @property
    def untuned(self) -> str:
        """Why the arm is not tuned, so that there is no verdict; empty for an arm that is."""
        head, _, reason = self.why.partition(": ")
        return reason if head == NOT_TUNED else ""

    @cached_property
    def seeds(self) -> SeedsNeeded | None:
        """The seeds an arm that would find the difference seen with a power of 80 %, if it is not distinguishable."""
        return seeds_needed(self.hurdles) if self.distinguishable is False and self.hurdles else None

    @property
    def words(self) -> str:
        """The verdict for people: 'worse', 'not distinguishable (about 15 seeds, 5 to 70)', 'too few seeds'."""
        if self.distinguishable is None:
            return self.why
        if self.distinguishable:
            return "worse"
        if self.seeds is None:
            return "equal"
        return f"not distinguishable ({_in_words(self.seeds)})"


def ranked(arms: Sequence[Arm], metric: str, direction: str) -> tuple[Arm, ...]:
    """The arms, best first. An arm is behind all those that diverged in fewer seeds."""
    sign = 1 if direction == "min" else -1
    return tuple(sorted(arms, key=lambda arm: (len(arm.diverged), not arm.runs, sign * arm.quality(metric).mean)))


def verdicts_of(
    arms: Sequence[Arm],
    metric: str,
    direction: str = "min",
    untuned: Mapping[str, str] = MappingProxyType({}),
    *,
    tasks: int = 1,
) -> tuple[Verdict, ...]:
    """A verdict for every arm but the best, in the order of ``ranked``.

    The chance that any of equal arms is called worse is at most LEVEL for the whole study, although the data choose
    the best arm: see ``_corrected``. An arm that diverged in some seeds gets no verdict, and neither does an arm in
    ``untuned``, which has the reasons by the names of arms.

    tasks: of the study, each judged by a call of its own; p-values are corrected for them by Bonferroni's method
    """
    if not arms:
        return ()
    best, *others = ranked(arms, metric, direction)
    judged = [arm for arm in others if not arm.diverged and not best.diverged]
    tests = [_test(arm, best, metric) for arm in judged]
    table = _table([best, *judged], metric)
    correction = "" if len(judged) < 2 else ALL_PAIRS if table is None else TWO_TESTS
    found = {}
    for arm, test, (p, hurdles) in zip(judged, tests, _corrected(tests, table, tasks), strict=True):
        known = Verdict(arm.name, best.name, test.difference, p, None, test.paired)
        if arm.name in untuned:
            found[arm.name] = replace(known, p=None, why=f"{NOT_TUNED}: {untuned[arm.name]}")
        elif p is None:
            found[arm.name] = replace(known, why=TOO_FEW if test.spread is None else NO_SPREAD)
        else:
            found[arm.name] = replace(known, distinguishable=p < LEVEL, correction=correction, hurdles=hurdles)
    return tuple(found.get(arm.name) or _unjudged(arm, best, metric) for arm in others)


def _unjudged(arm: Arm, best: Arm, metric: str) -> Verdict:
    """The verdict where seeds diverged."""
    difference = Estimate((), arm.quality(metric).mean - best.quality(metric).mean, None)
    why = diverged_in(arm) if arm.diverged else f"no verdict, because the best {diverged_in(best)}"
    return Verdict(arm.name, best.name, difference, None, None, paired=False, why=why)


def diverged_in(arm: Arm) -> str:
    """'diverged in 1 of 3 seeds'."""
    return f"diverged in {len(arm.diverged)} of {count(len(arm.runs) + len(arm.diverged), 'seed')}"


def _test(arm: Arm, best: Arm, metric: str) -> TTest:
    """The paired test over the seeds that both arms have, if these are two or more, else Welch's test over all runs."""
    own, others = ({run.seed: run.result[metric] for run in each.runs if run.seed is not None} for each in (arm, best))
    shared = [seed for seed in own if seed in others]
    if len(shared) >= 2 or len(shared) == len(arm.runs) == len(best.runs):
        return paired_test([own[seed] for seed in shared], [others[seed] for seed in shared])
    return welch_test(arm.quality(metric).values, best.quality(metric).values)


def _in_words(seeds: SeedsNeeded) -> str:
    """'about 15 seeds, 5 to 70', 'about 80 seeds, 20 to > 1,000', '> 1,000 seeds, at least 40', '> 1,000 seeds'."""
    many = f"> {MOST_SEEDS:,}"
    if seeds.low is None:
        return f"{many} seeds"
    if seeds.about is None:
        return f"{many} seeds, at least {seeds.low:,}"
    return f"about {seeds.about:,} seeds, {seeds.low:,} to {many if seeds.high is None else f'{seeds.high:,}'}"


def _table(arms: Sequence[Arm], metric: str) -> list[list[float]] | None:
    """The metric of every arm and seed, if all arms have the same two or more seeds."""
    seeds = [[run.seed for run in arm.runs] for arm in arms]
    common = set(seeds[0])
    if None in common or len(common) < 2 or any(set(own) != common or len(own) != len(common) for own in seeds):
        return None
    values = [{run.seed: run.result[metric] for run in arm.runs} for arm in arms]
    return [[own[seed] for seed in seeds[0]] for own in values]


def _corrected(tests: Sequence[TTest], table: Sequence[Sequence[float]] | None, tasks: int) -> list[Corrected]:
    """For each test against the best arm, the p-value that counts all arms, and the tests that it stands for.

    An arm is worse where two tests agree. Tukey's test allows for the choice of the best arm by the data, but takes the
    spread to be the same in all arms; the pair's own t-test does not, but allows for no choice. The t-test is
    one-sided, because no arm is ahead of the best one, and is corrected by Holm's method over all arms, the best one
    included. Where seeds are not the same in all arms, the own test is corrected by Bonferroni's method for all pairs.

    The farthest arm that is worse leaves the table, and the others are tested again, among themselves, until none is
    worse. Otherwise an arm that fails in another way in every seed would set the spread by which all others are judged.
    """
    arms, level = len(tests) + 1, LEVEL / tasks
    if table is None:
        pairs = arms * (arms - 1) // 2
        return [
            _no_verdict(test) if test.p is None else (_kept(tasks * pairs * test.p), (_own(test, level / pairs),))
            for test in tests
        ]
    own = holm([test.p / 2 if test.p is not None else 0.0 for test in tests], arms)
    hurdles = [(_own(test, 2 * level / arms),) if test.p is not None else () for test in tests]
    found: dict[int, Corrected] = {}
    smallest = 0.0  # no arm has a smaller p-value than those that left before it
    while len(found) < len(tests):
        left = [place for place in range(len(tests)) if place not in found]
        tukey = _tukey([tests[place] for place in left], [table[0], *(table[place + 1] for place in left)], level)
        stage = {
            place: _stricter(tests[place], max(smallest, own[place]), hurdles[place], ranges, tasks)
            for place, ranges in zip(left, tukey, strict=True)
        }
        worse = [place for place, (p, _) in stage.items() if p is not None and p < LEVEL]
        alone = {place: each for place, each in stage.items() if tests[place].p is None}
        if alone:  # without a test of their own, the spread of all others is all that there is to judge them by
            stage = alone
        elif worse:
            farthest = max(worse, key=lambda place: abs(tests[place].difference.mean))
            stage = {farthest: stage[farthest]}
            smallest = max(smallest, (stage[farthest][0] or 0.0) / tasks)
        found |= stage
    return [found[place] for place in range(len(tests))]


def _tukey(tests: Sequence[TTest], table: Sequence[Sequence[float]], level: float) -> list[tuple[float, Hurdle] | None]:
    """The p-value and the hurdle of each arm's distance from the best, by the range of all arms of a table; None where
    the table has no spread, and for two arms, for which the own test is the same."""
    arms, seeds = len(table), len(table[0])
    spread = pooled_spread(table) if arms > 2 else 0.0
    if not spread:
        return [None for _ in tests]
    freedom, limit = (arms - 1) * (seeds - 1), range_limit(arms, level)
    distances = [abs(test.difference.mean) / spread * math.sqrt(seeds) for test in tests]
    return [(range_p(t * math.sqrt(2), arms, freedom), Hurdle(t, seeds, freedom, arms - 1, limit)) for t in distances]


def _stricter(
    test: TTest, own: float, hurdles: tuple[Hurdle, ...], tukey: tuple[float, Hurdle] | None, tasks: int
) -> Corrected:
    """The larger p-value of the own test and of Tukey's, and the tests that there are."""
    p = own
    if tukey is not None:
        p, hurdles = max(own, tukey[0]), (*hurdles, tukey[1])
    return (_kept(tasks * p), hurdles) if hurdles and (test.spread or test.difference.mean) else _no_verdict(test)


def _own(test: TTest, level: float) -> Hurdle:
    return Hurdle(abs(test.t), test.seeds, test.freedom, test.freedom_per_seed, own_limit(level))


def _no_verdict(test: TTest) -> Corrected:
    """Without a spread, only a difference of zero can be told: p is 1."""
    return (1.0 if test.spread == test.difference.mean == 0 else None), ()


def _kept(p: float) -> float:
    return min(1.0, max(SMALLEST_P, p))
