"""Factor matrices as the kernels want them: rows of float32 padded with zeros to whole cache lines."""

import numpy as np
from numpy.typing import NDArray

LANES = 16


def padded(n_rows: int, rank: int) -> NDArray[np.float32]:
    """Zeros of shape (n_rows, rank rounded up to a multiple of 16), each row on a cache line of 64 bytes."""
    stride = -(-rank // LANES) * LANES
    store = np.zeros(n_rows * stride + LANES, dtype=np.float32)
    start = (-store.ctypes.data % 64) // store.itemsize
    return store[start : start + n_rows * stride].reshape(n_rows, stride)


def padded_copy(factors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The same rows, padded."""
    copy = padded(*factors.shape)
    copy[:, : factors.shape[1]] = factors
    return copy
