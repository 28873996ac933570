"""Sparse, low-rank and the sum of both, against dense matrices."""

import numpy as np
import pytest

from rankfill.linalg import LowRank, SparsePlusLowRank, Transposed, balance, orthonormal, start_block


def test_products_are_those_of_the_dense_matrix(matrix, low_rank):
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


def test_transposing_the_matrix_swaps_users_and_items(matrix):
    """On a wide matrix the Gram matrix is that of the users."""
    sparse, dense = matrix(40, 110)
    np.testing.assert_allclose(sparse.gram(), np.tril(dense @ dense.T), atol=1e-11)
    swapped, right, left = Transposed(sparse), start_block(40, 3), start_block(110, 2)
    assert swapped.shape == (110, 40)
    np.testing.assert_allclose(swapped.times(right), dense.T @ right, atol=1e-12)
    np.testing.assert_allclose(swapped.transposed_times(left), dense @ left, atol=1e-12)


def test_balanced_is_the_same_matrix_with_its_singular_values_on_both_sides(low_rank):
    product = low_rank()
    even = balance(product)
    full = product.left @ product.right.T
    np.testing.assert_allclose(even.left @ even.right.T, full, atol=1e-10)
    values = np.linalg.svd(full, compute_uv=False)[:4]
    np.testing.assert_allclose(even.left.T @ even.left, np.diag(values), atol=1e-9)
    np.testing.assert_allclose(even.right.T @ even.right, np.diag(values), atol=1e-9)
    assert even.trace_norm == pytest.approx(values.sum())
    assert product.trace_norm > even.trace_norm
    assert balance(product, least=values[1:3].mean()).rank == 2
    assert balance(LowRank(np.hstack([product.left, product.left]), np.hstack([product.right] * 2))).rank == 4


def test_columns_that_depend_on_others_are_no_obstacle_to_a_basis():
    block = np.hstack([start_block(50, 4), start_block(50, 4) * 1e-3, np.zeros((50, 1)), start_block(50, 1, seed=9)])
    for columns in (slice(0, 4), slice(0, 8), slice(0, 10)):
        basis, triangle = orthonormal(block[:, columns])
        np.testing.assert_allclose(basis @ triangle, block[:, columns], atol=1e-12)
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
