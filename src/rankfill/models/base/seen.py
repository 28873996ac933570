"""The items that each user has already rated."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows

_MOST_RECENT = 1000
"""Up to this many pairs are kept beside the rows, or a quarter of those in the rows where that is more."""

_MANY = 16
"""Pairs that come together are sorted in where they are more than one in so many of those in the rows."""


class SeenItems:
    """Rows of items by user, and beside them the pairs that came later, by user.

    Reading changes nothing, and what a frozen copy holds is only ever added to: it may be read on other threads while
    one thread adds.
    """

    def __init__(self, indptr: NDArray[np.int64], items: NDArray[np.int32]) -> None:
        self._rows = indptr, items
        self._recent: dict[int, list[int]] = {}
        self._n_recent = 0

    @classmethod
    def of(cls, rows: Rows) -> "SeenItems":
        """The items rated in these rows."""
        return cls(rows.indptr, rows.some_indices)

    @classmethod
    def empty(cls) -> "SeenItems":
        """No pairs at all."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    def frozen(self) -> "SeenItems":
        """A view that stays consistent while pairs are added here."""
        view = SeenItems(*self._rows)
        view._recent, view._n_recent = self._recent, self._n_recent
        return view

    def copy(self) -> "SeenItems":
        """A copy that does not change when pairs are added here."""
        view = self.frozen()
        view._recent = {user: list(items) for user, items in self._recent.items()}
        return view

    def add_one(self, user: int, item: int) -> None:
        """Notes one pair of row numbers."""
        self._recent.setdefault(user, []).append(item)
        self._n_recent += 1
        if self._n_recent > max(_MOST_RECENT, len(self._rows[1]) // 4):
            self._fold_in(np.empty(0, np.int32), np.empty(0, np.int32))

    def add(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Notes pairs of row numbers."""
        known = len(self._rows[1])
        many = len(users) > max(_MOST_RECENT, known // _MANY)  # sorting them in is faster than adding them one by one
        if many or self._n_recent + len(users) > max(_MOST_RECENT, known // 4):
            self._fold_in(users, items)
        else:
            recent = self._recent
            for user, item in zip(users.tolist(), items.tolist(), strict=True):
                own = recent.get(user)
                if own is None:
                    recent[user] = [item]
                else:
                    own.append(item)
            self._n_recent += len(users)

    def discard(self, user: int, item: int) -> None:
        """Removes one pair of row numbers; earlier views keep it."""
        users, items = self._recent_pairs()
        indptr, all_items = _merge(*self._rows, users, items)
        here = slice(*indptr[user : user + 2]) if user + 1 < len(indptr) else slice(0, 0)
        kept = np.ones(len(all_items), bool)
        kept[here] = all_items[here] != item
        indptr = indptr - (np.arange(len(indptr)) > user) * int((~kept).sum())
        self._rows, self._recent, self._n_recent = (indptr, all_items[kept]), {}, 0

    def rows(self, users: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items): for each user asked for, the items seen, ascending; none for user −1."""
        if len(users) == 1:
            items = self._of(int(users[0]))
            return np.array([0, len(items)], np.int64), items
        if self._recent:
            parts = [self._of(user) for user in users.tolist()]
            indptr = np.zeros(len(users) + 1, np.int64)
            np.cumsum([len(part) for part in parts], out=indptr[1:])
            return indptr, np.concatenate([*parts, np.empty(0, np.int32)])
        bounds, items = self._rows
        inside = (users >= 0) & (users < len(bounds) - 1)
        starts, ends = bounds[np.where(inside, users, 0)], bounds[np.where(inside, users + 1, 0)]
        counts = np.where(inside, ends - starts, 0)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return indptr, items[np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])]

    def all_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items) of every user, items ascending."""
        if not self._recent:
            return self._rows[0], np.asarray(self._rows[1])
        users, items = self._recent_pairs()
        return _merge(*self._rows, users, items)

    def _of(self, user: int) -> NDArray[np.int32]:
        indptr, items = self._rows
        known = items[indptr[user] : indptr[user + 1]] if 0 <= user < len(indptr) - 1 else items[:0]
        recent = self._recent.get(user)
        return np.union1d(known, np.array(recent, np.int32)) if recent else known

    def _fold_in(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        recent = self._recent_pairs()
        merged = _merge(*self._rows, np.concatenate([recent[0], users]), np.concatenate([recent[1], items]))
        self._rows, self._recent, self._n_recent = merged, {}, 0

    def _recent_pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        recent = list(self._recent.items())
        users = np.repeat(np.array([user for user, _ in recent], np.int32), [len(items) for _, items in recent])
        return users, np.array([item for _, items in recent for item in items], np.int32)


def _merge(
    indptr: NDArray[np.int64], items: NDArray[np.int32], more_users: NDArray[np.int32], more_items: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Distinct pairs by user, items ascending; user and item are sorted as one number."""
    known, items = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr)), np.asarray(items)
    n_users = max(len(indptr) - 1, int(more_users.max(initial=-1)) + 1)
    packed = np.concatenate([known << 32 | items, more_users.astype(np.int64) << 32 | more_items])
    packed.sort(kind="stable")
    packed = packed[np.append(True, packed[1:] != packed[:-1])[: len(packed)]]
    bounds = np.searchsorted(packed, np.arange(n_users + 1) << 32)
    return bounds.astype(np.int64, copy=False), (packed & 0xFFFFFFFF).astype(np.int32)
