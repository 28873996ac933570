"""Factor analysis of a table with holes, against the likelihood of the known entries and exact low rank."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis

from rankfill.imputation import GaussianFactors
from rankfill.imputation.selection import choose_gaussian


def factor_table(n_rows, n_columns, rank, noise, holes, seed=0):
    """Columns of variance near 1; the whole table and the one with holes."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    table += noise * rng.normal(size=table.shape) * rng.uniform(0.3, 1.5, n_columns)
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    return table, np.where(rng.random(table.shape) < holes, np.nan, table)


def log_likelihood(table, mean, covariance):
    """The log-likelihood of the known entries alone, row by row."""
    total = 0.0
    for row in table:
        known = np.flatnonzero(~np.isnan(row))
        if len(known):
            total += multivariate_normal.logpdf(row[known], mean[known], covariance[np.ix_(known, known)])
    return total


def penalised(model, table):
    """What EM with the prior must never lower."""
    covariance = np.linalg.inv(model._precision)
    prior = np.linalg.slogdet(covariance)[1] + np.trace(model._precision)
    return log_likelihood(table, model.mean, covariance) - 0.5 * model.penalty * prior


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_no_pass_lowers_the_penalised_likelihood_of_the_known_entries(rank):
    _, table = factor_table(60, 6, 2, 0.5, 0.3)
    values = [penalised(GaussianFactors(rank, 2.0, passes, 0.0).fit(table), table) for passes in range(1, 12)]
    assert (np.diff(values) >= -1e-9 * abs(values[0])).all(), values


def test_full_rank_ends_at_a_stationary_point_of_the_likelihood():
    _, table = factor_table(80, 4, 2, 0.6, 0.25)
    model = GaussianFactors(4, 1.0, 3000, 1e-13).fit(table)
    best, covariance = penalised(model, table), np.linalg.inv(model._precision)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=(4, 4))
        other = GaussianFactors(4, 1.0)
        other.mean = model.mean + 1e-3 * rng.normal(size=4)
        other._precision = np.linalg.inv(covariance + step + step.T)
        assert penalised(other, table) < best


def test_without_holes_it_is_factor_analysis():
    table, _ = factor_table(400, 8, 2, 0.8, 0.0)
    ours = GaussianFactors(2, 1e-9, 2000, -1.0).fit(table)
    theirs = FactorAnalysis(2, tol=1e-12, max_iter=20000, svd_method="lapack").fit(table)
    np.testing.assert_allclose(np.linalg.inv(ours._precision), theirs.get_covariance(), atol=2e-4)


def test_an_exactly_low_rank_table_is_recovered():
    table, holed = factor_table(120, 20, 3, 0.0, 0.4)
    filled = GaussianFactors(3, 1e-6, 300, 1e-9).fit(holed).fill(holed)
    assert np.abs(filled - table).max() < 2e-2
    known = ~np.isnan(holed)
    np.testing.assert_array_equal(filled[known], holed[known])


def test_held_out_entries_find_a_low_rank_among_few_rows():
    table, holed = factor_table(60, 40, 2, 0.2, 0.4)
    chosen = choose_gaussian(holed, None, None, 0.1, 30, 0.002, 0)
    assert 1 <= chosen.rank <= 8
    holes = np.isnan(holed)
    full = GaussianFactors(40, 3.0).fit(holed).fill(holed)
    assert np.std((chosen.fill(holed) - table)[holes]) < np.std((full - table)[holes])


def test_held_out_entries_find_that_there_is_nothing_to_find():
    table = np.random.default_rng(0).normal(size=(50, 30))
    holed = np.where(np.random.default_rng(1).random(table.shape) < 0.3, np.nan, table)
    filled = choose_gaussian(holed, None, None, 0.1, 30, 0.002, 0).fill(holed)
    holes = np.isnan(holed)
    assert np.sqrt(np.mean((filled - table)[holes] ** 2)) < 1.03 * np.sqrt(np.mean(table[holes] ** 2))


def test_settings_that_are_given_are_kept():
    _, holed = factor_table(60, 8, 2, 0.3, 0.3)
    assert choose_gaussian(holed, 3, None, 0.1, 10, 0.01, 0).rank == 3
    assert choose_gaussian(holed, None, 7.0, 0.1, 10, 0.01, 0).penalty == 7.0
