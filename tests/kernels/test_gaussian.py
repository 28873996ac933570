"""Conditional expectations of a Gaussian table: the twin to the bit, and the textbook formula."""

import itertools

import numpy as np
import pytest

from rankfill import kernels
from rankfill.kernels import _native
from rankfill.kernels.reference import gaussian as reference


def table_and_precision(n_columns, seed=0, n_rows=37):
    """A row with nothing known, one with nothing unknown, and rows with any number between."""
    rng = np.random.default_rng(seed + n_columns)
    values = rng.normal(size=(n_rows, n_columns))
    values[rng.random(values.shape) < rng.random((n_rows, 1))] = np.nan
    values[0], values[-1] = np.nan, 1.0
    mixing = rng.normal(size=(n_columns, n_columns))
    return values, np.linalg.inv(mixing @ mixing.T + n_columns * np.eye(n_columns))


@pytest.mark.parametrize("n_columns", [1, 2, 7, 15, 16, 17, 33, 65])
def test_filled_rows_are_the_twins(n_columns, monkeypatch):
    values, precision = table_and_precision(n_columns)
    expected = values.copy()
    expected_covariance = reference.fill_rows(expected, precision)
    for isa, threads in itertools.product(_native.instruction_sets(), (1, 2, 5)):
        monkeypatch.setattr(kernels.gaussian, "instruction_set", lambda isa=isa: isa)
        monkeypatch.setattr(kernels.gaussian, "get_threads", lambda threads=threads: threads)
        ours = kernels.HoledTable(values)
        covariance = ours.fill(precision)
        assert ours.values.tobytes() == expected.tobytes()
        assert covariance.tobytes() == expected_covariance.tobytes()
        ours.fill(precision)  # what a hole held before has no influence
        assert ours.values.tobytes() == expected.tobytes()


def test_expectation_and_covariance_by_the_partition_of_the_covariance_matrix():
    values, precision = table_and_precision(9)
    covariance = np.linalg.inv(precision)
    filled = kernels.HoledTable(values)
    missing = filled.fill(precision)
    expected_missing = np.zeros_like(missing)
    for row, before in zip(filled.values, values, strict=True):
        j, o = np.flatnonzero(np.isnan(before)), np.flatnonzero(~np.isnan(before))
        regression = covariance[np.ix_(j, o)] @ np.linalg.pinv(covariance[np.ix_(o, o)])
        np.testing.assert_allclose(row[j], regression @ before[o], atol=1e-12)
        np.testing.assert_array_equal(row[o], before[o])
        expected_missing[np.ix_(j, j)] += covariance[np.ix_(j, j)] - regression @ covariance[np.ix_(o, j)]
    np.testing.assert_allclose(missing, expected_missing, atol=1e-10)
