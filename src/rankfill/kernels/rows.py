"""A sparse matrix by rows, and the counting sort that makes one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.threads import get_threads


class Rows(NamedTuple):
    """Row r holds the entries `indptr[r]` … `indptr[r + 1] - 1` of `indices` (columns) and `values`."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def counts(self) -> NDArray[np.int64]:
        """How many entries each row has."""
        return np.diff(self.indptr)

    def row_of_entry(self) -> NDArray[np.int32]:
        """The row number of every entry."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), self.counts())

    def transposed(self, n_columns: int) -> "Rows":
        """The same entries by column; within a column, rows ascend."""
        return Rows(*_native.transpose(*self, n_columns, get_threads()))


def sort_into_rows(
    keys: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_keys: int,
    *,
    with_order: bool = False,
) -> tuple[Rows, NDArray[np.int64]]:
    """Stable counting sort by key. The second result says where each entry came from (empty unless asked for)."""
    sorted_rows = _native.counting_sort(keys, indices, values, n_keys, with_order, get_threads())
    return Rows(*sorted_rows[:3]), sorted_rows[3]
