"""Products of a sparse matrix whose values may be any numbers of the caller's: of `rows` only the pattern is read.

Values and blocks are both float64 or both float32; sums are in that precision unless a function says otherwise, in one
order for any number of threads.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES, aligned_zeros
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set

Real = TypeVar("Real", np.float32, np.float64)


def sparse_entries(rows: Rows, left: NDArray[Real], right: NDArray[Real]) -> NDArray[Real]:
    """left[row]·right[column] of every entry."""
    product: Any = _native.sparse_entries if left.dtype == np.float64 else _native.sparse_entries_float
    wide = (_pad(block) for block in (left, right))
    entries: NDArray[Real] = product(rows.pattern, *wide, get_threads(), instruction_set())
    return entries


def sparse_times(rows: Rows, values: NDArray[Real], block: NDArray[Real]) -> NDArray[Real]:
    """The matrix with these values times a dense block: Σ values · block[column] for every row."""
    product: Any = _native.sparse_times if values.dtype == np.float64 else _native.sparse_times_float
    result: NDArray[Real] = product(rows.pattern, values, block, get_threads(), instruction_set())
    return result


def sparse_gram(rows: Rows, values: NDArray[Real], columns: Rows, column_values: NDArray[Real]) -> NDArray[Real]:
    """The lower triangle of A Aᵀ, dense, zeros above, summed in float64.

    `columns` and `column_values` are the same matrix A by column.
    """
    product: Any = _native.sparse_gram if values.dtype == np.float64 else _native.sparse_gram_float
    matrix = rows.pattern, values, columns.pattern, column_values
    result: NDArray[Real] = product(*matrix, get_threads(), instruction_set())
    return result


def _pad(block: NDArray[Real]) -> NDArray[Real]:
    """The same rows with zeros up to a multiple of 16 columns."""
    n, width = block.shape
    if width % LANES == 0 < width:
        return block
    wide: NDArray[Real] = aligned_zeros((n, max(1, -(-width // LANES)) * LANES), block.dtype)
    wide[:, :width] = block
    return wide
