"""The statistics, against SciPy's tests, and against the functions of our own that SciPy's have replaced."""

import math

import pytest
import torch
from scipy import stats

from composer.studies.statistics.distributions import (
    critical_range,
    critical_t,
    exceeding,
    range_p,
    two_sided_p,
)
from composer.studies.statistics.over_seeds import (
    LEVEL,
    MOST_SEEDS,
    POWER,
    Hurdle,
    estimate,
    holm,
    own_limit,
    paired_test,
    pooled_spread,
    range_limit,
    seeds_needed,
    welch_test,
)

FREEDOMS = [1, 1.3, 2, 4, 9.7, 30, 999]


def samples(count, mean=0.0, deviation=1.0, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return (mean + deviation * torch.randn(count, generator=draw, dtype=torch.float64)).tolist()


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_t_distribution_is_scipys(freedom):
    for t in (0.0, 1e-6, 0.3, 1.0, 2.5, 7.0, 40.0, -3.0):
        assert two_sided_p(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9)
    for level in (0.5, 0.05, 0.05 / 7, 1e-6):
        assert critical_t(level, freedom) == pytest.approx(stats.t.isf(level / 2, freedom), rel=1e-9)


def test_the_values_are_those_of_the_functions_before_scipys():
    """Our own continued fraction and sums, which earlier reports were made with."""
    assert two_sided_p(2.5, 4) == pytest.approx(0.06676654481198815, rel=1e-12)
    assert two_sided_p(3.0, 9.7) == pytest.approx(0.013785186187290226, rel=1e-12)
    assert critical_t(0.05, 2) == pytest.approx(4.302652729750761, rel=1e-12)
    assert range_p(4.0, 10, 18) == pytest.approx(0.19828978535549122, rel=1e-12)
    assert critical_range(0.05, 3, 4) == pytest.approx(5.040255536778952, rel=1e-12)
    assert exceeding(2.0, 30.0, 1) == pytest.approx(0.9999999999999136, rel=1e-12)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("shift", [-1.0, 0.0, 0.4, 3.0])
def test_the_power_of_a_test_is_that_of_the_noncentral_t_distribution(freedom, shift):
    for limit in (0.0, 1.0, stats.t.isf(0.005, freedom)):
        assert exceeding(limit, shift, freedom) == pytest.approx(stats.nct.sf(limit, freedom, shift), abs=1e-6)


@pytest.mark.parametrize("groups", [2, 3, 10, 20])
@pytest.mark.parametrize("freedom", [1, 4, 18, 81])
def test_the_studentised_range_is_scipys(groups, freedom):
    for q in (0.5, 2.0, 4.0, 9.0, 60.0):
        wanted = stats.studentized_range.sf(q, groups, freedom)
        assert range_p(q, groups, freedom) == pytest.approx(wanted, rel=1e-3, abs=1e-9)
    wanted = stats.studentized_range.isf(LEVEL, groups, freedom)
    assert critical_range(LEVEL, groups, freedom) == pytest.approx(wanted, rel=1e-4)


def test_the_range_of_two_means_is_their_t_test():
    for t in (0.5, 2.0, 6.0):
        assert range_p(t * math.sqrt(2), 2, 4) == pytest.approx(two_sided_p(t, 4), rel=1e-4)


@pytest.mark.parametrize("count", [2, 3, 10])
def test_an_interval_is_students(count):
    values = samples(count, 3.0)
    found = estimate(values)
    low, high = stats.t.interval(0.95, count - 1, loc=found.mean, scale=stats.sem(values))
    assert (found.mean - found.half, found.mean + found.half) == (pytest.approx(low), pytest.approx(high))
    assert found.values == tuple(values)


def test_one_value_has_no_interval_and_no_test():
    assert estimate([2.0]).half is None
    for test in (paired_test([2.0], [1.5]), welch_test([2.0], [1.5, 1.6])):
        assert (test.p, test.difference.half) == (None, None)
    assert paired_test([2.0], [1.5]).difference.mean == 0.5


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_paired_test_is_scipys(count):
    a, b = samples(count, 0.5), samples(count, seed=1)
    found, wanted = paired_test(a, b), stats.ttest_rel(a, b)
    assert found.p == pytest.approx(wanted.pvalue, rel=1e-9)
    low, high = wanted.confidence_interval()
    assert found.difference.mean - found.difference.half == pytest.approx(low)
    assert found.difference.mean + found.difference.half == pytest.approx(high)


@pytest.mark.parametrize("counts", [(2, 2), (3, 5), (9, 2)])
def test_welchs_test_is_scipys(counts):
    a, b = samples(counts[0], 0.5, 0.3), samples(counts[1], seed=1)
    found, wanted = welch_test(a, b), stats.ttest_ind(a, b, equal_var=False)
    assert found.p == pytest.approx(wanted.pvalue, rel=1e-9)
    low, high = wanted.confidence_interval()
    assert found.difference.mean - found.difference.half == pytest.approx(low)
    assert found.difference.mean + found.difference.half == pytest.approx(high)


@pytest.mark.parametrize("test", [paired_test, welch_test])
@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_constant_samples_have_no_p_value(test, noise):
    """Two seeds that agree prove nothing about a third one. Errors of rounding are no spread."""
    same, other = test([1.0, 1.0 + noise], [1.0, 1.0]), test([1.5, 1.5 - noise], [1.0, 1.0])
    assert (same.p, same.spread, same.difference.mean, same.difference.half) == (None, 0.0, 0.0, 0.0)
    assert (other.p, other.spread, other.difference.mean, other.difference.half) == (None, 0.0, 0.5, 0.0)
    assert estimate([1.0, 1.0]).half == 0


def test_differences_of_decimal_fractions_are_constant_up_to_rounding():
    assert paired_test([0.1 + 0.3, 0.2 + 0.3, 0.7 + 0.3], [0.1, 0.2, 0.7]).p is None


def test_the_pooled_spread_is_that_of_the_pairs():
    """Its square is the mean over all pairs of arms of the variance of their differences."""
    table = [samples(4, seed=seed, deviation=1 + seed) for seed in range(3)]
    pairs = [paired_test(table[i], table[j]).spread ** 2 for i in range(3) for j in range(i)]
    assert pooled_spread(table) ** 2 == pytest.approx(sum(pairs) / 3)
    moved = [[value + 100 * seed for seed, value in enumerate(row)] for row in table]
    assert pooled_spread(moved) == pytest.approx(pooled_spread(table))
    assert pooled_spread([[1.0, 2.0], [1.5, 2.5], [0.1, 1.1]]) == 0


def test_one_constant_sample_beside_one_that_varies():
    a, b = [0.0, 0.0, 0.0], samples(3, 1.0)
    assert welch_test(a, b).p == pytest.approx(stats.ttest_1samp(b, 0.0).pvalue)


def test_holms_correction_is_the_closed_procedure():
    """A hypothesis is rejected where Bonferroni's test rejects every set of hypotheses that it belongs to."""
    p_values = [0.04, 0.001, 0.03, 0.02, 0.9]
    adjusted = holm(p_values, len(p_values))
    for i, own in enumerate(adjusted):
        sets = [[p for j, p in enumerate(p_values) if mask >> j & 1] for mask in range(32) if mask >> i & 1]
        assert own == pytest.approx(max(min(1.0, len(each) * min(each)) for each in sets))
    assert holm([], 1) == []
    assert holm([0.01, 0.02], 3) == pytest.approx([0.03, 0.04])


def hurdle(t, seeds, level=LEVEL):
    return Hurdle(t, seeds, seeds - 1, 1.0, own_limit(level))


@pytest.mark.parametrize("level", [LEVEL, LEVEL / 4])
@pytest.mark.parametrize("effect", [0.25, 0.5, 2.0])
def test_the_seeds_needed_are_the_fewest_of_that_power(effect, level):
    found = seeds_needed([hurdle(effect * math.sqrt(5), 5, level)]).about
    for seeds, enough in ((found, True), (found - 1, False)):
        if seeds >= 2:
            limit = stats.t.isf(level / 2, seeds - 1)
            assert (stats.nct.sf(limit, seeds - 1, effect * math.sqrt(seeds)) >= POWER) == enough


def test_the_stricter_of_two_tests_decides_the_seeds_needed():
    own, table = hurdle(1.0, 4, 2 * LEVEL / 10), Hurdle(1.0, 4, 27, 9, range_limit(10, LEVEL))
    alone = [seeds_needed([each]).about for each in (own, table)]
    assert seeds_needed([own, table]).about == max(alone)
    assert alone[0] < alone[1]


@pytest.mark.parametrize("seeds", [3, 10])
def test_the_interval_of_the_seeds_is_that_of_the_noncentrality(seeds):
    """At its ends, a statistic beyond the one seen has a probability of 10 %."""
    test = hurdle(2.5, seeds)
    found = seeds_needed([test])
    assert found.low < found.about < found.high
    for share, end in ((0.9, found.low), (0.1, found.high)):
        shifts = [shift / 1000 for shift in range(10_000)]
        shift = next(x for x in shifts if stats.nct.sf(2.5, seeds - 1, x) >= share)
        assert seeds_needed([hurdle(shift, seeds)]).about == pytest.approx(end, abs=1 + end / 100)


def test_the_seeds_needed_have_an_end():
    small = seeds_needed([hurdle(0.05 * math.sqrt(5), 5)])  # (1.96 + 0.84)^2 / 0.05^2 = 3,136
    assert (small.about, small.high) == (None, None)
    assert 2 < small.low < MOST_SEEDS
    none = seeds_needed([hurdle(0.0, 5)])
    assert (none.low, none.about, none.high) == (None, None, None)
