"""Non-negative factors by multiplicative updates (Lee, Seung, NIPS 2000), over the observed entries only.

    ½ Σ_Ω (r_ui − p_u·q_i)² + ½ λ (‖P‖² + ‖Q‖²),   P, Q ≥ 0

    p_uk ← p_uk Σ_i r_ui q_ik / (Σ_i (p_u·q_i) q_ik + λ p_uk),    then q_ik likewise.

The objective never rises; λ is `penalty`. A factor whose denominator is zero stays: nothing depends on it. All
users start at √(mean/rank), items around it at random.
"""

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, multiplicative_rows, padded, solve_rows, squared_errors
from rankfill.models.factors import FactorModel
from rankfill.models.online import random_rows
from rankfill.models.settings import check_no_negative, check_positive, check_training, check_whole
from rankfill.models.training import Callback, Training


class MultiplicativeNMF(FactorModel):
    """Non-negative matrix factorisation that leaves the unknown entries out.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: Pulls the factors to zero.

    >>> from rankfill import MultiplicativeNMF, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = MultiplicativeNMF(rank=2, passes=200).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    def __init__(
        self,
        *,
        rank: int = 10,
        penalty: float = 0.0,
        passes: int = 50,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """The best non-negative rows for people not in training, the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self.rank_)
        solve_rows(known.by_user, rows, self._items.array, self._ridge())
        return rows[:, : self.rank_]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_positive("penalty", self.penalty, or_zero=True)
        check_no_negative(ratings, "MultiplicativeNMF", "use ratings.shifted()")

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._start(ratings, init)
        users, items = self._users.array, self._items.array
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                multiplicative_rows(ratings.by_user, users, items, self.penalty)
                multiplicative_rows(ratings.by_item, items, users, self.penalty)
                errors = squared_errors(ratings.by_user, users, items, self._ridge())
                norms = sum(float(np.vdot(rows.astype(np.float64), rows)) for rows in (users, items))
                training.report(0.5 * (errors.plain + self.penalty * norms), (errors.plain / len(ratings)) ** 0.5)

    def _start(self, ratings: Ratings, init: Self | None) -> None:
        rank = int(self.rank)
        users, items = padded(ratings.n_users, rank), padded(ratings.n_items, rank)
        level = (self.mean_ / rank) ** 0.5
        users[self._user_counts.array > 0, :rank] = level
        items[:, :rank] = level * (0.5 + random_rows(0, ratings.n_items, rank, self.seed))
        items[self._item_counts.array == 0] = 0
        self._set_factors(users, items, rank)
        if init is not None:
            self._start_from(init)

    def _ridge(self) -> Ridge:
        return Ridge(rank=self.rank_, penalty=float(self.penalty), nonnegative=True)
