"""The statistics, against SciPy."""

import math

import pytest
import torch
from scipy import stats

from composer.studies.statistics import (
    LEVEL,
    MOST_SEEDS,
    POWER,
    TTest,
    estimate,
    holm,
    paired_test,
    seeds_needed,
    welch_test,
)  # fmt: skip
from composer.studies.student import critical_t, incomplete_beta, power, two_sided_p

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


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 3), (20, 0.5), (500, 0.5), (2.5, 40)])
def test_the_incomplete_beta_function_is_scipys(a, b):
    for x in (0.0, 1e-9, 0.1, 0.5, 0.93, 1.0):
        assert incomplete_beta(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-10)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("shift", [0.0, 0.4, 3.0])
def test_the_power_of_a_test_is_that_of_the_noncentral_t_distribution(freedom, shift):
    limit = stats.t.isf(0.01 / 2, freedom)
    exact = stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift)
    assert power(shift, freedom, 0.01) == pytest.approx(exact, abs=2e-5)


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
def test_constant_samples_are_surely_equal_or_surely_not(test):
    same, other = test([1.0, 1.0], [1.0, 1.0]), test([1.5, 1.5], [1.0, 1.0])
    assert (same.p, same.difference.mean, same.difference.half) == (1.0, 0.0, 0.0)
    assert (other.p, other.difference.mean, other.difference.half) == (0.0, 0.5, 0.0)
    assert seeds_needed(same) is None
    assert estimate([1.0, 1.0]).half == 0


def test_one_constant_sample_beside_one_that_varies():
    a, b = [0.0, 0.0, 0.0], samples(3, 1.0)
    assert welch_test(a, b).p == pytest.approx(stats.ttest_1samp(b, 0.0).pvalue)


def test_holms_correction_is_the_closed_procedure():
    """A hypothesis is rejected where Bonferroni's test rejects every set of hypotheses that it belongs to."""
    p_values = [0.04, 0.001, 0.03, 0.02, 0.9]
    adjusted = holm(p_values)
    for i, own in enumerate(adjusted):
        sets = [[p for j, p in enumerate(p_values) if mask >> j & 1] for mask in range(32) if mask >> i & 1]
        assert own == pytest.approx(max(min(1.0, len(each) * min(each)) for each in sets))
    assert holm([]) == []


def scipy_power(effect, seeds, freedom, level):
    limit, shift = stats.t.isf(level / 2, freedom), effect * math.sqrt(seeds)
    return stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift)


@pytest.mark.parametrize("comparisons", [1, 4])
@pytest.mark.parametrize("mean", [0.25, 0.5, 2.0])
def test_the_seeds_needed_are_the_fewest_of_that_power(mean, comparisons):
    """The spread of paired differences is 1; that of two arms of variances 1 and 4 is sqrt(5)."""
    paired = TTest(estimate([mean]), 0.5, 1.0, 1.0, paired=True)
    apart = TTest(estimate([mean]), 0.5, math.sqrt(5), 25 / 17, paired=False)
    for test in (paired, apart):
        count, level = seeds_needed(test, comparisons), LEVEL / comparisons
        effect = mean / test.spread
        for seeds, enough in ((count, True), (count - 1, False)):
            if seeds >= 2:
                freedom = (seeds - 1) * test.freedom_per_seed
                assert (scipy_power(effect, seeds, freedom, level) >= POWER) == enough


def test_the_seeds_needed_have_an_end():
    small = TTest(estimate([0.05]), 0.9, 1.0, 1.0, paired=True)  # (1.96 + 0.84)^2 / 0.05^2 = 3,136
    none = TTest(estimate([0.0]), 1.0, 1.0, 1.0, paired=True)
    assert seeds_needed(small) is None
    assert seeds_needed(none) is None
    assert MOST_SEEDS == 1000


def test_more_seeds_are_needed_than_could_not_tell():
    a, b = samples(4, 0.5, seed=4), samples(4, seed=5)
    for test in (paired_test(a, b), welch_test(a, b)):
        assert test.p > LEVEL
        assert seeds_needed(test) > 4
