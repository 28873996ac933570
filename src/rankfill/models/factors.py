"""Models whose prediction is a product of factors: p_u·q_i, with offset and biases μ + b_u + b_i + p_u·q_i."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Growing, padded_copy, predict_pairs, top_n
from rankfill.models.base import Model


class FactorModel(Model):
    """Prediction offset_ + p_u·q_i. Cold start: an unknown user is the mean of the users learned, an unknown item the
    mean of the items learned, and for a pair of both the answer is the mean rating.

    A model with biases keeps them in two more columns, (p_u, b_u, 1) and (q_i, 1, b_i): their product is
    p_u·q_i + b_u + b_i, so that all kernels serve models with and without.
    """

    readable_factors: ClassVar[bool] = True
    """Whether a factor can be read as a topic."""

    _users: Growing
    _items: Growing
    rank_: int
    biased_: bool
    offset_: float

    @property
    def user_factors_(self) -> NDArray[np.float32]:
        """A row a user, in the order of `users_`; read-only."""
        return self._read_only(self._users)

    @property
    def item_factors_(self) -> NDArray[np.float32]:
        """A row an item, in the order of `items_`; read-only."""
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

    def _set_factors(
        self,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        rank: int,
        *,
        biased: bool = False,
        offset: float = 0.0,
    ) -> None:
        """Takes padded rows of `rank` factors, and two more columns when `biased`."""
        self._users, self._items = Growing(users), Growing(items)
        self.rank_, self.biased_, self.offset_ = int(rank), bool(biased), float(offset)

    def _start_from(self, init: "FactorModel") -> None:
        """Takes over the rows of the ids that both models know."""
        init._check_fitted()
        if (init.rank_, init.biased_) != (self.rank_, self.biased_):
            raise ValueError(f"init has rank {init.rank_}, this model {self.rank_}; give both the same settings")
        for own, theirs, own_ids, their_ids in (
            (self._users, init._users, self.users_, init.users_),
            (self._items, init._items, self.items_, init.items_),
        ):
            rows = self._own_rows(their_ids, own_ids)
            own.array[rows >= 0] = theirs.array[rows[rows >= 0]]

    def _default_user(self) -> NDArray[np.float32]:
        return _mean_row(self._users.array, self._user_counts.array)

    def _default_item(self) -> NDArray[np.float32]:
        return _mean_row(self._items.array, self._item_counts.array)

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
        return products + np.float32(self.offset_) if self.offset_ else products

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
        return self._best_for_rows(rows, n, allowed, seen_indptr, seen_items)

    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        rows = padded_copy(self.fold_in(ratings))
        rows[ratings.by_user.counts() == 0] = self._default_user()
        if not exclude_seen:
            return self._best_for_rows(rows, n, allowed, np.zeros(len(rows) + 1, np.int64), np.empty(0, np.int32))
        seen = self._in_own_items(ratings)
        return self._best_for_rows(rows, n, allowed, seen.by_user.indptr, seen.item_indices)

    def _best_for_rows(
        self,
        rows: NDArray[np.float32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        if self.biased_ and self.offset_:  # as part of the bias, so that equal scores are ranked as equal
            rows[:, self.rank_] += np.float32(self.offset_)
            return top_n(rows, self._items.array, self._width, n, seen_indptr, seen_items, allowed)
        items, scores = top_n(rows, self._items.array, self._width, n, seen_indptr, seen_items, allowed)
        return items, scores + np.float32(self.offset_) if self.offset_ else scores

    def _in_own_items(self, ratings: Ratings) -> Ratings:
        """The ratings of the items learned, numbered as here, users as there."""
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        known = ratings.select(items >= 0)
        return Ratings.from_indices(
            ratings.users, self.items_, known.user_indices, items[items >= 0], known.values, known.timestamps
        )

    def _snapshot(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._users.array.copy(), self._items.array.copy()

    def _restore(self, snapshot: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
        self._users, self._items = map(Growing, snapshot)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        tensors |= {"user_factors": self._users.array, "item_factors": self._items.array}
        return tensors, about | {"rank": self.rank_, "biased": self.biased_, "offset": self.offset_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self._set_factors(
            tensors["user_factors"],
            tensors["item_factors"],
            about["rank"],
            biased=about["biased"],
            offset=about["offset"],
        )


def _mean_row(factors: NDArray[np.float32], counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of the rows that have been learned; zeros when there is none."""
    learned = counts > 0
    if not learned.any():
        return np.zeros(factors.shape[1], dtype=np.float32)
    mean: NDArray[np.float32] = factors.mean(axis=0, where=learned[:, None], dtype=np.float64).astype(np.float32)
    return mean
