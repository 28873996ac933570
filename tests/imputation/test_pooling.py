"""Rubin's rules by hand, and intervals that hold the truth as often as they say."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.imputation import log_variances, means, pool, regression


def test_the_rules_by_hand():
    pooled = pool([[1.0, 4], [2, 4], [6, 4]], [[0.5, 1], [0.7, 1], [0.6, 1]])
    between, within = 7.0, 0.6
    total = within + 4 / 3 * between
    np.testing.assert_allclose(pooled.estimate, [3, 4])
    np.testing.assert_allclose(pooled.within, [within, 1])
    np.testing.assert_allclose(pooled.between, [between, 0])
    np.testing.assert_allclose(pooled.total, [total, 1])
    np.testing.assert_allclose(pooled.standard_error, np.sqrt([total, 1]))
    relative = 4 / 3 * between / within
    np.testing.assert_allclose(pooled.degrees_of_freedom[0], 2 * (1 + 1 / relative) ** 2)
    assert pooled.degrees_of_freedom[1] == np.inf
    low, high = pooled.interval(0.95)
    assert high[1] - 4 == pytest.approx(1.959964, abs=1e-5)
    assert low[0] + high[0] == pytest.approx(6)


def test_few_rows_leave_fewer_degrees_of_freedom():
    q, u = [[1.0], [2.0], [6.0]], [[0.5], [0.7], [0.6]]
    share = (4 / 3 * 7) / (0.6 + 4 / 3 * 7)
    observed = 11 / 13 * 10 * (1 - share)
    expected = 1 / (share**2 / 2 + 1 / observed)
    np.testing.assert_allclose(pool(q, u, 10).degrees_of_freedom, expected)
    assert pool([[1.0], [1.0]], [[0.5], [0.5]], 10).degrees_of_freedom == pytest.approx(110 / 13)


def test_regression_is_least_squares_with_its_standard_errors():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    found, variances, freedom = regression(target=1)(table)
    inputs = np.column_stack([np.ones(40), table[:, 0], table[:, 2]])
    expected, rest, *_ = np.linalg.lstsq(inputs, table[:, 1])
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(variances, np.diag(np.linalg.inv(inputs.T @ inputs)) * rest[0] / 37)
    assert freedom == 37


MEAN, SPREAD = np.array([1.0, -2, 3]), np.array([1.0, 2, 0.5])
COVARIANCE = np.outer(SPREAD, SPREAD) * [[1, 0.5, 0.6], [0.5, 1, 0.4], [0.6, 0.4, 1]]
SLOPES = np.linalg.solve(COVARIANCE[:2, :2], COVARIANCE[:2, 2])
TRUTH = np.concatenate([MEAN, np.log(SPREAD**2), [MEAN[2] - MEAN[:2] @ SLOPES], SLOPES])


def everything(table):
    parts = [each(table) for each in (means, log_variances, regression(target=2))]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), np.repeat([99, 99, 97], 3)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("by_column", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(share, by_column):
    """Means, variances and coefficients; in 60 tables of 100 rows, holes at random or more often where one is large."""
    held, alone = [], []
    for repetition in range(60):
        rng = np.random.default_rng(repetition)
        whole = rng.multivariate_normal(MEAN, COVARIANCE, 100)
        chances = np.full(whole.shape, share)
        if by_column:
            chances[:, :2] *= 1.5 / (1 + 0.5 * np.exp(-2 * (whole[:, 2:] - MEAN[2])))
            chances[:, 2] = 0
        table = np.where(rng.random(whole.shape) < chances, np.nan, whole)
        imputer = rf.LowRankImputer(passes=10)
        low, high = rf.multiple_imputation(table, 5, everything, imputer=imputer, seed=repetition).interval(0.9)
        held.append((low <= TRUTH) & (high >= TRUTH))
        one = everything(rf.LowRankImputer(rank=3, penalty=1.0).fit_transform(table))
        low, high = pool([one[0]] * 2, [one[1]] * 2).interval(0.9)
        alone.append((low <= TRUTH) & (high >= TRUTH))
    assert 0.85 <= np.mean(held) <= 0.95
    assert np.mean(held, axis=0).min() > 0.75
    assert np.mean(alone) < np.mean(held) - 0.02  # a table filled once and taken for whole


def test_without_holes_nothing_is_added():
    table = np.random.default_rng(0).normal(size=(30, 2))
    pooled = rf.multiple_imputation(table, 3)
    np.testing.assert_allclose(pooled.estimate, table.mean(axis=0))
    np.testing.assert_allclose(pooled.total, table.var(axis=0, ddof=1) / 30)
    assert (pooled.missing_information == 0).all()


def test_bad_input_is_refused_in_words():
    table = [[1.0, 2], [2, np.nan], [3, 5], [4, 4]]
    with pytest.raises(ValueError, match="m must be"):
        rf.multiple_imputation(table, 1)
    with pytest.raises(TypeError, match="estimator must return estimates, their variances"):
        rf.multiple_imputation(table, 2, lambda whole: whole.mean())
    with pytest.raises(ValueError, match="same two or more tables"):
        pool([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="finite and not negative"):
        pool([[1.0], [2.0]], [[1.0], [-1.0]])
    with pytest.raises(ValueError, match="coverage must be above 0 and below 1, found 95"):
        pool([[1.0], [2.0]], [[1.0], [1.0]]).interval(95)
