"""Leading singular pairs against the decomposition of the dense matrix."""

import numpy as np
import pytest

from rankfill.linalg import SparsePlusLowRank, krylov_pairs, leading_pairs, start_block, subspace_iteration


def assert_pairs(pairs, dense):
    """Orthonormal on both sides, and left · values is the image of right."""
    k, size = len(pairs.values), np.abs(dense).max(initial=1.0)
    np.testing.assert_allclose(pairs.left.T @ pairs.left, np.eye(k), atol=1e-6)
    np.testing.assert_allclose(pairs.right.T @ pairs.right, np.eye(k), atol=1e-8)
    assert (np.diff(pairs.values) <= 1e-12 * size).all()
    np.testing.assert_allclose((pairs.left * (dense @ pairs.right)).sum(axis=0), pairs.values, atol=1e-8 * size)


@pytest.mark.parametrize("k", [1, 5, 60])
def test_leading_pairs_are_those_of_the_dense_decomposition(matrix, k):
    sparse, dense = matrix(200, 130)
    pairs = leading_pairs(sparse, k)
    expected = np.linalg.svd(dense, compute_uv=False)[:k]
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-10)
    np.testing.assert_allclose(dense @ pairs.right, pairs.left * pairs.values, atol=1e-8)
    np.testing.assert_array_equal(pairs.values, leading_pairs(sparse, k).values)


@pytest.mark.parametrize("k", [1, 5])
def test_leading_pairs_of_hard_matrices(hard, k):
    sparse, dense = hard
    expected = np.linalg.svd(dense, compute_uv=False)[:k]
    pairs = leading_pairs(sparse, k)
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-9, atol=1e-9)
    assert_pairs(pairs, dense)


def test_subspace_iteration_of_hard_matrices(hard):
    sparse, dense = hard
    width = min(4, *dense.shape)
    pairs = subspace_iteration(sparse, start_block(dense.shape[1], width), 4)
    assert len(pairs.values) == width
    exact = np.linalg.svd(dense, compute_uv=False)[:width]
    assert (pairs.values <= exact * (1 + 1e-9) + 1e-9).all()
    assert pairs.values[0] >= 0.9 * exact[0]
    assert_pairs(pairs, dense)


def test_krylov_pairs_of_hard_matrices(hard):
    """Where singular values are equal the space ends early; what rounding adds to it is not a pair."""
    sparse, dense = hard
    pairs = krylov_pairs(sparse, start_block(dense.shape[1], min(4, *dense.shape)), 4)
    exact = np.linalg.svd(dense, compute_uv=False)
    assert (pairs.values <= exact[: len(pairs.values)] * (1 + 1e-9)).all()
    assert pairs.values.max(initial=0.0) >= 0.98 * exact[0]
    assert_pairs(pairs, dense)


def test_subspace_iteration_comes_near_in_few_steps_and_nearer_from_where_it_was(matrix, low_rank):
    sparse, dense = matrix()
    product = low_rank(90, 70, 6)
    both, dense = SparsePlusLowRank(sparse, product), dense + product.left @ product.right.T
    expected = np.linalg.svd(dense, compute_uv=False)[:6]
    first = subspace_iteration(both, start_block(70, 12), 2)
    second = subspace_iteration(both, first.right, 3)
    errors = [np.abs(pairs.values[:6] - expected).max() for pairs in (first, second)]
    assert 1e-6 < errors[0] < 0.1 * expected[0]
    assert errors[1] < 0.1 * errors[0]
    assert_pairs(second, dense)


@pytest.mark.parametrize("seed", range(5))
def test_krylov_pairs_are_nearer_than_power_steps_with_the_same_products(matrix, seed):
    sparse, dense = matrix(300, 200, seed=seed)
    largest = np.linalg.norm(dense, 2)
    start = start_block(200, 4, seed)
    power, krylov = subspace_iteration(sparse, start, 8), krylov_pairs(sparse, start, 8)
    assert largest - krylov.values[0] < 0.3 * (largest - power.values[0])
    assert krylov.values[0] <= largest * (1 + 1e-12)
    assert len(krylov.values) == 32
    assert_pairs(krylov, dense)
    np.testing.assert_allclose(dense @ krylov.right, krylov.left * krylov.values, atol=1e-10)


def test_krylov_pairs_end_where_the_space_does(matrix):
    sparse, dense = matrix(30, 20)
    pairs = krylov_pairs(sparse, start_block(20, 8), 10)
    exact = np.linalg.svd(dense, compute_uv=False)
    exact = exact[exact > 1e-5 * exact[0]]
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-8)
    assert len(krylov_pairs(sparse, np.zeros((20, 3)), 2).values) == 0
    assert len(krylov_pairs(sparse, np.zeros((20, 0)), 2).values) == 0
