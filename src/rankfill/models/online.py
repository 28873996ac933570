"""Factor models that go on learning: one rating at a time, rows for people and things never seen before."""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.models.base import WarmPath
from rankfill.models.factors import FactorModel
from rankfill.models.seen import SeenItems


class OnlineFactorModel(FactorModel):
    """Adds `partial_fit` to a factor model that can learn from single ratings in their order.

    A row starts from its number and the seed alone, so it does not matter when it is added, nor how the stream is
    cut into calls.
    """

    warm_path: ClassVar[WarmPath] = "none"

    rank: int

    def partial_fit(self, ratings: Ratings) -> Self:
        """Goes on from what was learned, one round a rating in the order of the stream; new ids get new rows."""
        self._check(ratings)
        if len(ratings) == 0:
            return self
        if not hasattr(self, "users_"):
            self._begin(Vocabulary(ratings.users.ids()[:0]), Vocabulary(ratings.items.ids()[:0]))
            self._seen = SeenItems(np.zeros(1, np.int64), np.empty(0, np.int32))
            self._begin_stream(ratings)
        elif self.rank != self.rank_:
            raise ValueError(f"rank is {self.rank}, what was learned has {self.rank_}; fit anew, or set rank back")
        order = ratings.stream_order()
        users, items = self._grow(ratings, order)
        user_rows, item_rows = users[ratings.user_indices[order]], items[ratings.item_indices[order]]
        self._take_note(ratings, users, items)
        self._seen.add(user_rows, item_rows)
        self._learn_stream(user_rows, item_rows, ratings.values[order])
        return self

    def _begin_stream(self, ratings: Ratings) -> None:
        """Sets empty factors before the first rating of a stream."""
        self._set_factors(self._start_of_users(0, 0), self._start_of_items(0, 0), self.rank)

    @abstractmethod
    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """One round a rating, in the order given, by row numbers."""

    @abstractmethod
    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        """Padded rows first … last − 1 as they are before any rating."""

    @abstractmethod
    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        """The same for items."""

    def _grow(self, ratings: Ratings, order: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the ratings' users and items here; new ids are numbered in the order in which they arrive."""
        if not self._owns_vocabularies:
            self.users_, self.items_ = self.users_.copy(), self.items_.copy()
            self._owns_vocabularies = True
        user_ids = ratings.users.ids(_by_first_appearance(ratings.user_indices[order], ratings.n_users))
        item_ids = ratings.items.ids(_by_first_appearance(ratings.item_indices[order], ratings.n_items))
        self.items_.index(item_ids)  # ids of the wrong kind are refused before anything has grown
        self.users_.add(user_ids)
        self.items_.add(item_ids)
        self._users.extend(self._start_of_users(len(self._users), len(self.users_)))
        self._items.extend(self._start_of_items(len(self._items), len(self.items_)))
        for counts, ids in ((self._user_counts, self.users_), (self._item_counts, self.items_)):
            counts.extend(np.zeros(len(ids) - len(counts), dtype=np.int64))
        return self.users_.index(ratings.users.ids()), self.items_.index(ratings.items.ids())


def random_rows(first: int, last: int, rank: int, seed: int) -> NDArray[np.float64]:
    """Uniform numbers on [0, 1) in rows first … last − 1: a row depends on the seed and its number alone."""
    bits = np.random.PCG64(seed)
    bits.advance(int(first * rank))
    return np.random.Generator(bits).random((last - first, rank))


def _by_first_appearance(indices: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """The distinct indices, all below n, in the order in which they first appear."""
    first = np.full(n, len(indices))
    first[indices[::-1]] = np.arange(len(indices))[::-1]  # of equal indices the last write stays: the first one
    distinct = np.flatnonzero(first < len(indices))
    return distinct[np.argsort(first[distinct])]
