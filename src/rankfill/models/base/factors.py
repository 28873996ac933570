"""Models whose prediction is a product of factors: p_u·q_i, with offset and biases μ + b_u + b_i + p_u·q_i."""

import copy
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings
from rankfill.kernels import LANES, Growing, Ridge, gram_matrix, padded, padded_copy, predict_one, predict_pairs, top_n
from rankfill.models.base.chosen import ChosenItems
from rankfill.models.base.explanation import Part
from rankfill.models.base.factor_reasons import Product, Rated
from rankfill.models.base.means import MeanRow
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.starts import checked_factors
from rankfill.models.base.state import Parts


class FactorModel(ChosenItems):
    """Prediction offset_ + p_u·q_i. Cold start: an unknown user is the mean of the users learned, an unknown item the
    mean of the items learned, and for a pair of both the answer is the mean rating. With features (`fit`) an item or a
    user without ratings has a row that is guessed from them, and how well the user chooses counts, too (`chosen.py`).

    A model with biases keeps them in two more columns, (p_u, b_u, 1) and (q_i, 1, b_i): their product is
    p_u·q_i + b_u + b_i, so that all kernels serve models with and without.
    """

    readable_factors: ClassVar[bool] = True
    """Whether a factor can be read as a topic."""

    starts_from_factors: ClassVar[bool] = False
    """Whether `fit` can start from given factors."""

    _bare: bool = False
    """Whether this only holds given factors, without biases and offset of its own."""

    _learned: ClassVar[tuple[str, ...]] = ("rank_", "biased_", "offset_", "_users", "_items")

    rank_: int
    biased_: bool
    offset_: float
    _users: Growing
    _items: Growing
    _mean_user: MeanRow
    _mean_item: MeanRow

    @property
    def user_factors_(self) -> NDArray[np.float32]:
        """One row per user, in the order of `users_`; read-only."""
        return self._read_only(self._users)

    @property
    def item_factors_(self) -> NDArray[np.float32]:
        """One row per item, in the order of `items_`; read-only."""
        return self._read_only(self._items)

    @property
    def user_biases_(self) -> NDArray[np.float32]:
        """How far each user is above the offset; zeros for a model without biases."""
        return self._users.array[:, self.rank_].copy() if self.biased_ else np.zeros(len(self._users), np.float32)

    @property
    def item_biases_(self) -> NDArray[np.float32]:
        """How far each item is above the offset; zeros for a model without biases."""
        return self._items.array[:, self.rank_ + 1].copy() if self.biased_ else np.zeros(len(self._items), np.float32)

    @property
    def _width(self) -> int:
        """How many columns of the rows are in use."""
        return self.rank_ + 2 * self.biased_

    def _read_only(self, factors: Growing) -> NDArray[np.float32]:
        view = factors.array[:, : self.rank_]
        view.flags.writeable = False
        return view

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Learns about people not in training; the model itself stays unchanged.

        Parameters
        ----------
        new_user_ratings : Ratings
            What they rated. Ratings of items that the model does not know are left out.

        Returns
        -------
        ndarray
            One row per person, in the order of `new_user_ratings.users`: the factors and, for a model with biases,
            the bias of the person and a 1.
        """
        view = self._view()
        return view._fold_in(view._in_own_items(new_user_ratings))

    @abstractmethod
    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Computes the best rows for the users of these ratings, items fixed and numbered as here."""

    def _set_factors(
        self,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        rank: int,
        *,
        biased: bool = False,
        offset: float = 0.0,
    ) -> None:
        """Takes over padded rows of `rank` factors, with two more columns when `biased`."""
        self._users, self._items = Growing(users), Growing(items)
        self.rank_, self.biased_, self.offset_ = int(rank), bool(biased), float(offset)

    def _from_factors(self, factors: tuple[ArrayLike, ArrayLike], ratings: Ratings) -> Self:
        if not self.starts_from_factors:
            return super()._from_factors(factors, ratings)
        if len(factors) != 2:
            raise ValueError(f"init must be a pair of user and item factors, found {len(factors)} arrays")
        users, items = (checked_factors(*each) for each in zip(("user", "item"), factors, ratings.shape, strict=True))
        if users.shape[1] != items.shape[1]:
            raise ValueError(
                f"init has user factors of rank {users.shape[1]} and item factors of rank {items.shape[1]}; "
                "give both the same number of columns"
            )
        holder = copy.copy(self)
        holder._begin(ratings.users, ratings.items)
        holder._bare = True
        holder._set_factors(padded_copy(users), padded_copy(items), users.shape[1])
        return holder

    def _start_from(self, init: "FactorModel") -> None:
        """Takes over the rows of the ids that both models know, and the offset of a model that has learned one."""
        init._check_fitted()
        if init.rank_ != self.rank_ or (init.biased_ != self.biased_ and not init._bare):
            raise ValueError(f"init has rank {init.rank_}, this model {self.rank_}; give both the same settings")
        for own, theirs, own_ids, their_ids in (
            (self._users, init._users, self.users_, init.users_),
            (self._items, init._items, self.items_, init.items_),
        ):
            rows = self._own_rows(their_ids, own_ids)
            columns = slice(self.rank_ if init._bare else None)
            own.array[rows >= 0, columns] = theirs.array[rows[rows >= 0], columns]

    def _default_user(self) -> NDArray[np.float32]:
        """The row that stands in for a user of whom nothing was learned."""
        return self._mean_user.row()

    def _default_item(self) -> NDArray[np.float32]:
        """The row that stands in for an item of which nothing was learned."""
        return self._mean_item.row()

    def _renew_view(self) -> None:
        if hasattr(self, "_items"):
            self._mean_user = MeanRow(self._users, self._user_counts)
            self._mean_item = MeanRow(self._items, self._item_counts)
        super()._renew_view()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_mean_user", "_mean_item")}

    @property
    def _both_unknown(self) -> float:
        """The prediction for a pair of which nothing was learned."""
        return self.mean_

    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        unused = np.zeros(self._users.array.shape[1], dtype=np.float32)
        products = predict_pairs(
            users,
            items,
            self._users.array,
            self._items.array,
            self._default_user() if (users < 0).any() else unused,
            self._default_item() if (items < 0).any() else unused,
            self._both_unknown - self.offset_,
        )
        lifts = self._lifts(users, items)
        scores: NDArray[np.float32] = products + np.float32(self.offset_) if self.offset_ else products
        return scores if lifts is None else scores + lifts

    def _score_one(self, user: int, item: int) -> float:
        if user >= 0 and not (self._user_counts.array[user] > 0 or self._is_described("user", user)):
            user = -1
        if item >= 0 and not (self._item_counts.array[item] > 0 or self._is_described("item", item)):
            item = -1
        users, items = self._users.array, self._items.array
        score = self.offset_ + predict_one(
            user,
            item,
            users,
            items,
            self._default_user() if user < 0 else users[0],
            self._default_item() if item < 0 else items[0],
            self._both_unknown - self.offset_ if user < 0 and item < 0 else 0.0,
        )
        if self._user_surplus is not None and min(user, item) >= 0:
            lifts = self._lifts(np.array([user], np.int32), np.array([item], np.int32))
            score += 0.0 if lifts is None else float(lifts[0])
        return min(max(score, self.range_[0]), self.range_[1]) if self._clips else score

    def _best_items(
        self,
        users: NDArray[np.int32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        rows = self._users.array[users]
        if (users < 0).any():
            rows[users < 0] = self._default_user()
        lifts = None if self._user_surplus is None else self._user_lifts(users)
        return self._best_for_rows(rows, n, allowed, (seen_indptr, seen_items), lifts)

    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        known = self._in_own_items(ratings)
        rows, lifts = self._folded_rows(known), self._lifts_of(known)
        seen = known.by_user.indptr, known.item_indices
        if not exclude_seen:
            seen = np.zeros(len(rows) + 1, np.int64), np.empty(0, np.int32)
        return self._best_for_rows(rows, n, allowed, seen, lifts)

    def _item_vectors(self, items: NDArray[np.int32]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._items.array[items, : self.rank_]
        return vectors

    def _score_all_folded(self, ratings: Ratings) -> NDArray[np.float32]:
        return self._with_newcomers(ratings)._score_all(np.arange(ratings.n_users, dtype=np.int32))

    def _score_folded(
        self, ratings: Ratings, people: NDArray[np.integer], items: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        return self._with_newcomers(ratings)._score(people.astype(np.int32), self._learned_items(items))

    def _with_newcomers(self, ratings: Ratings) -> Self:
        """A copy of the model whose users are these people, who were not in training."""
        folded, known = copy.copy(self), self._in_own_items(ratings)
        folded._users = Growing(self._folded_rows(known))
        folded._take_choices(known)
        return folded

    def _folded_rows(self, known: Ratings) -> NDArray[np.float32]:
        """Padded rows of people who were not in training; one without known ratings is like any unknown user."""
        rows = padded(known.n_users, max(self._width, 1))
        rows[:, : self._width] = self._fold_in(known)
        unknown = known.by_user.counts() == 0
        if unknown.any():
            rows[unknown] = self._default_user()
        return rows

    def _best_for_rows(
        self,
        rows: NDArray[np.float32],
        n: int,
        allowed: NDArray[np.bool_],
        seen: tuple[NDArray[np.int64], NDArray[np.int32]],
        lifts: NDArray[np.float32] | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        width, items, offset = max(self._width, 1), self._items.array, np.float32(self.offset_)  # without factors zeros
        if self.biased_ and self.offset_:  # as part of the bias, so that equal scores are ranked as equal
            rows[:, self.rank_] += offset
            offset = np.float32(0)
        if lifts is not None and (shares := self._item_shares(slice(None)))[allowed].any():
            rows, items = (
                padded_copy(np.column_stack([each[:, :width], one])) for each, one in ((rows, lifts), (items, shares))
            )
            width += 1
        found, scores = top_n(rows, items, width, n, *seen, allowed)
        return found, scores + offset if offset else scores

    def _vectors(self, side: str) -> NDArray[np.floating]:
        return self.item_factors_ if side == "items" else self.user_factors_

    def _ridge_of_users(self) -> Ridge | None:
        """The regression that the row of a user solves on the rows of the items; None for a model that solves none."""
        return None

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        if user < 0 and item < 0:
            return Reading([Part("level", "level where nothing is known", self._both_unknown)])
        product = Product(
            self._default_user() if user < 0 else self._users.array[user],
            self._default_item() if item < 0 else self._items.array[item],
            self.rank_,
            self.biased_,
            self.offset_,
        )
        parts, lift = product.by_factor(), self._lift_parts(user, item)
        if own is None or len(own.items) == 0 or user < 0:
            return Reading([*parts, *lift])
        names = self.items_.ids(own.items).tolist()
        rated = Rated(self._items.array[own.items], self.item_biases_[own.items], names, own.values)
        ridge = self._ridge_of_users()
        gram = None if ridge is None or ridge.confidence is None else gram_matrix(self._items.array)
        by_rating, note = product.by_rating(rated, ridge, gram)
        return Reading([*parts, *lift], [*by_rating, *lift], note)

    def _pack(self, history: bool) -> Parts:
        """Packs only the columns in use."""
        parts = super()._pack(history)
        for name in ("users", "items"):
            parts.tensors[name] = parts.tensors[name][:, : self._width]
        return parts

    def _unpack(self, parts: Parts) -> None:
        rank, biased = parts.word("rank", int), parts.word("biased", bool)
        for name, counts in (("users", "user_counts"), ("items", "item_counts")):
            rows = parts.finite(name, np.float32, len(parts.tensor(counts)))
            if rows.ndim != 2 or rank < 0 or rows.shape[1] != rank + 2 * biased:
                raise ValueError(f"{name} has the shape {rows.shape}, which is not that of {rank} factors")
            parts.tensors[name] = rows if rows.shape[1] % LANES == 0 < rows.shape[1] else padded_copy(rows)
        super()._unpack(parts)
