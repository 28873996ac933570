"""The inverse of a symmetric positive definite matrix, in its own memory and on all threads.

The matrix is swept block by block. With D the inverse of the block A_kk,

    A_ij ← A_ij − A_ik D A_kj      A_ik ← A_ik D      A_kk ← −D        (i, j ≠ k)

and after the last block the memory holds −A⁻¹. The n³ multiplications are the products of tiles, whose size depends on
the size of the matrix alone and each of which is made by one thread of BLAS: the same bits for any number of threads.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from rankfill.kernels import get_threads
from rankfill.linalg.blas import one_blas_thread

Matrix = NDArray[np.float32] | NDArray[np.float64]

_TILE = 384


def invert_positive(matrix: Matrix) -> None:
    """Replaces a symmetric positive definite matrix, of which the lower triangle is read, by its whole inverse.

    Raises `numpy.linalg.LinAlgError` where it is not positive definite in its precision.

    Parameters
    ----------
    matrix : ndarray of float32 or float64, shape (n, n)
        In the order of C. Its content is lost where the inverse cannot be found.
    """
    n = len(matrix)
    tiles = [slice(begin, min(begin + _TILE, n)) for begin in range(0, n, _TILE)]
    threads = min(get_threads(), len(tiles))
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:

        def each(work: Callable[[slice], None], parts: Iterable[slice]) -> None:
            for _ in pool.map(work, parts) if threads > 1 else map(work, parts):
                pass

        for pivot in tiles:
            _sweep(matrix, pivot, tiles, each)
        each(lambda rows: _finish(matrix, rows), tiles)


def _sweep(
    matrix: Matrix,
    pivot: slice,
    tiles: list[slice],
    each: Callable[[Callable[[slice], None], Iterable[slice]], None],
) -> None:
    """One block of the sweep, in the lower triangle of tiles."""
    inverse = _small_inverse(matrix[pivot, pivot])
    others = [tile for tile in tiles if tile != pivot]
    column = np.empty((len(matrix), pivot.stop - pivot.start), matrix.dtype)
    for tile in others:
        column[tile] = matrix[tile, pivot] if tile.start > pivot.start else matrix[pivot, tile].T
    swept = np.empty_like(column)

    def multiply(rows: slice) -> None:
        np.matmul(column[rows], inverse, out=swept[rows])

    def update(rows: slice) -> None:
        for columns in others:
            if columns.start <= rows.start:
                matrix[rows, columns] -= swept[rows] @ column[columns].T

    each(multiply, others)
    each(update, reversed(others))  # the longest rows first
    for tile in others:
        if tile.start > pivot.start:
            matrix[tile, pivot] = swept[tile]
        else:
            matrix[pivot, tile] = swept[tile].T
    matrix[pivot, pivot] = -inverse


def _finish(matrix: Matrix, rows: slice) -> None:
    """Turns the sign of some rows up to the diagonal, and copies them to the columns above it."""
    np.negative(matrix[rows, : rows.stop], out=matrix[rows, : rows.stop])
    lower = np.tril(matrix[rows, rows])
    matrix[rows, rows] = lower + np.tril(lower, -1).T
    matrix[: rows.start, rows] = matrix[rows, : rows.start].T


def _small_inverse(block: Matrix) -> Matrix:
    """The inverse of a positive definite block, from its lower triangle, exactly symmetric."""
    factorise, invert = (lapack.dpotrf, lapack.dpotri) if block.dtype == np.float64 else (lapack.spotrf, lapack.spotri)
    factor, failed = factorise(block, lower=1)
    if not failed:
        factor, failed = invert(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower = np.tril(factor)
    symmetric: Matrix = lower + np.tril(lower, -1).T
    return symmetric
