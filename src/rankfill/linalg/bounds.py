"""Bounds from above of the largest singular value.

Lanczos and subspace iteration approach singular values from below. A certificate needs a bound from above. Let M be
A Aᵀ or Aᵀ A, whichever is smaller, of order n and with largest eigenvalue λ₁ = σ₁².

**Small**: where M fits in memory, c is a bound of λ₁ if c I − M has a Cholesky factorisation. That is a proof.

**Large**: M is never formed. X has a few columns of independent standard normal numbers, and T_k is the polynomial of
Chebyshev, |T_k| ≤ 1 on [−1, 1]. For any c ≤ λ₁, with v₁ the leading eigenvector,

    ‖T_k(2 M/c − I) X‖_F ≥ T_k(2 λ₁/c − 1) ‖Xᵀ v₁‖,

and ‖Xᵀ v₁‖² has the distribution of χ². So λ₁ ≤ c (1 + cosh(arcosh(‖T_k X‖_F/q)/k))/2, unless ‖Xᵀ v₁‖ < q, which
happens once in 10⁹: all columns would have to be nearly orthogonal to v₁. This holds for every c and k at once, as the
event concerns X alone, and it needs no orthogonal basis: three blocks of vectors are all that is kept. The excess over
σ₁ falls as 1/k². From one column it is the bound of Kuczyński and Woźniakowski (SIAM J. Matrix Anal. 1992); several
columns make a small ‖Xᵀ v₁‖ so much less likely that a third of the steps is enough.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.special
from numpy.typing import NDArray

from rankfill.linalg.low_rank import orthonormal
from rankfill.linalg.operators import Operator, SparseMatrix, Transposed
from rankfill.linalg.singular import krylov_pairs, start_block
from rankfill.linalg.tall import Block, tall_gram

GRAM_LIMIT = 8000
"""The largest order of M that is written out: half a gigabyte."""
_ALWAYS_FITS, _BYTES_PER_ENTRY = 1500, 128
"""M is written out up to this order, and beyond it where it takes no more than so much per entry, row and column."""
_DENSE_LIMIT = 512
"""Up to this order the eigenvalues of M are quicker than a search."""

_WIDTH, _DEPTH, _MOST_SEARCHES = 16, 16, 20
"""The size and number of the searches for σ₁ between attempts to prove it. Each starts where the one before ended."""

_COLUMNS, _ODDS = 8, 1e-9
_FIRST_STEPS, _MOST_STEPS = (8, 32, 96), 1000
_SLACK = 1e-4
"""The share by which a bound without M may exceed σ₁. The number of steps grows with one over its square root."""
_STREAM = 0x5EED
"""Keeps the columns of X apart from the starts of models that have the same seed."""


def spectral_bound(matrix: SparseMatrix, seed: int = 0, slack: float = 1e-5) -> float:
    """A number that the largest singular value does not exceed.

    Parameters
    ----------
    matrix : SparseMatrix
    seed : int, default=0
        Seeds the random directions; the number depends on it within `slack`.
    slack : float, default=1e-5
        How far above σ₁ the number may be, relative to σ₁. Where the Gram matrix of the smaller side does not fit in
        memory it is 1e-4 at least.

    Returns
    -------
    float
        Proved where the Gram matrix fits; elsewhere wrong for one seed in 10⁹.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfill.kernels import Rows
    >>> from rankfill.linalg import Pattern, SparseMatrix
    >>> diagonal = Rows(np.arange(3), np.arange(2, dtype=np.int32), np.zeros(2, np.float32))
    >>> round(spectral_bound(SparseMatrix(Pattern.of(diagonal, n_items=2), np.array([3.0, -4.0]))), 6)
    4.0
    """
    unit, scale = _of_unit_size(matrix)
    if scale == 0.0:
        return 0.0
    if not _gram_fits(unit):
        return scale * _enclose(unit, seed, lambda lower: (1 + max(slack, _SLACK)) * lower)[1]
    gram = unit.gram()
    rounding = _rounding(gram)
    square = _largest_eigenvalue(gram) if len(gram) <= _DENSE_LIMIT else _proved_square(unit, gram, slack, seed)
    return scale * math.sqrt(square + rounding)


def is_spectral_bound(matrix: SparseMatrix, bound: float, seed: int = 0) -> bool:
    """Whether it can be proved that the largest singular value does not exceed `bound`.

    Quicker than to look for a good bound with `spectral_bound`; the parameters are the same. False means that σ₁ is
    larger, or too near to tell.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfill.kernels import Rows
    >>> from rankfill.linalg import Pattern, SparseMatrix
    >>> diagonal = Rows(np.arange(3), np.arange(2, dtype=np.int32), np.zeros(2, np.float32))
    >>> matrix = SparseMatrix(Pattern.of(diagonal, n_items=2), np.array([3.0, -4.0]))
    >>> is_spectral_bound(matrix, 4.001), is_spectral_bound(matrix, 3.999)
    (True, False)
    """
    unit, scale = _of_unit_size(matrix)
    if scale == 0.0 or bound <= 0.0:
        return scale == 0.0 <= bound
    target = bound / scale
    if not _gram_fits(unit):
        return _enclose(unit, seed, lambda _: target)[1] <= target
    gram = unit.gram()
    return _is_bound(gram, target**2 - _rounding(gram))


def _of_unit_size(matrix: SparseMatrix) -> tuple[SparseMatrix, float]:
    """The matrix over its largest entry, so that squares neither overflow nor vanish."""
    scale = float(np.abs(matrix.values).max(initial=0.0))
    return (SparseMatrix(matrix.pattern, matrix.values / scale) if scale > 0 else matrix), scale


def _gram_fits(matrix: SparseMatrix) -> bool:
    order, affordable = min(matrix.shape), _BYTES_PER_ENTRY * (len(matrix.values) + sum(matrix.shape))
    return order <= GRAM_LIMIT and (order <= _ALWAYS_FITS or 8 * order**2 <= affordable)


def _rounding(gram: NDArray[np.float64]) -> float:
    """The rounding error of eigenvalues of the Gram matrix, or of a proof about them."""
    return 4 * len(gram) * np.finfo(float).eps * float(np.trace(gram))


def _largest_eigenvalue(gram: NDArray[np.float64]) -> float:
    last = len(gram) - 1
    return float(scipy.linalg.eigvalsh(gram, subset_by_index=[last, last])[0])


def _proved_square(matrix: SparseMatrix, gram: NDArray[np.float64], slack: float, seed: int) -> float:
    """(1 + slack) times an estimate of σ₁ from below, squared, once that is proved to be enough."""
    searched = matrix if matrix.shape[1] == len(gram) else Transposed(matrix)  # a basis of the shorter side is cheaper
    right = start_block(len(gram), _WIDTH, seed)
    for _ in range(_MOST_SEARCHES):
        pairs = krylov_pairs(searched, right[:, :_WIDTH], _DEPTH)
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


def _enclose(matrix: Operator, seed: int, goal: Callable[[float], float]) -> tuple[float, float]:
    """Numbers below and above σ₁; the search ends when the second is at most `goal` of the first, or cannot be."""
    squared = _on_smaller_side(matrix)
    start = start_block(min(matrix.shape), _COLUMNS, (seed, _STREAM))
    least = math.sqrt(2 * float(scipy.special.gammaincinv(_COLUMNS / 2, _ODDS)))
    lower, upper = _ritz_value(squared, squared(start)), math.inf
    planned, steps = list(_FIRST_STEPS), 0  # short ones first, for a good c
    while planned:
        steps = planned.pop(0)
        filtered = _chebyshev(squared, start, lower, steps)
        spread = math.acosh(max(_size(filtered) / least, 1.0))
        upper = min(upper, lower * 0.5 * (1 + math.cosh(spread / steps)))
        lower = max(lower, _ritz_value(squared, filtered))
        wanted = goal(math.sqrt(lower)) ** 2
        if not planned and lower < wanted < upper and steps < _MOST_STEPS:
            needed = math.ceil(0.5 * spread / math.sqrt(wanted / lower - 1))
            planned.append(min(max(needed, round(1.25 * steps)), _MOST_STEPS))
    return math.sqrt(lower), math.sqrt(upper)


def _on_smaller_side(matrix: Operator) -> Callable[[Block], Block]:
    """Products with M."""
    if matrix.shape[0] <= matrix.shape[1]:
        return lambda block: matrix.times(matrix.transposed_times(block))
    return lambda block: matrix.transposed_times(matrix.times(block))


def _chebyshev(squared: Callable[[Block], Block], start: Block, largest: float, steps: int) -> Block:
    """T_k(2 M/c − I) X for c = largest and k = steps."""
    before, here = start, squared(start) * (2 / largest) - start
    for _ in range(steps - 1):
        ahead = squared(here)
        ahead *= 4 / largest
        ahead -= 2 * here
        ahead -= before
        before, here = here, ahead
    return here


def _ritz_value(squared: Callable[[Block], Block], block: Block) -> float:
    """The best estimate of λ₁ from below among combinations of the columns."""
    basis, _ = orthonormal(block)
    return float(np.linalg.eigvalsh(tall_gram(basis, squared(basis)))[-1])


def _size(block: Block) -> float:
    """The norm of Frobenius."""
    return math.sqrt(float(np.trace(tall_gram(block, block))))
