"""Means and effects, the baseline of all models (shrinkage α = `shrinkage`, μ the mean rating).

effects="none"   r̂_ui = μ
effects="items"  r̂_ui = b̃_i,                b̃_i = (α μ + Σ_u r_ui) / (α + |U(i)|)
effects="users"  r̂_ui = b̃_u,                b̃_u = (α μ + Σ_i r_ui) / (α + |I(u)|)
effects="both"   r̂_ui = b̃_i + d̃_u,          d̃_u = Σ_i (r_ui − b̃_i) / (α + |I(u)|)
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows, padded, padded_copy
from rankfill.models.base.explanation import Part
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.settings import check_positive, check_word
from rankfill.models.base.training import Callback, Training
from rankfill.objectives.measures import ErrorSums

Effects = Literal["none", "items", "users", "both"]


class Bias(FactorModel):
    """The mean rating, with the effect of each user and of each item: the baseline of everything.

    Use it to see what a model has to beat, or where there are too few ratings to learn more. Cold start: an unknown
    user or item has no effect, and for a pair of both the answer is the mean rating.

    Parameters
    ----------
    effects : {"both", "items", "users", "none"}, default="both"
        Whose effects are added to the mean rating.
    shrinkage : float, default=5.0
        How many ratings of the average person an effect is mixed with, zero or more. Larger values trust users and
        items with few ratings less; 0 takes plain means.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_effects_ : ndarray of shape (n_users,)
        How far each user is above what the items rated suggest; zero where there are no ratings.
    item_effects_ : ndarray of shape (n_items,)
        How far each item is above the mean rating; zero where there are no ratings. A prediction is
        ``mean_ + user_effects_[u] + item_effects_[i]``.
    user_factors_, item_factors_ : ndarray of shape (n_users, 2) and (n_items, 2)
        The same numbers as factors: (1, user effect) and (mean rating + item effect, 1).
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        Zeros: the effects are kept as factors.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    rank_ : int
        The number of columns of the factors, 2.
    biased_ : bool
        Whether there are biases beside the factors: False.
    offset_ : float
        What is added to the product of the factors: 0.
    history_ : list of EpochReport
        The one pass over the ratings.

    Examples
    --------
    >>> from rankfill import Bias, Ratings
    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 2, 4])
    >>> model = Bias(effects="items", shrinkage=0).fit(ratings)
    >>> model.predict("bob", ["tea", "milk"])
    array([4.5, 2. ], dtype=float32)
    >>> model.item_effects_.round(2)  # in the order of model.items_: milk, tea
    array([-1.67,  0.83], dtype=float32)
    """

    readable_factors: ClassVar[bool] = False
    learns_in_half_passes: ClassVar[bool] = True
    learns_from_store: ClassVar[bool] = True
    passes, tol = 1, 0.0  # one pass is all there is

    def __init__(self, *, effects: Effects = "both", shrinkage: float = 5.0, clip: bool = True) -> None:
        self.effects = effects
        self.shrinkage = shrinkage
        self.clip = clip

    @property
    def user_effects_(self) -> NDArray[np.float32]:
        """How far each user is above what the items rated suggest, in the order of `users_`."""
        self._check_fitted()
        return self._users.array[:, 1].copy()

    @property
    def item_effects_(self) -> NDArray[np.float32]:
        """How far each item is above the mean rating, in the order of `items_`."""
        self._check_fitted()
        effects: NDArray[np.float32] = self._items.array[:, 0] - np.float32(self.mean_)
        return effects

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("effects", self.effects, Effects)
        check_positive("shrinkage", self.shrinkage, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                square = self._set_effects(ratings)
                training.report(square, (square / len(ratings)) ** 0.5)

    def _set_effects(self, ratings: Ratings) -> float:
        """Learns the effects of items, then of users; returns the sum of squared errors."""
        self._set_factors(padded(ratings.n_users, 2), padded(ratings.n_items, 2), rank=2)
        self._users.array[:, 0] = self._items.array[:, 1] = 1
        self._items.array[:, 0] = self.mean_
        users, items, range_ = self._users.array, self._items.array, self.range_ if self.clip else None
        if self.effects in ("items", "both"):
            ratings.half_pass("item", ItemEffects(self.mean_, self.shrinkage), items, users)
        step = UserEffects(self.shrinkage, self.effects in ("users", "both"), range_)
        return ratings.half_pass("user", step, users, items)[0]

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Rows (1, d̃_u) for people not in training; the items keep their effects."""
        rows = np.zeros((known.n_users, 2), dtype=np.float32)
        rows[:, 0] = 1
        if self.effects in ("users", "both"):
            rows[:, 1] = user_effects(known.by_user, self._items.array, self.shrinkage)
        return rows

    def predict_rows(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Predicts by row number, in double precision and not clipped.

        Parameters
        ----------
        users, items : ndarray of int32
            Pairs of row numbers, all of them known.

        Returns
        -------
        ndarray of float64
        """
        scores: NDArray[np.float64] = self._items.array[items, 0] + self._users.array[users, 1].astype(np.float64)
        return scores

    def shrunk_mean(
        self, groups: NDArray[np.int32], values: NDArray[np.floating], n_groups: int
    ) -> NDArray[np.float64]:
        """Computes Σ values / (shrinkage + count) of each group; 0 for an empty one.

        Parameters
        ----------
        groups : ndarray of int32
            The group of each value.
        values : ndarray
            What to take means of.
        n_groups : int
            The number of groups.

        Returns
        -------
        ndarray of float64
            One mean per group.
        """
        return shrunk_mean(groups, values, n_groups, self.shrinkage)

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        parts = [Part("level", "mean rating", self.mean_)]
        if user >= 0:
            parts.append(Part("user", "", float(self._users.array[user, 1])))
        if item >= 0:
            parts.append(Part("item", "", float(self._items.array[item, 0]) - self.mean_))
        return Reading([*parts, *self._lift_parts(user, item)])

    def _default_user(self) -> NDArray[np.float32]:
        return _row(1.0, 0.0)

    def _default_item(self) -> NDArray[np.float32]:
        return _row(self.mean_, 1.0)


def shrunk_mean(
    groups: NDArray[np.int32], values: NDArray[np.floating], n_groups: int, shrinkage: float
) -> NDArray[np.float64]:
    """Σ values / (shrinkage + count) of each group; 0 for an empty one."""
    sums = np.bincount(groups, weights=values, minlength=n_groups)
    counts = np.bincount(groups, minlength=n_groups)
    means = np.zeros(n_groups)
    np.divide(sums, shrinkage + counts, out=means, where=counts > 0)
    return means


def user_effects(rows: Rows, items: NDArray[np.float32], shrinkage: float) -> NDArray[np.float64]:
    """d̃_u of each row of ratings, b̃_i in the first column of the items."""
    return shrunk_mean(rows.row_of_entry(), rows.values - items[rows.indices, 0], rows.n_rows, shrinkage)


@dataclass(frozen=True)
class ItemEffects:
    """A half pass: rows of items become (b̃_i, 1)."""

    mean: float
    shrinkage: float
    goes_on: ClassVar[bool] = False

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        for place, part in rows.pieces():
            effects = shrunk_mean(part.row_of_entry(), part.values - self.mean, part.n_rows, self.shrinkage)
            moving[place : place + part.n_rows, 0] = self.mean + effects
        moving[:, 1] = 1
        return ()


@dataclass(frozen=True)
class UserEffects:
    """A half pass: rows of users become (1, d̃_u), or (1, 0) where they have none; the sum is that of squared errors."""

    shrinkage: float
    wanted: bool
    clipped_to: tuple[float, float] | None
    goes_on: ClassVar[bool] = False

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        squares = 0.0
        for place, part in rows.pieces():
            own = moving[place : place + part.n_rows]
            own[:, 0], own[:, 1] = 1, user_effects(part, fixed, self.shrinkage) if self.wanted else 0
            predicted = fixed[part.indices, 0] + own[part.row_of_entry(), 1]
            if self.clipped_to is not None:
                predicted = np.clip(predicted, *self.clipped_to)
            squares += ErrorSums.of("rmse", part.values, predicted).above
        return (squares,)


def bias_of(users: NDArray[np.float32], items: NDArray[np.float32], mean: float) -> Bias:
    """The bias model with these rows of factors."""
    bias = Bias(clip=False)
    bias.mean_ = mean
    bias._set_factors(padded_copy(users), padded_copy(items), rank=2)
    return bias


def _row(first: float, second: float) -> NDArray[np.float32]:
    row = padded(1, 2).ravel()
    row[:2] = first, second
    return row
