"""Leading singular pairs, and a bound from above of the largest singular value.

Lanczos and subspace iteration approach singular values from below. A certificate needs a bound from above:
`spectral_bound` gives one, proved by a Cholesky factorisation of c²I − AᵀA where the smaller side fits in memory.
Elsewhere it is that of Kuczyński and Woźniakowski (SIAM J. Matrix Anal. 1992, theorem 4.2): after k steps of Lanczos
from a start that is uniform on the sphere, the largest eigenvalue of AᵀA (order n) is at most θ/(1 − ε) with
probability 1 − 1.648 √n e^{−√ε (2k − 1)}, θ the largest Ritz value; ε is taken such that this fails once in 10⁹.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from rankfill.linalg.low_rank import orthonormal
from rankfill.linalg.operators import Operator, SparseMatrix
from rankfill.linalg.tall import Block, beside, tall_gram, tall_times

GRAM_LIMIT = 8000
"""The longest smaller side, in rows, whose Gram matrix is written out: half a gigabyte."""

_DENSE_LIMIT, _DENSE_GRAM_LIMIT = 64, 512
"""Up to these orders decompositions of whole matrices are quicker than Lanczos."""
_LANCZOS_STEPS = 600
_SPARE, _POWER_STEPS = 16, 30
_ODDS = 1e-9
_WIDTH, _DEPTH, _MOST_SEARCHES = 16, 16, 20
"""Of the searches for σ₁ between attempts to prove it; each starts where the one before ended."""


class SingularPairs(NamedTuple):
    """A ≈ left · diag(values) · rightᵀ, largest first."""

    left: Block
    values: NDArray[np.float64]
    right: Block


def start_block(n: int, width: int, seed: int = 0) -> Block:
    """Random directions to start from, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal((n, width))


def leading_pairs(matrix: Operator, k: int, seed: int = 0, tol: float = 0.0) -> SingularPairs:
    """The k leading pairs by Lanczos; fewer where the matrix has fewer. `tol` is relative, 0 all there is."""
    n, m = matrix.shape
    if min(n, m) <= max(_DENSE_LIMIT, 2 * k):
        left, values, right = scipy.linalg.svd(_written_out(matrix), full_matrices=False, check_finite=False)
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
    except scipy.sparse.linalg.ArpackNoConvergence:  # singular values too close together to be told apart
        near = subspace_iteration(matrix, start_block(m, min(k + _SPARE, n, m), seed), _POWER_STEPS)
        return SingularPairs(near.left[:, :k], near.values[:k], near.right[:, :k])
    order = np.argsort(-values)
    return SingularPairs(left[:, order], values[order], right[order].T)


def subspace_iteration(matrix: Operator, right: Block, steps: int = 1) -> SingularPairs:
    """As many approximate pairs as `right` has columns: power steps from there, then the best within that space."""
    left, _ = orthonormal(matrix.times(right))
    for _ in range(steps - 1):
        right, _ = orthonormal(matrix.transposed_times(left))
        left, _ = orthonormal(matrix.times(right))
    right, small = orthonormal(matrix.transposed_times(left))
    u, values, vt = scipy.linalg.svd(small.T, full_matrices=False, check_finite=False)
    return SingularPairs(tall_times(left, u), values, tall_times(right, vt.T))


def krylov_pairs(matrix: Operator, right: Block, depth: int) -> SingularPairs:
    """The best pairs in the space of A right, A Aᵀ A right, …: with the same products nearer than power steps."""
    basis, new = np.zeros((len(right), 0)), right
    images = []
    for _ in range(depth):
        new = _new_directions(basis, new)
        if new.shape[1] == 0:
            break
        basis = np.hstack([basis, new])
        images.append(matrix.times(new))
        new = matrix.transposed_times(images[-1])
    image = np.hstack([np.zeros((matrix.shape[0], 0)), *images])
    squares, rotation = scipy.linalg.eigh(tall_gram(image, image), check_finite=False)
    kept = squares > np.finfo(float).eps * squares.max(initial=0.0)
    values, rotation = np.sqrt(squares[kept][::-1]), rotation[:, kept][:, ::-1]
    return SingularPairs(tall_times(image, rotation / values), values, tall_times(basis, rotation))


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


def spectral_bound(matrix: SparseMatrix, seed: int = 0, slack: float = 1e-5) -> float:
    """A number that σ₁ does not exceed. Where the Gram matrix fits it is above σ₁ by a share of `slack` at most."""
    scale = float(np.abs(matrix.values).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    unit = SparseMatrix(matrix.pattern, matrix.values / scale)  # so that squares neither overflow nor vanish
    if min(unit.shape) > GRAM_LIMIT:
        return scale * _probable_bound(unit, seed)
    gram = unit.gram()
    rounding = _rounding(gram)
    proved = _largest_eigenvalue if len(gram) <= _DENSE_GRAM_LIMIT else partial(_proved_square, unit, slack, seed)
    return scale * math.sqrt(proved(gram) + rounding)


def is_spectral_bound(matrix: SparseMatrix, bound: float, seed: int = 0) -> bool:
    """Whether it is proved that σ₁ does not exceed `bound`: quicker than to look for a good bound."""
    scale = float(np.abs(matrix.values).max(initial=0.0))
    if scale == 0.0 or bound <= 0.0:
        return scale == 0.0 <= bound
    unit = SparseMatrix(matrix.pattern, matrix.values / scale)
    if min(unit.shape) > GRAM_LIMIT:
        return scale * _probable_bound(unit, seed) <= bound
    gram = unit.gram()
    return _is_bound(gram, (bound / scale) ** 2 - _rounding(gram))


def _rounding(gram: NDArray[np.float64]) -> float:
    """How far eigenvalues of the Gram matrix, or a proof about them, can be off."""
    return 4 * len(gram) * np.finfo(float).eps * float(np.trace(gram))


def _largest_eigenvalue(gram: NDArray[np.float64]) -> float:
    last = len(gram) - 1
    return float(scipy.linalg.eigvalsh(gram, subset_by_index=[last, last])[0])


def _proved_square(matrix: SparseMatrix, slack: float, seed: int, gram: NDArray[np.float64]) -> float:
    """(1 + slack) times an estimate of σ₁ from below, squared, once that is proved to be enough."""
    right = start_block(matrix.shape[1], _WIDTH, seed)
    for _ in range(_MOST_SEARCHES):
        pairs = krylov_pairs(matrix, right[:, :_WIDTH], _DEPTH)
        square = ((1 + slack) * float(pairs.values[0])) ** 2
        if _is_bound(gram, square):
            return square
        right, gram = pairs.right, matrix.gram()
    return _largest_eigenvalue(gram)


def _is_bound(gram: NDArray[np.float64], bound: float) -> bool:
    """Whether bound · I − gram is positive definite; overwrites the Gram matrix."""
    np.negative(gram, out=gram)
    gram.flat[:: len(gram) + 1] += bound
    return bool(scipy.linalg.lapack.dpotrf(gram.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


def _probable_bound(matrix: Operator, seed: int) -> float:
    transpose = matrix.shape[1] > matrix.shape[0]
    first, second = matrix.times, matrix.transposed_times
    if transpose:
        first, second = second, first
    order = min(matrix.shape)
    steps = min(_LANCZOS_STEPS, order)
    basis = np.zeros((steps, order))
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    vector = start_block(order, 1, seed).ravel()
    for k in range(steps):
        basis[k] = vector / np.linalg.norm(vector)
        vector = second(first(basis[k].reshape(-1, 1))).ravel()
        diagonal[k] = basis[k] @ vector
        for _ in range(2):  # twice is enough to stay orthogonal
            vector -= basis[: k + 1].T @ (basis[: k + 1] @ vector)
        beside[k] = np.linalg.norm(vector)
        if beside[k] <= np.finfo(float).eps * diagonal[0]:
            steps = k + 1
            break
    ritz = scipy.linalg.eigvalsh_tridiagonal(diagonal[:steps], beside[: steps - 1])[-1]
    root = math.log(1.648 * math.sqrt(order) / _ODDS) / (2 * steps - 1)
    return math.sqrt(float(ritz) / max(1 - root**2, np.finfo(float).eps))


def _written_out(matrix: Operator) -> Block:
    n, m = matrix.shape
    return matrix.times(np.eye(m)) if m <= n else matrix.transposed_times(np.eye(n)).T
