"""Means and effects, the baseline of everything (shrinkage α = `shrinkage`, μ the mean rating).

effects="none"   r̂_ui = μ
effects="items"  r̂_ui = b̃_i,                b̃_i = (α μ + Σ_u r_ui) / (α + |U(i)|)
effects="users"  r̂_ui = b̃_u,                b̃_u = (α μ + Σ_i r_ui) / (α + |I(u)|)
effects="both"   r̂_ui = b̃_i + d̃_u,          d̃_u = Σ_i (r_ui − b̃_i) / (α + |I(u)|)
"""

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import padded, padded_copy
from rankfill.models.factors import FactorModel
from rankfill.models.settings import check_positive, check_word
from rankfill.models.training import Callback, Training

Effects = Literal["none", "items", "users", "both"]


class Bias(FactorModel):
    """The mean rating with the effects of the item and of the user.

    The effects are held as factors: user (1, d̃_u), item (b̃_i, 1). An unknown user or item has no effect.

    >>> from rankfill import Bias, Ratings
    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 2, 4])
    >>> Bias(effects="items", shrinkage=0).fit(ratings).predict("bob", ["tea", "milk"])
    array([4.5, 2. ], dtype=float32)
    """

    readable_factors: ClassVar[bool] = False
    passes, tol = 1, 0.0  # one pass is all there is

    def __init__(self, *, effects: Effects = "both", shrinkage: float = 5.0, clip: bool = True) -> None:
        self.effects = effects
        self.shrinkage = shrinkage
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("effects", self.effects, Effects)
        check_positive("shrinkage", self.shrinkage, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._set_effects(ratings)
                train = self._error(ratings)
                training.report(train**2 * len(ratings), train)

    def _set_effects(self, ratings: Ratings) -> None:
        item_level = np.full(ratings.n_items, self.mean_)
        if self.effects in ("items", "both"):
            item_level += self.shrunk_mean(ratings.item_indices, ratings.values - self.mean_, ratings.n_items)
        items = np.column_stack([item_level, np.ones(ratings.n_items)])
        self._set_factors(padded_copy(np.zeros((ratings.n_users, 2))), padded_copy(items), rank=2)
        self._users.array[:, :2] = self.fold_in(ratings)

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Rows (1, d̃_u) for people not in training; the items keep their effects."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = np.zeros((new_user_ratings.n_users, 2), dtype=np.float32)
        rows[:, 0] = 1
        if self.effects in ("users", "both"):
            left_over = known.values - self._items.array[known.item_indices, 0]
            rows[:, 1] = self.shrunk_mean(known.user_indices, left_over, len(rows))
        return rows

    def predict_rows(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Predictions by row number, in double and not clipped."""
        levels: NDArray[np.float64] = self._items.array[items, 0] + self._users.array[users, 1].astype(np.float64)
        return levels

    def shrunk_mean(
        self, groups: NDArray[np.int32], values: NDArray[np.floating], n_groups: int
    ) -> NDArray[np.float64]:
        """Σ values / (α + count) of each group; 0 for an empty one."""
        sums = np.bincount(groups, weights=values, minlength=n_groups)
        counts = np.bincount(groups, minlength=n_groups)
        means = np.zeros(n_groups)
        np.divide(sums, self.shrinkage + counts, out=means, where=counts > 0)
        return means

    def _default_user(self) -> NDArray[np.float32]:
        return _row(1.0, 0.0)

    def _default_item(self) -> NDArray[np.float32]:
        return _row(self.mean_, 1.0)


def _row(first: float, second: float) -> NDArray[np.float32]:
    row = padded(1, 2).ravel()
    row[:2] = first, second
    return row
