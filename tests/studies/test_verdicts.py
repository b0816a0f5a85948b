"""The laws of the function that judges, over simulated studies whose truth is known."""

import math
from dataclasses import replace

import numpy
import pytest
from scipy import stats

from benchmarks.verdicts.checks import Cell, false_worse
from benchmarks.verdicts.simulated import METRIC, NULL, Study, holm_against_the_best
from composer.studies.findings.answers import answer
from composer.studies.findings.compared_tasks import Task
from composer.studies.findings.verdicts import ranked, verdicts_of
from composer.studies.statistics.over_seeds import LEVEL

STUDIES = 500

#: More false verdicts than this has a probability of 1 in 10,000 if each study has LEVEL.
MOST_FALSE = stats.binom.isf(1e-4, STUDIES, LEVEL)

NAMES = [scenario.name for scenario in NULL]


def study(rows, shared=True):
    """Arms named 0, 1, ... with these results; their seeds are 0, 1, ... where they are shared."""
    found = Study(len(rows), len(rows[0]), shared)
    return next(iter(found.each(numpy.array([rows], dtype=float))))


def drawn(arms, seeds, seed=0):
    return numpy.random.default_rng(seed).standard_normal((arms, seeds)) + 1.5 * numpy.arange(arms)[:, None]


def told(verdicts):
    return [(v.arm, v.best, v.p, v.distinguishable, v.words) for v in verdicts]


@pytest.mark.parametrize("scenario", range(len(NULL)), ids=NAMES)
@pytest.mark.parametrize("cell", [(2, 2), (3, 10), (7, 4)], ids=str)
def test_few_studies_of_equal_arms_call_one_worse(scenario, cell):
    assert false_worse(NULL[scenario], *cell, STUDIES) * STUDIES <= MOST_FALSE


@pytest.mark.parametrize("scenario", range(len(NULL)), ids=NAMES)
@pytest.mark.parametrize("cell", [(2, 3, 15), (3, 3, 6)], ids=str)
def test_few_studies_of_several_tasks_call_one_of_equal_arms_worse(scenario, cell):
    *size, tasks = cell
    assert false_worse(NULL[scenario], *size, STUDIES, tasks) * STUDIES <= MOST_FALSE


def test_the_bound_would_be_missed_without_the_choice_of_the_best_in_mind():
    found = [holm_against_the_best(arms) for arms in Cell(NULL[0], 10, 10).studies(STUDIES)]
    assert sum(map(bool, found)) > MOST_FALSE


@pytest.mark.parametrize(("arms", "seeds"), [(2, 3), (4, 5)])
def test_verdicts_do_not_depend_on_the_order_of_seeds_and_arms_or_on_the_unit(arms, seeds):
    rows = drawn(arms, seeds, seed=2)
    wanted = verdicts_of(study(rows), METRIC)
    assert {verdict.distinguishable for verdict in wanted} == {True, False} or arms == 2
    for other in (rows[:, ::-1], 1000 * rows + 7, rows + 10 * numpy.arange(seeds)):
        found = verdicts_of(study(other), METRIC)
        assert [(v.arm, v.words) for v in found] == [(v.arm, v.words) for v in wanted]
        assert [v.p for v in found] == pytest.approx([v.p for v in wanted], rel=1e-6)
    assert told(verdicts_of(study(rows)[::-1], METRIC)) == told(wanted)


def test_the_highest_is_judged_as_the_lowest_of_the_negatives():
    rows = drawn(4, 5)
    assert told(verdicts_of(study(-rows), METRIC, "max")) == told(verdicts_of(study(rows), METRIC))


@pytest.mark.parametrize("shared", [True, False])
def test_no_p_value_is_zero(shared):
    tiny = drawn(4, 8) * 1e-6 + numpy.arange(4)[:, None] * 1e3
    constant = numpy.array([[0.0] * 8, [1e3] * 8, *(1 + drawn(2, 8) * 1e-6)])
    for rows in (tiny, constant):
        found = [verdict.p for verdict in verdicts_of(study(rows, shared), METRIC) if verdict.p is not None]
        assert found
        assert all(0 < p < 1e-3 for p in found)


def test_an_arm_that_fails_in_another_way_in_every_seed_does_not_hide_the_others():
    near = [[1.0, 1.1, 1.0, 1.1], [1.5, 1.62, 1.49, 1.6], [1.52, 1.6, 1.5, 1.63]]
    wild = [30.0, 60.0, 45.0, 90.0]
    alone, beside = (verdicts_of(study(rows), METRIC) for rows in (near, [*near, wild]))
    assert [(verdict.arm, verdict.words) for verdict in alone] == [("1", "worse"), ("2", "worse")]
    assert [(verdict.arm, verdict.words) for verdict in beside] == [("1", "worse"), ("2", "worse"), ("3", "worse")]


def test_p_values_do_not_fall_from_an_arm_to_one_that_is_nearer_to_the_best():
    for seed in range(30):
        found = [verdict.p for verdict in verdicts_of(study(drawn(6, 4, seed)), METRIC) if verdict.distinguishable]
        assert found == sorted(found, reverse=True)


def test_arms_of_other_seeds_are_corrected_for_all_pairs():
    rows = drawn(4, 5) * [[1], [1], [1], [3]]
    arms = study(rows, shared=False)
    values = {arm.name: arm.quality(METRIC).values for arm in arms}
    for verdict in verdicts_of(arms, METRIC):
        wanted = stats.ttest_ind(values[verdict.arm], values[verdict.best], equal_var=False).pvalue
        assert verdict.p == pytest.approx(min(1.0, 6 * wanted))
        assert not verdict.paired


def test_an_arm_that_is_not_tuned_gets_no_verdict_and_changes_no_other():
    arms = study(drawn(4, 5))
    reasons = {"3": "its best learning_rate is the highest tried"}
    free, bound = verdicts_of(arms, METRIC), verdicts_of(arms, METRIC, untuned=reasons)
    assert told(bound[:-1]) == told(free[:-1])
    last = bound[-1]
    assert (last.arm, free[-1].words) == ("3", "worse")
    assert (last.p, last.distinguishable) == (None, None)
    assert answer(Task("", tuple(arms), bound), METRIC, "min").endswith("; 3 is not tuned.")
    assert last.words == "not tuned: its best learning_rate is the highest tried"


def test_a_best_arm_that_is_not_tuned_is_said_and_the_others_are_judged():
    arms, untuned = study(drawn(4, 5)), {"0": "its best learning_rate is the highest tried"}
    verdicts = verdicts_of(arms, METRIC, untuned=untuned)
    assert told(verdicts) == told(verdicts_of(arms, METRIC))
    said = answer(Task("", ranked(arms, METRIC, "min"), verdicts), METRIC, "min", untuned)
    assert "0 is not tuned (its best learning_rate is the highest tried), and could be better still" in said


def test_an_arm_that_diverged_less_is_ahead_whatever_it_reached():
    arms = study([[0.0, 0.1], [1.0, 1.1], [2.0, 2.2], [3.0, 3.1]])
    lost = replace(arms[3], runs=(), diverged=(1,))
    arms = [replace(arms[0], diverged=(5, 6)), replace(arms[1], diverged=(5,)), arms[2], lost]
    for direction in ("min", "max"):
        assert [arm.name for arm in ranked(arms, METRIC, direction)] == ["2", "1", "3", "0"]
    assert math.isnan(arms[3].quality(METRIC).mean)
    assert [v.words for v in verdicts_of(arms, METRIC)] == [
        "diverged in 1 of 3 seeds",
        "diverged in 1 of 1 seed",
        "diverged in 2 of 4 seeds",
    ]
