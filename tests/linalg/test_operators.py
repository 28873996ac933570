"""Sparse, low-rank and the sum of both, against dense matrices."""

import numpy as np
import pytest

from rankfill.kernels import Rows
from rankfill.linalg import (
    LowRank,
    Pattern,
    SparseMatrix,
    SparsePlusLowRank,
    balanced,
    is_spectral_bound,
    krylov_pairs,
    leading_pairs,
    orthonormal,
    singular,
    spectral_bound,
    start_block,
    subspace_iteration,
)


def matrix(n=90, m=70, density=0.2, seed=0):
    rng = np.random.default_rng(seed)
    filled = rng.random((n, m)) < density
    filled[3], filled[:, 5] = False, False
    values = rng.standard_normal(int(filled.sum()))
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    columns = np.nonzero(filled)[1].astype(np.int32)
    dense = np.zeros((n, m))
    dense[filled] = values
    pattern = Pattern.of(Rows(indptr, columns, np.zeros(len(values), np.float32)), m)
    return SparseMatrix(pattern, values), dense


def low_rank(n=90, m=70, rank=4):
    return LowRank(start_block(n, rank, seed=1), start_block(m, rank, seed=2))


def test_products_are_those_of_the_dense_matrix():
    sparse, dense = matrix()
    product = low_rank()
    both = SparsePlusLowRank(sparse, product)
    right, left = start_block(70, 9), start_block(90, 9)
    np.testing.assert_allclose(sparse.times(right), dense @ right, atol=1e-12)
    np.testing.assert_allclose(sparse.transposed_times(left), dense.T @ left, atol=1e-12)
    full = dense + product.left @ product.right.T
    np.testing.assert_allclose(both.times(right), full @ right, atol=1e-11)
    np.testing.assert_allclose(both.transposed_times(left), full.T @ left, atol=1e-11)
    np.testing.assert_allclose(sparse.gram(), np.tril(dense.T @ dense), atol=1e-11)
    entries = sparse.pattern.entries(*product)
    np.testing.assert_allclose(entries, (product.left @ product.right.T)[dense != 0], atol=1e-12)


def test_transposing_the_matrix_swaps_users_and_items():
    """On a wide matrix the Gram matrix is that of the users."""
    sparse, dense = matrix(40, 110)
    np.testing.assert_allclose(sparse.gram(), np.tril(dense @ dense.T), atol=1e-11)
    assert spectral_bound(sparse) >= np.linalg.norm(dense, 2)


@pytest.mark.parametrize("k", [1, 5, 60])
def test_leading_pairs_are_those_of_the_dense_decomposition(k):
    sparse, dense = matrix(200, 130)
    pairs = leading_pairs(sparse, k)
    expected = np.linalg.svd(dense, compute_uv=False)[:k]
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-10)
    np.testing.assert_allclose(dense @ pairs.right, pairs.left * pairs.values, atol=1e-8)
    np.testing.assert_array_equal(pairs.values, leading_pairs(sparse, k).values)


def test_subspace_iteration_comes_near_in_few_steps_and_nearer_from_where_it_was():
    product = low_rank(90, 70, 6)
    both = SparsePlusLowRank(matrix()[0], product)
    dense = matrix()[1] + product.left @ product.right.T
    expected = np.linalg.svd(dense, compute_uv=False)[:6]
    first = subspace_iteration(both, start_block(70, 12), 2)
    second = subspace_iteration(both, first.right, 3)
    errors = [np.abs(pairs.values[:6] - expected).max() for pairs in (first, second)]
    assert errors[1] < 0.1 * errors[0] or errors[1] < 1e-10
    np.testing.assert_allclose(second.left.T @ second.left, np.eye(12), atol=1e-10)


def test_balanced_is_the_same_matrix_with_its_singular_values_on_both_sides():
    product = low_rank()
    even = balanced(product)
    full = product.left @ product.right.T
    np.testing.assert_allclose(even.left @ even.right.T, full, atol=1e-10)
    values = np.linalg.svd(full, compute_uv=False)[:4]
    np.testing.assert_allclose(even.left.T @ even.left, np.diag(values), atol=1e-9)
    np.testing.assert_allclose(even.right.T @ even.right, np.diag(values), atol=1e-9)
    assert even.trace_norm == pytest.approx(values.sum())
    assert product.trace_norm > even.trace_norm
    assert balanced(product, least=values[2]).rank == 2
    assert balanced(LowRank(np.hstack([product.left, product.left]), np.hstack([product.right] * 2))).rank == 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(30, 20), (200, 130), (90, 300)])
def test_spectral_bound_is_above_and_close(shape, seed):
    sparse, dense = matrix(*shape, seed=seed)
    largest = np.linalg.norm(dense, 2)
    assert largest <= spectral_bound(sparse) <= largest * (1 + 1e-4)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_spectral_bound_holds_where_the_estimate_is_too_low(monkeypatch, share):
    """The proof by Cholesky must refuse what is less than the largest singular value."""
    monkeypatch.setattr(singular, "_DENSE_GRAM_LIMIT", 10)
    honest = singular.krylov_pairs
    found = []

    def low(*arguments):
        pairs = honest(*arguments)
        found.append(pairs.values[0])
        return pairs._replace(values=share * pairs.values)

    monkeypatch.setattr(singular, "krylov_pairs", low)
    sparse, dense = matrix(200, 130)
    largest = np.linalg.norm(dense, 2)
    assert largest <= spectral_bound(sparse) <= largest * (1 + 1e-4)
    assert len(found) == (1 if share == 1.0 else singular._MOST_SEARCHES)


def test_spectral_bound_is_close_where_singular_values_lie_side_by_side():
    values = np.linspace(0.9, 1.0, 600)
    pattern = Pattern.of(Rows(np.arange(601), np.arange(600, dtype=np.int32), np.zeros(600, np.float32)), 700)
    assert 1.0 <= spectral_bound(SparseMatrix(pattern, values)) <= 1 + 1e-4


def test_spectral_bound_without_a_gram_matrix_is_above_too(monkeypatch):
    monkeypatch.setattr(singular, "GRAM_LIMIT", 10)
    for seed in range(5):
        for shape in ((200, 130), (90, 300), (12, 40)):
            sparse, dense = matrix(*shape, seed=seed)
            largest = np.linalg.norm(dense, 2)
            assert largest <= spectral_bound(sparse, seed=seed) < 1.2 * largest or shape == (12, 40)


@pytest.mark.parametrize("limit", [10, 8000])
def test_what_is_proved_to_be_a_bound_is_one(monkeypatch, limit):
    monkeypatch.setattr(singular, "GRAM_LIMIT", limit)
    sparse, dense = matrix(200, 130)
    largest = np.linalg.norm(dense, 2)
    for share in (0.0, 0.5, 1 - 1e-9):
        assert not is_spectral_bound(sparse, share * largest)
    assert is_spectral_bound(sparse, (1.2 if limit == 10 else 1 + 1e-6) * largest)
    nothing = SparseMatrix(sparse.pattern, np.zeros(len(sparse.values)))
    assert is_spectral_bound(nothing, 0.0)
    assert not is_spectral_bound(nothing, -1.0)


def test_krylov_pairs_are_nearer_than_power_steps_with_the_same_products():
    sparse, dense = matrix(300, 200)
    largest = np.linalg.norm(dense, 2)
    power, krylov = subspace_iteration(sparse, start_block(200, 4), 6), krylov_pairs(sparse, start_block(200, 4), 6)
    assert largest - krylov.values[0] < 0.1 * (largest - power.values[0])
    assert krylov.values[0] <= largest * (1 + 1e-12)
    np.testing.assert_allclose(krylov.right.T @ krylov.right, np.eye(24), atol=1e-10)
    np.testing.assert_allclose(dense @ krylov.right, krylov.left * krylov.values, atol=1e-10)


def test_krylov_pairs_end_where_the_space_does():
    sparse, dense = matrix(30, 20)
    pairs = krylov_pairs(sparse, start_block(20, 8), 10)
    exact = np.linalg.svd(dense, compute_uv=False)
    np.testing.assert_allclose(pairs.values[:15], exact[:15], rtol=1e-8)
    assert len(pairs.values) <= 20
    assert len(krylov_pairs(sparse, np.zeros((20, 3)), 2).values) == 0


def test_columns_that_depend_on_others_are_no_obstacle_to_a_basis():
    block = np.hstack([start_block(50, 4), start_block(50, 4) * 1e-3, np.zeros((50, 1)), start_block(50, 1, seed=9)])
    for columns in (slice(0, 4), slice(0, 8), slice(0, 10)):
        basis, triangle = orthonormal(block[:, columns])
        np.testing.assert_allclose(basis @ triangle, block[:, columns], atol=1e-12)
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)


def test_spectral_bound_of_nothing_is_zero_and_sizes_do_not_matter():
    sparse, dense = matrix()
    assert spectral_bound(SparseMatrix(sparse.pattern, np.zeros(len(sparse.values)))) == 0.0
    for scale in (1e-200, 1e200):
        scaled = SparseMatrix(sparse.pattern, sparse.values * scale)
        assert spectral_bound(scaled) == pytest.approx(scale * np.linalg.norm(dense, 2), rel=1e-4)
