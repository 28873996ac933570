"""Bounds of the largest singular value: never below it, and close, with and without the Gram matrix."""

import tracemalloc

import numpy as np
import pytest

from rankfill.kernels import Rows
from rankfill.linalg import Pattern, SparseMatrix, bounds, is_spectral_bound, spectral_bound, start_block


@pytest.fixture(params=["with the Gram matrix", "without"])
def slack(request, monkeypatch):
    """How close a bound has to be; without the Gram matrix for matrices of any size."""
    if request.param == "without":
        monkeypatch.setattr(bounds, "GRAM_LIMIT", 0)
        return 1.5e-4
    return 2e-5


def diagonal(values, n_items):
    n = len(values)
    rows = Rows(np.arange(n + 1), np.arange(n, dtype=np.int32), np.zeros(n, np.float32))
    return SparseMatrix(Pattern.of(rows, n_items), np.asarray(values, dtype=float))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(12, 40), (30, 20), (200, 130), (90, 300), (700, 600)])
def test_bound_is_above_and_close(matrix, shape, seed, slack):
    sparse, dense = matrix(*shape, seed=seed)
    largest = np.linalg.norm(dense, 2)
    assert largest <= spectral_bound(sparse, seed=seed) <= largest * (1 + slack)


def test_bound_of_hard_matrices(hard, slack):
    """Lanczos broke down where singular values are equal, and left a bound of 10⁷ times too much."""
    sparse, dense = hard
    largest = np.linalg.norm(dense, 2)
    for seed in range(3):
        assert largest <= spectral_bound(sparse, seed=seed) <= largest * (1 + slack)


@pytest.mark.parametrize("values", [np.linspace(0.9, 1.0, 600), np.ones(600), np.append(np.zeros(599), 1.0)])
def test_bound_is_close_where_singular_values_lie_side_by_side(values, slack):
    assert 1.0 <= spectral_bound(diagonal(values, 700)) <= 1 + slack


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_bound_holds_where_the_estimate_is_too_low(matrix, monkeypatch, share):
    """The proof by Cholesky must refuse what is less than the largest singular value."""
    monkeypatch.setattr(bounds, "_DENSE_LIMIT", 10)
    honest = bounds.krylov_pairs
    found = []

    def low(*arguments):
        pairs = honest(*arguments)
        found.append(pairs.values[0])
        return pairs._replace(values=share * pairs.values)

    monkeypatch.setattr(bounds, "krylov_pairs", low)
    sparse, dense = matrix(200, 130)
    largest = np.linalg.norm(dense, 2)
    assert largest <= spectral_bound(sparse) <= largest * (1 + 1e-4)
    assert len(found) == (1 if share == 1.0 else bounds._MOST_SEARCHES)


@pytest.mark.parametrize("share", [0.99, 1.0])
def test_bound_without_the_gram_matrix_holds_from_estimates_that_are_too_low(matrix, monkeypatch, share):
    """What the filter does not cover grows, and the growth tells how far off the estimate was."""
    honest = bounds._ritz_value
    monkeypatch.setattr(bounds, "_ritz_value", lambda *arguments: share * honest(*arguments))
    sparse, dense = matrix(300, 200)
    largest = np.linalg.norm(dense, 2)
    lower, upper = bounds._enclose(sparse, 0, lambda lower: (1 + 1e-4) * lower)
    assert lower <= largest <= upper
    assert upper <= largest * (1 + 1e-4 + 0.01 * (1 - share))


def test_filter_is_the_polynomial_of_chebyshev(matrix):
    sparse, dense = matrix(60, 40)
    start = start_block(40, 3)
    values, vectors = np.linalg.eigh(dense.T @ dense)
    for steps in (1, 2, 7):
        at = np.polynomial.Chebyshev.basis(steps)(2 * values / 20.0 - 1)
        expected = vectors @ (at[:, None] * (vectors.T @ start))
        found = bounds._chebyshev(bounds._on_smaller_side(sparse), start, 20.0, steps)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_bound_is_wrong_as_often_as_it_says(monkeypatch):
    """At odds of one to four instead of one to 10⁹, with a single column, on values that hide the largest best."""
    monkeypatch.setattr(bounds, "GRAM_LIMIT", 0)
    monkeypatch.setattr(bounds, "_COLUMNS", 1)
    monkeypatch.setattr(bounds, "_ODDS", 0.2)
    monkeypatch.setattr(bounds, "_FIRST_STEPS", (3,))
    monkeypatch.setattr(bounds, "_MOST_STEPS", 3)
    sparse = diagonal(np.append(np.full(399, 0.2), 1.0), 400)
    wrong = sum(spectral_bound(sparse, seed=seed) < 1.0 for seed in range(300))
    assert 10 < wrong <= 0.2 * 300 + 3 * np.sqrt(300 * 0.2 * 0.8)


def test_seed_changes_the_directions_and_hardly_the_bound(matrix, monkeypatch):
    monkeypatch.setattr(bounds, "GRAM_LIMIT", 0)
    sparse, dense = matrix(300, 200)
    found = [spectral_bound(sparse, seed=seed) for seed in range(6)]
    assert len(set(found)) == 6
    assert found[3] == spectral_bound(sparse, seed=3)
    assert np.ptp(found) <= 1.5e-4 * np.linalg.norm(dense, 2)


def test_what_is_proved_to_be_a_bound_is_one(matrix, slack):
    sparse, dense = matrix(200, 130)
    largest = np.linalg.norm(dense, 2)
    for share in (0.0, 0.5, 1 - 1e-9):
        assert not is_spectral_bound(sparse, share * largest)
    assert is_spectral_bound(sparse, (1 + slack) * largest)
    nothing = SparseMatrix(sparse.pattern, np.zeros(len(sparse.values)))
    assert is_spectral_bound(nothing, 0.0)
    assert not is_spectral_bound(nothing, -1.0)


def test_bound_of_nothing_is_zero_and_sizes_do_not_matter(matrix, slack):
    sparse, dense = matrix()
    assert spectral_bound(SparseMatrix(sparse.pattern, np.zeros(len(sparse.values)))) == 0.0
    for scale in (1e-200, 1e200):
        scaled = SparseMatrix(sparse.pattern, sparse.values * scale)
        assert spectral_bound(scaled) == pytest.approx(scale * np.linalg.norm(dense, 2), rel=slack)


def test_memory_of_a_large_sparse_matrix_is_that_of_some_vectors():
    """The Gram matrix of 6000 rows would take 288 MB; the entries are 15,000."""
    rng = np.random.default_rng(0)
    n, m, each = 6000, 50_000, 5
    columns = np.sort(rng.choice(m, (3000, each)), axis=1).astype(np.int32).ravel()
    indptr = np.repeat(np.arange(0, 3001) * each, 2)[: n + 1]
    sparse = SparseMatrix(Pattern.of(Rows(indptr, columns, np.zeros(len(columns), np.float32)), m), np.ones(15_000))
    tracemalloc.start()
    bound = spectral_bound(sparse)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.sqrt(5) <= bound <= 5 * np.sqrt(5)
    assert peak < 30e6
