"""Draws of holes and of parameters beside the distributions that they come from."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.imputation.gaussian import GaussianFactors
from rankfill.imputation.posterior import Draw, _draw_factors, _draw_full


def test_holes_are_drawn_from_the_conditional_gaussian():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    covariance, mean = root @ root.T + np.eye(4), np.array([1.0, -2, 0, 3])
    row = np.array([2.0, np.nan, -1, np.nan])
    drawn = Draw(mean, covariance, np.zeros((4, 0)), np.zeros(4)).holes(np.tile(row, (40_000, 1)), rng)
    o, h = [0, 2], [1, 3]
    gain = covariance[np.ix_(h, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
    expected = covariance[np.ix_(h, h)] - gain @ covariance[np.ix_(o, h)]
    assert (drawn[:, o] == row[o]).all()
    np.testing.assert_allclose(drawn[:, h].mean(axis=0), mean[h] + gain @ (row - mean)[o], atol=0.04)
    np.testing.assert_allclose(np.cov(drawn[:, h].T), expected, atol=0.04 * np.abs(expected).max())


def test_parameters_of_a_whole_table_have_the_moments_of_their_posterior():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)) + [1, 2, 3]
    draws = [_draw_full(table, 2.0, rng) for _ in range(4000)]
    covariances, means = np.array([each.covariance for each in draws]), np.array([each.mean for each in draws])
    expected = (30 * np.cov(table.T, bias=True) + 2 * np.eye(3)) / (30 - 1 + 2 - 3 - 1)
    np.testing.assert_allclose(covariances.mean(axis=0), expected, rtol=0.05, atol=0.05)
    np.testing.assert_allclose(means.mean(axis=0), table.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(np.cov(means.T), expected / 30, rtol=0.15, atol=0.01)


def test_draws_of_factors_keep_planted_parameters():
    """From many rows the posterior is narrow: it must lie where the table comes from."""
    rng = np.random.default_rng(2)
    loadings, noise = rng.normal(size=(6, 2)), np.linspace(0.3, 1, 6)
    truth = loadings @ loadings.T + np.diag(noise)
    table = rng.multivariate_normal(np.arange(6), truth, 4000)
    drawn = Draw(table.mean(axis=0), truth, loadings, noise)
    kept = []
    for _ in range(150):
        drawn = _draw_factors(table, drawn, 1.0, rng)
        kept.append(drawn.covariance)
    np.testing.assert_allclose(np.mean(kept, axis=0), np.cov(table.T), atol=0.03 * np.abs(truth).max())
    assert (drawn.covariance == drawn.loadings @ drawn.loadings.T + np.diag(drawn.noise)).all()


@pytest.mark.parametrize("rank", [None, 0, 1])
def test_draws_depend_on_the_seed_alone_and_keep_what_is_known(rank):
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    table = np.where(rng.random(whole.shape) < 0.3, np.nan, whole)
    table[5] = np.nan
    one, same, other = (
        rf.LowRankImputer(sample_posterior=True, rank=rank, seed=seed).fit_transform(table) for seed in (0, 0, 1)
    )
    known = ~np.isnan(table)
    assert one.tobytes() == same.tobytes()
    assert (one[known] == whole[known]).all()
    assert (one[~known] != other[~known]).all()
    assert np.isfinite(one).all()


def test_draws_go_on_where_there_are_more_columns_than_rows():
    rng = np.random.default_rng(4)
    table = np.where(rng.random((8, 20)) < 0.2, np.nan, rng.normal(size=(8, 20)))
    assert np.isfinite(rf.LowRankImputer(sample_posterior=True).fit_transform(table)).all()
    fitted = GaussianFactors(20, 1.0).fit(table)
    assert fitted.factors()[0].shape == (20, 0)


def test_draws_need_factor_analysis():
    with pytest.raises(ValueError, match=r"sample_posterior=True draws from factor analysis.*leave one out"):
        rf.LowRankImputer(rf.ALS(), sample_posterior=True).fit([[1.0, 2.0], [2.0, np.nan], [3.0, 4.0]])
