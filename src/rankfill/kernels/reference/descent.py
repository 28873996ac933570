"""NumPy twins of coordinate descent and multiplicative updates: the same signatures, the same results to the bit."""

import itertools

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.reference.lanes import dot
from rankfill.kernels.reference.least_squares import chunked_products
from rankfill.kernels.rows import Rows


def residuals(
    rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], offset: float
) -> NDArray[np.float32]:
    products = [dot(moving[row], fixed[index]) for row, index in zip(rows.row_of_entry(), rows.indices, strict=True)]
    return (rows.values - np.float32(offset)) - np.array(products, np.float32)


def shift_residuals(
    rows: Rows, residuals: NDArray[np.float32], own: NDArray[np.float32], other: NDArray[np.float32], sign: float
) -> None:
    residuals += (np.float32(sign) * own)[rows.row_of_entry()] * other[rows.indices]


def move_factor(
    rows: Rows,
    residuals: NDArray[np.float32],
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    penalty: float,
    *,
    by_count: bool,
    nonnegative: bool,
) -> None:
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr.tolist())):
        n = end - begin
        errors, factors = np.zeros((2, -(-n // LANES) * LANES))
        errors[:n], factors[:n] = residuals[begin:end], other[rows.indices[begin:end]]
        if n and (curvature := penalty * (n if by_count else 1) + dot(factors, factors)) > 0:
            moved = dot(errors, factors) / curvature
            own[row] = max(moved, 0.0) if nonnegative else moved


def multiplicative_rows(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    start: NDArray[np.float32],
    penalty: float,
    shrinkage: float,
) -> None:
    for w, towards, (begin, end) in zip(moving, start, itertools.pairwise(rows.indptr.tolist()), strict=True):
        if begin == end:
            continue
        x, ratings = fixed[rows.indices[begin:end]], rows.values[begin:end]
        predicted = np.array([dot(w, row) for row in x], np.float32)
        above, below = chunked_products(np.column_stack([ratings, predicted]), x)
        above = above + shrinkage * towards.astype(np.float64)
        below = below + (penalty + shrinkage) * w.astype(np.float64)
        ratio = np.divide(above, below, out=np.ones_like(above), where=below > 0)
        w[:] = w * ratio
