"""Non-negative factors by multiplicative updates (Lee, Seung, NIPS 2000), over the observed entries only.

    ½ Σ_Ω (r_ui − p_u·q_i)² + ½ λ (‖P‖² + ‖Q‖²) + ½ κ (‖P − P⁰‖² + ‖Q − Q⁰‖²),   P, Q ≥ 0

    p_uk ← p_uk (Σ_i r_ui q_ik + κ p⁰_uk) / (Σ_i (p_u·q_i) q_ik + (λ + κ) p_uk),    then q_ik likewise.

The objective never rises; λ is `penalty`, κ is `shrinkage` times the mean rating, so that it does not depend on the
units of the ratings. A factor whose denominator is zero stays: nothing depends
on it. The start P⁰, Q⁰ is the product of the effects of the user and of the item (see `Bias`), spread over the factors
a little unevenly; κ keeps rows with few ratings near it. The paper's updates are κ = 0.
"""

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, Rows, multiplicative_rows, padded, solve_rows, squared_errors
from rankfill.models.base import WarmPath
from rankfill.models.bias import Bias
from rankfill.models.factors import FactorModel
from rankfill.models.online import random_rows
from rankfill.models.settings import check_no_negative, check_positive, check_training, check_whole
from rankfill.models.training import Callback, Training

# How far the factors of an item differ at the start: equal ones would stay equal for ever.
_UNEVENNESS = 0.5
# The smallest effect to start from: zero would stay zero for ever.
_LEAST = 0.05


class MultiplicativeNMF(FactorModel):
    """Non-negative matrix factorisation that leaves the unknown entries out.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: Pulls the factors to zero.
    shrinkage: Pulls the factors to the effects of user and item that they start from; 0 for the plain updates.

    >>> from rankfill import MultiplicativeNMF, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = MultiplicativeNMF(rank=2, shrinkage=0, passes=200).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    warm_path: ClassVar[WarmPath] = "weakest first"

    def __init__(
        self,
        *,
        rank: int = 10,
        penalty: float = 0.0,
        shrinkage: float = 40.0,
        passes: int = 50,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Rows for people not in training, the items as they are: the best ones, or with shrinkage as many updates as
        there are passes, from the row of a user without effect."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self.rank_)
        if self.shrinkage == 0:
            solve_rows(known.by_user, rows, self._items.array, self._ridge())
        else:
            rows[:, : self.rank_] = (self.mean_ / self.rank_) ** 0.5
            start = rows.copy()
            for _ in range(self.passes):
                self._update(known.by_user, rows, self._items.array, start)
        return rows[:, : self.rank_]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_positive("penalty", self.penalty, or_zero=True)
        check_positive("shrinkage", self.shrinkage, or_zero=True)
        check_no_negative(ratings, "MultiplicativeNMF", "use ratings.shifted()")

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        starts = self._start(ratings)
        if init is not None:
            self._start_from(init)
        users, items = self._users.array, self._items.array
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._update(ratings.by_user, users, items, starts[0])
                self._update(ratings.by_item, items, users, starts[1])
                errors = squared_errors(ratings.by_user, users, items, self._ridge())
                penalties = sum(map(self._penalty, (users, items), starts))
                training.report(0.5 * (errors.plain + penalties), (errors.plain / len(ratings)) ** 0.5)

    def _update(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], start: NDArray[np.float32]
    ) -> None:
        multiplicative_rows(rows, moving, fixed, start, float(self.penalty), float(self.shrinkage * self.mean_))

    def _penalty(self, rows: NDArray[np.float32], start: NDArray[np.float32]) -> float:
        exact, moved = rows.astype(np.float64), rows.astype(np.float64) - start
        return float(self.penalty * np.vdot(exact, exact) + self.shrinkage * self.mean_ * np.vdot(moved, moved))

    def _start(self, ratings: Ratings) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Sets the factors to the effects of users and items, and returns a copy of them."""
        rank, mean = int(self.rank), self.mean_ or 1.0
        effects = Bias().fit(ratings)
        of_user, of_item = 1 + effects.user_factors_[:, 1] / mean, effects.item_factors_[:, 0] / mean
        uneven = 1 + _UNEVENNESS * (random_rows(0, ratings.n_items, rank, self.seed) - 0.5)
        uneven /= uneven.mean(axis=1, keepdims=True)
        level = (self.mean_ / rank) ** 0.5
        users, items = padded(ratings.n_users, rank), padded(ratings.n_items, rank)
        users[:, :rank] = level * np.maximum(of_user, _LEAST)[:, None]
        items[:, :rank] = level * np.maximum(of_item, _LEAST)[:, None] * uneven
        users[self._user_counts.array == 0] = 0
        items[self._item_counts.array == 0] = 0
        self._set_factors(users, items, rank)
        return users.copy(), items.copy()

    def _ridge(self) -> Ridge:
        return Ridge(rank=self.rank_, penalty=float(self.penalty), nonnegative=True)
