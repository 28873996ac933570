"""The NumPy twin of the counting sort."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.rows import Rows


def sort_into_rows(
    keys: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_keys: int,
    *,
    with_order: bool = False,
) -> tuple[Rows, NDArray[np.int64]]:
    order = np.argsort(keys, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=n_keys))])
    return Rows.taking(indptr, indices[order], values[order]), order if with_order else order[:0]
