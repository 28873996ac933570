"""Leading singular pairs, approached from below."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from rankfill.linalg.low_rank import orthonormal
from rankfill.linalg.operators import Operator
from rankfill.linalg.tall import Block, beside, combine, tall_gram, tall_times

_DENSE_LIMIT = 64
"""Up to this order a decomposition of the whole matrix is quicker than Lanczos."""
_SPARE, _POWER_STEPS = 16, 30
_LEAST_SQUARE = 1e-10
"""Eigenvalues of a Gram matrix below this share of the largest have lost too many digits for orthogonal vectors."""


class SingularPairs(NamedTuple):
    """A ≈ left · diag(values) · rightᵀ, largest first."""

    left: Block
    values: NDArray[np.float64]
    right: Block


def start_block(n: int, width: int, seed: int | tuple[int, ...] = 0) -> Block:
    """Random directions to start from: n × width independent standard normal numbers, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal((n, width))


def leading_pairs(matrix: Operator, k: int, seed: int = 0, tol: float = 0.0) -> SingularPairs:
    """The k leading singular pairs, by Lanczos.

    Parameters
    ----------
    matrix : Operator
    k : int
        How many pairs; all of them where the smaller side is shorter.
    seed : int, default=0
        Seeds the vector to start from.
    tol : float, default=0.0
        Relative precision of the singular values; 0 is as precise as can be.
    """
    n, m = matrix.shape
    if min(n, m) <= max(_DENSE_LIMIT, 2 * k):
        left, values, right = scipy.linalg.svd(_write_out(matrix), full_matrices=False, check_finite=False)
        return SingularPairs(left[:, :k], values[:k], right[:k].T)
    operator = scipy.sparse.linalg.LinearOperator(
        matrix.shape,
        matvec=lambda x: matrix.times(x.reshape(-1, 1)).ravel(),
        rmatvec=lambda y: matrix.transposed_times(y.reshape(-1, 1)).ravel(),
        dtype=np.float64,
    )
    start = start_block(min(n, m), 1, seed).ravel()
    try:
        left, values, right = scipy.sparse.linalg.svds(operator, k, v0=start, tol=tol)
    except scipy.sparse.linalg.ArpackError:  # singular values too close together to be told apart, or all zero
        near = subspace_iteration(matrix, start_block(m, min(k + _SPARE, n, m), seed), _POWER_STEPS)
        return SingularPairs(near.left[:, :k], near.values[:k], near.right[:, :k])
    order = np.argsort(-values)
    return SingularPairs(left[:, order], values[order], right[order].T)


def subspace_iteration(matrix: Operator, right: Block, steps: int = 1) -> SingularPairs:
    """Approximate pairs by power steps, as many as `right` has columns.

    Parameters
    ----------
    matrix : Operator
    right : ndarray of shape (n_items, width)
        Directions to start from; width is at most the smaller side.
    steps : int, default=1
        Number of power steps. After them the best pairs within the space reached are taken.
    """
    left, _ = orthonormal(matrix.times(right))
    for _ in range(steps - 1):
        right, _ = orthonormal(matrix.transposed_times(left))
        left, _ = orthonormal(matrix.times(right))
    right, small = orthonormal(matrix.transposed_times(left))
    u, values, vt = scipy.linalg.svd(small.T, full_matrices=False, check_finite=False)
    return SingularPairs(tall_times(left, u), values, tall_times(right, vt.T))


def krylov_pairs(matrix: Operator, right: Block, depth: int) -> SingularPairs:
    """The best pairs in a Krylov space: with the same products nearer than power steps.

    Parameters
    ----------
    matrix : Operator
    right : ndarray of shape (n_items, width)
        Directions to start from.
    depth : int
        Number of products with the matrix. The space is spanned by right, AᵀA right, …, (AᵀA)^(depth − 1) right.

    Returns
    -------
    SingularPairs
        At most width · depth of them, fewer where the space is smaller. Those below 1e-5 of the largest are left out:
        they come from squares, which tell no more.
    """
    (n, m), width = matrix.shape, right.shape[1]
    basis, image = np.empty((m, min(depth * width, m))), np.empty((n, min(depth * width, m)))
    found, new = 0, right
    for step in range(depth):
        new = _new_directions(basis[:, :found], new)[:, : basis.shape[1] - found]
        if new.shape[1] == 0:
            break
        here = slice(found, found + new.shape[1])
        basis[:, here], image[:, here] = new, matrix.times(new)
        found = here.stop
        if step + 1 < depth:
            new = matrix.transposed_times(image[:, here])
    basis, image = basis[:, :found], image[:, :found]
    squares, rotation = scipy.linalg.eigh(tall_gram(image, image), check_finite=False)
    kept = squares > _LEAST_SQUARE * squares.max(initial=0.0)
    values, rotation = np.sqrt(squares[kept][::-1]), rotation[:, kept][:, ::-1]
    return SingularPairs(combine(image, rotation / values), values, combine(basis, rotation))


def _new_directions(basis: Block, block: Block) -> Block:
    """An orthonormal basis of what `block` has beside the given one."""
    least = 1e-7 * np.linalg.norm(block, axis=0).max(initial=0.0)
    for _ in range(2):  # twice is enough to be orthogonal
        block = beside(basis, block)
        squares, rotation = scipy.linalg.eigh(tall_gram(block, block), check_finite=False)
        kept = squares > least**2
        block = tall_times(block, rotation[:, kept] / np.sqrt(squares[kept]))
        least = 0.5
    return block


def _write_out(matrix: Operator) -> Block:
    n, m = matrix.shape
    return matrix.times(np.eye(m)) if m <= n else matrix.transposed_times(np.eye(n)).T
