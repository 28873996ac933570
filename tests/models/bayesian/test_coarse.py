"""Systems of links without their leading directions: the same solution, in fewer steps."""

import numpy as np
import pytest
import scipy.sparse

from rankfill.linalg.blas import one_blas_thread
from rankfill.models.bayesian import links
from rankfill.models.bayesian.coarse import Coarse
from rankfill.models.bayesian.links import Block, Links


def popular(n_rows=300, n_features=120):
    """A few features of nearly all rows, and many of few rows each."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((n_rows, n_features)) < np.geomspace(0.9, 0.02, n_features)).astype(float)
    return matrix / np.sqrt(np.maximum(matrix.sum(axis=1, keepdims=True), 1))


def solved(matrix, monkeypatch, tolerance):
    """A random right-hand side, the solution in double precision, that of `Links`, and how many products it took."""
    monkeypatch.setattr(links, "TOLERANCE", tolerance)
    each, taken = Links([Block(scipy.sparse.csr_array(matrix), np.zeros(matrix.shape[1]))], 16), []
    each.strengths[:] = 0.3
    plain = Links._normal
    monkeypatch.setattr(Links, "_normal", lambda self, block: taken.append(1) or plain(self, block))
    sides = np.random.default_rng(1).normal(size=(matrix.shape[1], 16)).astype(np.float32)
    with one_blas_thread():
        each._solve(sides)
    return sides, np.linalg.solve(matrix.T @ matrix + 0.3 * np.eye(matrix.shape[1]), sides), each.weights, len(taken)


@pytest.mark.parametrize("n_features", [1, 5, 120])
def test_the_solution_is_that_of_the_dense_system(monkeypatch, n_features):
    _, expected, found, _ = solved(popular(n_features=n_features), monkeypatch, 1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_fewer_steps_are_taken_than_without(monkeypatch):
    found = solved(popular(), monkeypatch, 1e-3)
    monkeypatch.setattr("rankfill.models.bayesian.coarse._MOST", 0)
    without = solved(popular(), monkeypatch, 1e-3)
    np.testing.assert_allclose(found[2], without[2], atol=0.02)
    assert found[3] < 0.8 * without[3]


def test_a_residual_is_made_orthogonal_and_a_direction_conjugate():
    matrix = popular()
    normal = matrix.T @ matrix
    coarse = Coarse(lambda block: (normal @ block).astype(np.float32), np.diag(normal))
    ridge = np.full((120, 1), 0.5, np.float32)
    coarse.prepare(ridge)
    sides = np.random.default_rng(0).normal(size=(120, 16)).astype(np.float32)
    weights, residual = np.zeros_like(sides), sides.copy()
    coarse.take_out(weights, residual)
    system = normal + 0.5 * np.eye(120)
    np.testing.assert_allclose(residual, sides - system @ weights, atol=1e-4)
    assert np.abs(coarse._basis.T @ residual).max() < 1e-4
    assert np.abs(coarse._basis.T @ system @ coarse.conjugate(sides.copy())).max() < 1e-4
