"""Which items each user has already rated."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows

_FEW = 8  # users asked for at a time up to which recent pairs are looked through instead of folded in

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


class SeenItems:
    """Rows of items by user, plus recent pairs that are folded in when they have become many."""

    def __init__(self, indptr: NDArray[np.int64], items: NDArray[np.int32]) -> None:
        self.indptr = indptr
        self.items = items
        self._recent: list[Pairs] = []
        self._n_recent = 0

    @classmethod
    def of(cls, rows: Rows) -> "SeenItems":
        return cls(rows.indptr, rows.indices)

    def add(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        self._recent.append((users, items))
        self._n_recent += len(users)
        if self._n_recent > max(1000, len(self.items) // 4):
            self.compact()

    def compact(self) -> None:
        """Folds the recent pairs into the rows."""
        if self._recent:
            users, items = self._recent_pairs()
            known = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
            n_users = max(len(self.indptr) - 1, int(users.max(initial=-1)) + 1)
            self.indptr, self.items = _rows_of(
                np.concatenate([known, users]), np.concatenate([self.items, items]), n_users
            )
            self._recent, self._n_recent = [], 0

    def rows(self, users: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items): for each user asked for, the items seen, ascending; none for user −1."""
        if len(users) > _FEW:
            self.compact()
        inside = (users >= 0) & (users < len(self.indptr) - 1)
        starts, ends = self.indptr[np.where(inside, users, 0)], self.indptr[np.where(inside, users + 1, 0)]
        counts = np.where(inside, ends - starts, 0)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        items = self.items[np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])]
        if not self._recent:
            return indptr, items
        recent_users, recent_items = self._recent_pairs()
        extra = [recent_items[recent_users == user] for user in users]
        rows = np.repeat(np.tile(np.arange(len(users)), 2), [*counts, *map(len, extra)])
        return _rows_of(rows, np.concatenate([items, *extra]), len(users))

    def _recent_pairs(self) -> Pairs:
        if len(self._recent) > 1:
            users, items = zip(*self._recent, strict=True)
            self._recent = [(np.concatenate(users), np.concatenate(items))]
        return self._recent[0]


def _rows_of(
    rows: NDArray[np.integer], items: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Distinct pairs by row, items ascending; row and item are sorted as one number."""
    packed = np.sort(rows.astype(np.int64) << 32 | items)
    packed = packed[np.append(True, packed[1:] != packed[:-1])[: len(packed)]]
    indptr = np.searchsorted(packed, np.arange(n_rows + 1) << 32)
    return indptr.astype(np.int64, copy=False), (packed & 0xFFFFFFFF).astype(np.int32)
