"""Which items each user has already rated."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


class SeenItems:
    """Rows of items by user, plus recent pairs that are folded in when they have become many."""

    def __init__(self, indptr: NDArray[np.int64], items: NDArray[np.int32]) -> None:
        self.indptr = indptr
        self.items = items
        self._recent: list[Pairs] = []

    @classmethod
    def of(cls, rows: Rows) -> "SeenItems":
        return cls(rows.indptr, rows.indices)

    def add(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        self._recent.append((users, items))
        if sum(len(pair[0]) for pair in self._recent) > max(1000, len(self.items) // 4):
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
            self._recent = []

    def rows(self, users: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items): for each user asked for, the items seen, ascending; none for user −1."""
        inside = (users >= 0) & (users < len(self.indptr) - 1)
        starts, ends = self.indptr[np.where(inside, users, 0)], self.indptr[np.where(inside, users + 1, 0)]
        counts = np.where(inside, ends - starts, 0)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        items = self.items[np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])]
        if not self._recent:
            return indptr, items
        recent_users, recent_items = self._recent_pairs()
        places = [np.flatnonzero(users == user) for user in np.intersect1d(users, recent_users)]
        positions = np.concatenate([*places, np.empty(0, dtype=np.int64)]).astype(np.int32)
        extra = [np.flatnonzero(recent_users == users[position]) for position in positions]
        row_of_entry = np.repeat(np.arange(len(users), dtype=np.int32), counts)
        return _rows_of(
            np.concatenate([row_of_entry, np.repeat(positions, [len(each) for each in extra])]),
            np.concatenate([items, *(recent_items[each] for each in extra)]),
            len(users),
        )

    def _recent_pairs(self) -> Pairs:
        if len(self._recent) > 1:
            users, items = zip(*self._recent, strict=True)
            self._recent = [(np.concatenate(users), np.concatenate(items))]
        return self._recent[0]


def _rows_of(
    rows: NDArray[np.int32], items: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    order = np.lexsort((items, rows))
    rows, items = rows[order], items[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (items[1:] != items[:-1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=n_rows))])
    return indptr, items[first]
