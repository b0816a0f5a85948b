"""Studies whose truth is known: arms with drawn results, for the function that judges real studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy

from composer.runs.record import RunRecord
from composer.studies.records.arms import Arm
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import TTest, holm, paired_test

METRIC = "valid/loss"
Draw = Callable[[numpy.random.Generator, tuple[int, int, int]], numpy.ndarray]


@dataclass(frozen=True)
class Scenario:
    """
    draw: the results of (studies, arms, seeds); all arms have the same mean
    shift: how much worse each arm is, by the number of arms; arms with 0 are the equal best ones
    shared: whether all arms have the same seeds; otherwise no arm shares a seed with another, and the last lacks one
    """

    name: str
    draw: Draw
    shift: Callable[[int], numpy.ndarray] = numpy.zeros
    shared: bool = True


def correlated(share: float) -> Draw:
    """Normal results of deviation 1, of whose variance a seed gives this share to all arms alike."""

    def draw(rng: numpy.random.Generator, size: tuple[int, int, int]) -> numpy.ndarray:
        seeds = rng.standard_normal((size[0], 1, size[2]))
        return share**0.5 * seeds + (1 - share) ** 0.5 * rng.standard_normal(size)

    return draw


def unequal(deviations: Callable[[int], numpy.ndarray]) -> Draw:
    """Normal results, whose deviations differ between arms."""
    return lambda rng, size: rng.standard_normal(size) * deviations(size[1])[:, None]


def _half(arms: int) -> numpy.ndarray:
    return numpy.where(numpy.arange(arms) < (arms + 1) // 2, 0.0, 3.0)


def _half_spread(spread: float) -> Callable[[int], numpy.ndarray]:
    """Deviations: 1 for the equal best arms, ``spread`` for the others of ``_half``."""
    return lambda arms: numpy.where(_half(arms) > 0, spread, 1.0)


def _one_of_four(arms: int) -> numpy.ndarray:
    return numpy.where(numpy.arange(arms) == 0, 4.0, 1.0)


normal = correlated(0.0)
NULL = (
    Scenario("normal", normal),
    Scenario("exponential", lambda rng, size: rng.exponential(size=size)),
    Scenario("lognormal", lambda rng, size: rng.lognormal(size=size)),
    Scenario("deviations 1 to 4", unequal(lambda arms: numpy.linspace(1, 4, arms))),
    Scenario("one deviation of 4", unequal(_one_of_four)),
    Scenario("seeds correlated 0.5", correlated(0.5)),
    Scenario("seeds correlated 0.9", correlated(0.9)),
    Scenario("half 3 deviations worse", normal, _half),
    Scenario("and their spread a quarter", unequal(_half_spread(0.25)), _half),
    Scenario("and their spread threefold", unequal(_half_spread(3.0)), lambda arms: 4 * _half(arms)),
    Scenario("other seeds in every arm", normal, shared=False),
)


class Study:
    """Arms whose results are replaced by those of the next study, which is much quicker than new arms."""

    def __init__(self, arms: int, seeds: int, shared: bool = True) -> None:
        self.results: list[dict[str, float]] = []
        self.arms = []
        self.places = []
        for arm in range(arms):
            count = seeds if shared or arm < arms - 1 or seeds < 3 else seeds - 1
            numbers = [seed if shared else arm * seeds + seed for seed in range(count)]
            results: list[dict[str, float]] = [{METRIC: 0.0} for _ in numbers]
            runs = tuple(record(f"{arm}", number, own) for number, own in zip(numbers, results, strict=True))
            self.arms.append(Arm(f"{arm}", runs, ()))
            self.results += results
            self.places += [arm * seeds + seed for seed in range(count)]

    def each(self, values: numpy.ndarray) -> Iterator[list[Arm]]:
        """The arms with the values of one study after the other."""
        for study in values.reshape(len(values), -1)[:, self.places].tolist():
            for result, value in zip(self.results, study, strict=True):
                result[METRIC] = value
            yield self.arms


def record(arm: str, seed: int, result: Mapping[str, float]) -> ComparedRun:
    """A finished run of which nothing but the result is known."""
    return ComparedRun(Path(), arm, seed, result, RunRecord(status="finished"))


def holm_against_the_best(arms: list[Arm]) -> set[str]:
    """The procedure of before: paired tests against the best, corrected by Holm's method for all arms but one."""
    best, *others = sorted(arms, key=lambda arm: arm.quality(METRIC).mean)
    values = best.quality(METRIC).values
    tests: list[TTest] = [paired_test(arm.quality(METRIC).values, values) for arm in others]
    p_values = holm([0.0 if test.p is None else test.p for test in tests], len(tests))
    return {arm.name for arm, p in zip(others, p_values, strict=True) if p < 0.05}
