"""What a model knows of users and items: row numbers of ids, counts, means, range of ratings, items seen."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.kernels import Growing, Rows
from rankfill.models.base.published import Published
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.training import EpochReport


class Known(Published):
    """The part of every model that holds the ids, and counts and sums of their ratings."""

    users_: Vocabulary
    items_: Vocabulary
    n_ratings_: int
    mean_: float
    range_: tuple[float, float]
    history_: list[EpochReport]
    _sum: float
    _user_counts: Growing
    _user_sums: Growing
    _item_counts: Growing
    _seen: SeenItems | None
    _owns_vocabularies: bool

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        self.users_, self.items_ = users, items
        self._owns_vocabularies = False
        self._user_counts = Growing(np.zeros(len(users), dtype=np.int64))
        self._user_sums = Growing(np.zeros(len(users)))
        self._item_counts = Growing(np.zeros(len(items), dtype=np.int64))
        self.n_ratings_, self.mean_, self.range_ = 0, 0.0, (np.inf, -np.inf)
        self._sum = 0.0
        self.history_ = []

    def _take_note(self, ratings: Ratings, users: NDArray[np.integer], items: NDArray[np.integer]) -> None:
        """Updates counts, means and range; `users`, `items` map rows of the ratings to rows here, −1 if unrated."""
        self.n_ratings_ += len(ratings)
        tally = ratings.tally()
        self._user_counts.array[users[users >= 0]] += tally.user_counts[users >= 0]
        self._user_sums.array[users[users >= 0]] += tally.user_sums[users >= 0]
        self._item_counts.array[items[items >= 0]] += tally.item_counts[items >= 0]
        self._sum += float(tally.user_sums.sum())
        self.mean_ = self._sum / max(self.n_ratings_, 1)
        if len(ratings):
            least, greatest = ratings.bounds()
            self.range_ = min(least, self.range_[0]), max(greatest, self.range_[1])

    def _user_means(self, users: Vocabulary) -> NDArray[np.float64]:
        """The mean of the ratings of each user, NaN for one without any."""
        rows = self._own_rows(self.users_, users)
        means = np.full(len(rows), np.nan)
        rated = rows[rows >= 0]
        known = np.flatnonzero(rows >= 0)[self._user_counts.array[rated] > 0]
        means[known] = self._user_sums.array[rows[known]] / self._user_counts.array[rows[known]]
        return means

    def _learned_users(self, users: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._user_counts.array[users] > 0, users, np.int32(-1)) if len(self.users_) else users

    def _learned_items(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._item_counts.array[items] > 0, items, np.int32(-1)) if len(self.items_) else items

    def _seen_by(self, users: NDArray[np.int32], exclude: bool) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items): what each user has seen; nothing where it is not to be excluded."""
        if not exclude:
            return np.zeros(len(users) + 1, np.int64), np.empty(0, np.int32)
        if self._seen is None:
            raise ValueError(
                "this model was saved without what users have rated, so that it cannot leave that out of a list; "
                "use exclude_seen=False, or save it with history=True"
            )
        return self._seen.rows(users)

    def _pair_rows(
        self, users: ArrayLike, items: ArrayLike
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[int, ...]]:
        """The row numbers of pairs of ids, −1 for what was not learned, and the shape in which they were given."""
        pairs = np.broadcast_arrays(as_ids(users), as_ids(items))
        return (
            self._learned_users(self.users_.index(pairs[0].ravel())),
            self._learned_items(self.items_.index(pairs[1].ravel())),
            pairs[0].shape,
        )

    def _user_rows(self, users: ArrayLike) -> NDArray[np.int32]:
        """The row numbers of one id or several, −1 for what is unknown."""
        if isinstance(users, ONE):
            return np.array([self.users_.row_of(users)], np.int32)
        return self.users_.index(np.atleast_1d(as_ids(users)))

    def _item_rows(self, items: ArrayLike) -> NDArray[np.int32]:
        """The row numbers of those ids that are known."""
        rows = self.items_.index(np.atleast_1d(as_ids(items)))
        return rows[rows >= 0]

    def _in_own_items(self, ratings: Ratings) -> Ratings:
        """The ratings of known items, renumbered as here; users keep their numbers, timestamps are dropped."""
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        known = items >= 0
        users, items, values = ratings.user_indices[known], items[known], ratings.values[known]
        order = np.argsort(users.astype(np.int64) << 32 | items)
        indptr = np.zeros(ratings.n_users + 1, np.int64)
        np.cumsum(np.bincount(users, minlength=ratings.n_users), out=indptr[1:])
        return Ratings(ratings.users, self.items_, Rows.taking(indptr, items[order], values[order]))

    @staticmethod
    def _own_rows(own: Vocabulary, other: Vocabulary) -> NDArray[np.int32]:
        return np.arange(len(own), dtype=np.int32) if own.is_same(other) else own.index(other.ids())


ONE = int | str
"""The types of a single id."""


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Ids as an array, strings as objects."""
    array = np.asarray(ids)
    return array.astype(object) if array.dtype.kind == "U" else array
