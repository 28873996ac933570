"""Arrays as the kernels want them: on cache lines, rows of factors padded with zeros, able to grow."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

RowPair = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The rows of the users and those of the items."""

LANES = 16
_CACHE_LINE = 64


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros that start on a cache line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    store = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    start = -store.ctypes.data % _CACHE_LINE
    return store[start : start + size].view(dtype).reshape(shape)


def padded(n_rows: int, rank: int) -> NDArray[np.float32]:
    """Zeros of shape (n_rows, rank rounded up to a multiple of 16): every row is whole cache lines."""
    return aligned_zeros((n_rows, -(-rank // LANES) * LANES), np.float32)


def padded_copy(factors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The same rows, padded."""
    n_rows, rank = factors.shape
    copy = padded(n_rows, rank)
    copy[:, :rank] = factors
    return copy


class Growing:
    """An array that grows along its first axis; room doubles, so a long series of additions costs linear time."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._store = array
        self._n = len(array)
        self._frozen: Growing | None = None

    @property
    def array(self) -> NDArray[Any]:
        return self._store[: self._n]

    def __len__(self) -> int:
        return self._n

    def frozen(self) -> "Growing":
        """A view of as many rows as there are now; it stays whole while this one grows."""
        if self._frozen is None:
            self._frozen = Growing(self.array)
        return self._frozen

    def __getstate__(self) -> dict[str, Any]:
        """The rows alone: a copy makes views of its own."""
        return {"_store": self._store, "_n": self._n, "_frozen": None}

    def extend(self, rows: NDArray[Any]) -> None:
        if len(rows) == 0:
            return
        self._frozen = None
        wanted = self._n + len(rows)
        if wanted > len(self._store):
            roomier = aligned_zeros((max(wanted, 2 * self._n), *self._store.shape[1:]), self._store.dtype)
            roomier[: self._n] = self.array
            self._store = roomier
        self._store[self._n : wanted] = rows
        self._n = wanted
