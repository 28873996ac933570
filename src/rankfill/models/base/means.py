"""The mean of the learned rows, used for users and items that the model does not know."""

import threading

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Growing

_BLOCK = 256


class MeanRow:
    """Keeps sums over blocks of rows, over blocks of blocks and so on; recomputes only those in which a row changed.

    A sum depends on the rows alone, not on the order in which they changed. Several threads may ask at once.
    """

    def __init__(self, rows: Growing, counts: Growing) -> None:
        self.rows = rows
        self._counts = counts
        self._lock = threading.Lock()
        self.touch_all()

    def touch(self, row: int) -> None:
        """Notes that a row has changed."""
        with self._lock:
            if self._changed is not None:
                self._changed.add(row // _BLOCK)

    def touch_rows(self, rows: NDArray[np.integer]) -> None:
        """Notes that these rows have changed, or are new."""
        with self._lock:
            if self._changed is not None:
                self._changed.update(np.unique(rows // _BLOCK).tolist())

    def touch_all(self) -> None:
        """Notes that any row may have changed."""
        with self._lock:
            self._changed: set[int] | None = None
            self._levels: list[NDArray[np.float64]] = []

    def row(self) -> NDArray[np.float32]:
        """Computes the mean, in single precision; zeros when nothing has been learned."""
        with self._lock:
            changed, self._changed = self._changed, set()
            if changed or not self._levels:
                self._renew(sorted(changed or ()))
            total = self._levels[-1][0]
        mean: NDArray[np.float32] = (total[:-1] / max(total[-1], 1.0)).astype(np.float32)
        return mean

    def _renew(self, blocks: list[int]) -> None:
        """Recomputes the sums of these blocks; the last column of a sum counts the learned rows."""
        n, level = len(self._counts), 0
        while level == 0 or n > 1:
            n_sums = max(-(-n // _BLOCK), 1)
            if level == len(self._levels):
                self._levels.append(np.zeros((0, self.rows.array.shape[1] + 1)))
                blocks = list(range(n_sums))
            sums = self._levels[level]
            if len(sums) < n_sums:
                sums = self._levels[level] = np.concatenate([sums, np.zeros((n_sums - len(sums), sums.shape[1]))])
            for block in blocks:
                here = slice(block * _BLOCK, min((block + 1) * _BLOCK, n))
                if level == 0:
                    learned = self._counts.array[here] > 0
                    sums[block, :-1] = learned.astype(np.float64) @ self.rows.array[here]
                    sums[block, -1] = learned.sum()
                else:
                    sums[block] = self._levels[level - 1][here].sum(axis=0)
            n, level, blocks = n_sums, level + 1, sorted({block // _BLOCK for block in blocks})
