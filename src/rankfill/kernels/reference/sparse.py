"""NumPy twins of the products of a sparse matrix: the same signatures, the same results to the bit."""

import itertools
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.reference.lanes import dot
from rankfill.kernels.rows import Rows

Real = TypeVar("Real", np.float32, np.float64)


def sparse_entries(rows: Rows, left: NDArray[Real], right: NDArray[Real]) -> NDArray[Real]:
    width = -(-left.shape[1] // LANES) * LANES
    wide_left, wide_right = (np.zeros((len(block), max(width, LANES)), left.dtype) for block in (left, right))
    wide_left[:, : left.shape[1]], wide_right[:, : right.shape[1]] = left, right
    products = [
        dot(wide_left[row], wide_right[column]) for row, column in zip(rows.row_of_entry(), rows.indices, strict=True)
    ]
    return np.array(products, left.dtype)


def sparse_times(rows: Rows, values: NDArray[Real], block: NDArray[Real]) -> NDArray[Real]:
    result = np.zeros((rows.n_rows, block.shape[1]), block.dtype)
    for sums, (begin, end) in zip(result, itertools.pairwise(rows.indptr.tolist()), strict=True):
        for value, column in zip(values[begin:end], rows.indices[begin:end], strict=True):
            sums += value * block[column]
    return result


def sparse_gram(rows: Rows, values: NDArray[Real], columns: Rows, column_values: NDArray[Real]) -> NDArray[Real]:
    result = np.zeros((rows.n_rows, rows.n_rows))
    for sums, (begin, end) in zip(result, itertools.pairwise(rows.indptr.tolist()), strict=True):
        for value, column in zip(values[begin:end].astype(np.float64), rows.indices[begin:end], strict=True):
            own = slice(columns.indptr[column], columns.indptr[column + 1])
            sums[columns.indices[own]] += value * column_values[own].astype(np.float64)
    lower: NDArray[Real] = np.tril(result).astype(values.dtype)
    return lower
