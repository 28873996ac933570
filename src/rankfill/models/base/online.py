"""Models that learn online: one rating at a time, with room for new users and items."""

import functools
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.checks import finite_float32
from rankfill.data.scale import Ends, changes_at
from rankfill.data.vocabulary import Id
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.forgetting import Left
from rankfill.models.base.model import Model, WarmPath
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.settings import without_hints
from rankfill.models.base.state import Parts

_LARGEST = float(np.finfo(np.float32).max)


class OnlineModel(Model):
    """Adds `partial_fit` to a model that can learn from single ratings in their order."""

    warm_path: ClassVar[WarmPath] = "none"

    _learned: ClassVar[tuple[str, ...]] = ("_ends",)

    _ends: Ends
    _settings_checked: tuple[Any, ...] = ()
    """The settings that were last checked; single ratings do not check them again."""

    def partial_fit(self, ratings: RatingsLike) -> Self:
        """Continues learning, one rating after the other.

        Other threads may predict and recommend meanwhile: they see the model as it was before the call, then as it is
        after it.

        Parameters
        ----------
        ratings : Ratings, or anything `as_ratings` accepts
            They are learned in the order of their timestamps, or without any in the order in which they were given.
            New users and items get rows of their own. How a stream is cut into calls makes no difference.

        Returns
        -------
        Model
            The model itself.
        """
        ratings = as_ratings(ratings)
        self._check(ratings)
        if len(ratings) == 0:
            return self
        with self._writing:
            self._begin_or_go_on(ratings)
            order = ratings.stream_order()
            users, items = self._grow(ratings, order)
            self._learn_rows(
                users[ratings.user_indices[order]], items[ratings.item_indices[order]], ratings.values[order]
            )
        return self

    def learn_many(self, users: ArrayLike, items: ArrayLike, ratings: ArrayLike) -> Self:
        """Continues learning from ratings in the order given: `partial_fit` without making `Ratings`.

        Parameters
        ----------
        users, items : array-like of int or str
            Who rated what; either may be new, and a pair may come more than once.
        ratings : array-like of float
            How it was rated.

        Returns
        -------
        Model
            The model itself, as `learn_one` with one rating after the other leaves it.

        Examples
        --------
        >>> from rankfill import PassiveAggressive
        >>> model = PassiveAggressive(rank=2).learn_many(["ann", "bob", "ann"], ["tea", "tea", "tea"], [5, 4, 3])
        >>> model.n_ratings_, len(model.users_)
        (3, 2)
        """
        values = finite_float32(ratings)
        user_ids, item_ids = np.asarray(users), np.asarray(items)
        if not user_ids.shape == item_ids.shape == values.shape:
            raise ValueError(
                f"learn_many takes one user and one item per rating, found {user_ids.size} users, {item_ids.size} "
                f"items and {values.size} ratings"
            )
        if len(values) == 0:
            return self
        self._check_stream(user_ids, item_ids, values)
        with self._writing:
            if not hasattr(self, "users_"):
                self._begin_or_go_on(Ratings.from_arrays(user_ids[:1], item_ids[:1], values[:1]))
            self._check_unchanged()
            self._own_vocabularies()
            self.items_.index(item_ids)  # ids of the wrong kind are refused before anything has grown
            user_rows, item_rows = self.users_.add(user_ids), self.items_.add(item_ids)
            self._add_rows()
            self._learn_rows(user_rows, item_rows, values)
        return self

    def learn_one(self, user: Id, item: Id, rating: float, time: int | None = None) -> Self:
        """Continues learning from a single rating: `partial_fit` without its overhead.

        Parameters
        ----------
        user, item : int or str
            Who rated what; either may be new.
        rating : float
            How it was rated.
        time : int, optional
            When, in seconds. Ratings are learned in the order of the calls; no model weighs them by time as yet.

        Returns
        -------
        Model
            The model itself.

        Examples
        --------
        >>> from rankfill import PassiveAggressive
        >>> model = PassiveAggressive(rank=2).learn_one("ann", "tea", 5).learn_one("bob", "tea", 4)
        >>> model.n_ratings_
        2
        """
        times = None if time is None else [time]
        return self.partial_fit(Ratings.from_arrays([user], [item], [rating], times))

    def _learn_rows(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """Counts the ratings of a stream, learns from them and publishes the result; users and items by row number."""
        self._take_note_of_many(users, items, values)
        try:
            with without_hints():
                self._learn_stream(users, items, values)
        finally:  # even a stream that is refused half-way may have brought new ids
            self._show_rows(users, items)

    def _show_rows(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Publishes what was learned about these rows."""
        self._renew_view()

    def _begin_or_go_on(self, ratings: Ratings) -> None:
        """At the beginning of a stream, starts with the kind of ids and the size of its first ratings."""
        if not hasattr(self, "users_"):
            self._begin(Vocabulary(ratings.users.ids()[:0]), Vocabulary(ratings.items.ids()[:0]))
            self._seen = SeenItems.empty()
            self._begin_stream(ratings)
        else:
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Refuses to go on with settings that do not fit what was learned."""

    def _settings(self) -> tuple[Any, ...]:
        """The values of all parameters; faster than `get_params`, which a single rating has no time for."""
        values: tuple[Any, ...] = _parameters_of(type(self))(self)
        return values

    def _check_stream(self, users: NDArray[Any], items: NDArray[Any], values: NDArray[np.float32]) -> None:
        """As `_check`, for ratings by id in which a pair may come more than once."""
        taken = self._takes_all(values)
        if taken and self._settings() == self._settings_checked:
            return
        one = [0 if taken else next(place for place, each in enumerate(values.tolist()) if not self._takes(each))]
        self._check(Ratings.from_arrays(users[one], items[one], values[one]))
        self._settings_checked = self._settings()

    def _takes_all(self, values: NDArray[np.float32]) -> bool:
        """Whether the model accepts all of these ratings."""
        return self._takes(float(values.min())) and self._takes(float(values.max()))

    def _takes(self, value: float) -> bool:
        """Whether the model accepts a rating."""
        return abs(value) <= _LARGEST and not (value < 0 and self.needs_nonnegative)

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        super()._begin(users, items)
        self._ends = Ends()

    def _forget_entries(self, left: Left) -> None:
        super()._forget_entries(left)
        self._ends = self._ends.shorten(self.n_ratings_)

    def _take_note(self, ratings: Ratings, users: NDArray[np.integer], items: NDArray[np.integer]) -> None:
        super()._take_note(ratings, users, items)
        self._ends = self._ends.merge(ratings.ends())
        self.range_ = self._ends.scale(self.n_ratings_)

    def _take_note_of_many(
        self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        """Adds the ratings to counts and sums, in their order, so that the cuts of a stream make no difference."""
        self.n_ratings_ += len(values)
        wide = values.astype(np.float64)
        np.add.at(self._user_counts.array, users, 1)
        np.add.at(self._user_sums.array, users, wide)
        np.add.at(self._item_counts.array, items, 1)
        self._sum = float(np.cumsum(np.append(self._sum, wide))[-1])
        self.mean_ = self._sum / self.n_ratings_
        self._ends = self._ends.extend(values)
        self.range_ = self._ends.scale(self.n_ratings_)
        self._note_seen(users, items)

    def _note_seen(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        if self._seen is not None:
            self._seen.add(users, items)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        if not self._ends.belong_to(self.n_ratings_):
            raise ValueError(f"ends are not those of {self.n_ratings_} ratings")

    @abstractmethod
    def _begin_stream(self, ratings: Ratings) -> None:
        """Prepares an empty model, before the first rating of a stream."""

    @abstractmethod
    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """Learns from ratings in the order given, by row numbers."""

    def _grow(self, ratings: Ratings, order: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Adds the new ids, numbered in the order in which they arrive; returns the rows of all users and items."""
        self._own_vocabularies()
        user_ids = ratings.users.ids(_by_first_appearance(ratings.user_indices[order], ratings.n_users))
        item_ids = ratings.items.ids(_by_first_appearance(ratings.item_indices[order], ratings.n_items))
        self.items_.index(item_ids)  # ids of the wrong kind are refused before anything has grown
        self.users_.add(user_ids)
        self.items_.add(item_ids)
        self._add_rows()
        return self.users_.index(ratings.users.ids()), self.items_.index(ratings.items.ids())

    def _own_vocabularies(self) -> None:
        """Copies the vocabularies before they grow; until then they are those of the ratings it was fitted to."""
        if not self._owns_vocabularies:
            self.users_, self.items_ = self.users_.copy(), self.items_.copy()
            self._owns_vocabularies = True

    def _add_rows(self) -> None:
        """Extends counts and sums to the ids that have none yet."""
        for counts, ids in ((self._user_counts, self.users_), (self._item_counts, self.items_)):
            counts.extend(np.zeros(len(ids) - len(counts), dtype=np.int64))
        self._user_sums.extend(np.zeros(len(self.users_) - len(self._user_sums)))


class OnlineFactorModel(OnlineModel, FactorModel):
    """A factor model that can learn from single ratings in their order.

    A row starts from its number and the seed alone, so it does not matter when it is added, nor how the stream is
    cut into calls.
    """

    rank: int

    def learn_one(self, user: Id, item: Id, rating: float, time: int | None = None) -> Self:
        """Continues learning from a single rating: `partial_fit` without its overhead.

        Parameters
        ----------
        user, item : int or str
            Who rated what; either may be new.
        rating : float
            How it was rated.
        time : int, optional
            When, in seconds. Ratings are learned in the order of the calls; no model weighs them by time as yet.

        Returns
        -------
        Model
            The model itself.
        """
        one = self._known_rating(user, item, rating)
        if one is None:  # the first of all, of a new user or of a new item, or after a change of settings
            super().learn_one(user, item, rating, time)
            self._settings_checked = self._settings()
            return self
        with self._writing:
            user_row, item_row, value = one
            self._take_note_of_one(user_row, item_row, value)
            self._learn_single(user_row, item_row, value)
            self._mean_user.touch(user_row)
            self._mean_item.touch(item_row)
            Model._renew_view(self)
        return self

    def _learn_single(self, user: int, item: int, value: float) -> None:
        """Learns from one rating by row numbers, to the bit as from a stream of one."""
        self._learn_stream(np.array([user], np.int32), np.array([item], np.int32), np.array([value], np.float32))

    def _known_rating(self, user: Id, item: Id, rating: float) -> tuple[int, int, float] | None:
        """Row numbers and value of a rating whose ids are known and whose value is accepted; None otherwise."""
        if self._settings() != self._settings_checked or not self._owns_vocabularies:
            return None
        rows = self.users_.row_of(user), self.items_.row_of(item)
        if min(rows) < 0 or not self._takes(float(rating)):
            return None
        return *rows, float(np.float32(rating))

    def _take_note_of_many(
        self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        super()._take_note_of_many(users, items, values)
        self._note_choices(users, items)

    def _take_note_of_one(self, user: int, item: int, value: float) -> None:
        """As `_take_note_of_many`, to the bit."""
        if self._item_surplus is not None:
            self._note_choices(np.array([user]), np.array([item]))
        self.n_ratings_ += 1
        self._user_counts.array[user] += 1
        self._user_sums.array[user] += value
        self._item_counts.array[item] += 1
        self._sum += value
        self.mean_ = self._sum / self.n_ratings_
        if not self._ends.hold(value):
            self._ends = self._ends.extend(np.array([value], np.float32))
            self.range_ = self._ends.scale(self.n_ratings_)
        elif changes_at(self.n_ratings_):
            self.range_ = self._ends.scale(self.n_ratings_)
        if self._seen is not None:
            self._seen.add_one(user, item)

    def _show_rows(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        if hasattr(self, "_mean_user") and self._mean_user.rows is self._users:
            self._mean_user.touch_rows(users)
            self._mean_item.touch_rows(items)
            Model._renew_view(self)
        else:
            self._renew_view()

    def _check_unchanged(self) -> None:
        if self.rank != self.rank_:
            raise ValueError(f"rank is {self.rank}, what was learned has {self.rank_}; fit anew, or set rank back")

    def _begin_stream(self, ratings: Ratings) -> None:
        self._set_factors(self._start_of_users(0, 0), self._start_of_items(0, 0), self.rank)

    @abstractmethod
    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        """Padded rows first … last − 1 as they are before any rating."""

    @abstractmethod
    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        """As `_start_of_users`, for items."""

    def _add_rows(self) -> None:
        self._users.extend(self._start_of_users(len(self._users), len(self.users_)))
        self._items.extend(self._start_of_items(len(self._items), len(self.items_)))
        super()._add_rows()
        self._match_rows()


@functools.cache
def _parameters_of(cls: type[OnlineModel]) -> Callable[[OnlineModel], Any]:
    return operator.attrgetter(*cls._get_param_names())


def _by_first_appearance(indices: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """The distinct indices, all below n, in the order in which they first appear."""
    first = np.full(n, len(indices))
    first[indices[::-1]] = np.arange(len(indices))[::-1]  # of equal indices the last write stays: the first one
    distinct = np.flatnonzero(first < len(indices))
    return distinct[np.argsort(first[distinct])]
