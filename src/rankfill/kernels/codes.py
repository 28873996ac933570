"""Ratings kept as codes of a scale of at most 256 values, one byte each."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.threads import get_threads


def decode(
    codes: NDArray[np.uint8], scale: NDArray[np.float32], out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """The value of every code, in `out` where that is given; `scale` has 256 values.

    >>> decode(np.array([1, 0, 1], np.uint8), np.arange(256, dtype=np.float32) / 2)
    array([0.5, 0. , 0.5], dtype=float32)
    """
    values = np.empty(len(codes), np.float32) if out is None else out[: len(codes)]
    _native.decode(codes, scale, values, get_threads())
    return values
