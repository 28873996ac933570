"""Non-negative factors by multiplicative updates (Lee, Seung, NIPS 2000), over the observed entries only.

    ½ Σ_Ω (r_ui − p_u·q_i)² + ½ λ (‖P‖² + ‖Q‖²) + ½ κ (‖P − P⁰‖² + ‖Q − Q⁰‖²),   P, Q ≥ 0

    p_uk ← p_uk (Σ_i r_ui q_ik + κ p⁰_uk) / (Σ_i (p_u·q_i) q_ik + (λ + κ) p_uk),    then q_ik likewise.

The objective never rises. λ is `penalty`; κ is `shrinkage` times the mean rating, so that it does not depend on the
units of the ratings. A factor whose denominator is zero stays: nothing depends on it. The start P⁰, Q⁰ predicts as the
bias model does: the effects of items stand in the first half of the factors, those of users in the second (in a single
factor their product), a little unevenly; κ keeps rows with few ratings near it. The paper's updates are κ = 0.
"""

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, Rows, multiplicative_rows, padded, solve_rows, squared_errors
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.model import WarmPath
from rankfill.models.base.settings import check_no_negative, check_positive, check_training, check_whole
from rankfill.models.base.starts import random_rows
from rankfill.models.base.training import Callback, Training
from rankfill.models.base.units import check_finite, check_size, exponent_of, rows_in_units
from rankfill.models.bias import Bias

UNEVENNESS = 0.5
"""How far the factors of an item differ at the start; equal ones would stay equal for ever."""
LEAST = 0.05
"""The smallest factor to start from, as a share of one without an effect: zero would stay zero for ever."""


class MultiplicativeNMF(FactorModel):
    """Non-negative matrix factorisation by multiplicative updates that leaves the unknown entries out.

    The classic of Lee and Seung, kept near the effects of users and items so that it does not fit noise. Use it to
    compare with; `CoordinateDescent` with ``nonnegative="both"`` reaches the same kind of optimum in fewer passes. Cold
    start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    rank : int, default=10
        Number of factors, at least 1.
    penalty : float, default=0.0
        Pull of the factors towards zero. It is in units of the ratings; 0 for none.
    shrinkage : float, default=60.0
        Pull of the factors towards the effects of users and items, from which they start. It is multiplied by the mean
        rating, so that ratings may be of any size; 0 gives the plain updates, which fit noise in sparse data.
    passes : int, default=50
        The most passes over the ratings, at least 1. People who are folded in take as many updates.
    tol : float, optional, default=1e-5
        Stop when three passes have each lowered the objective, or the error on validation ratings, by less than this
        share. None makes every pass.
    seed : int, default=0
        Where the small differences between the factors at the start come from.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, rank) and (n_items, rank)
        One row per user and per item, none negative. A prediction is the product of two rows.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        Zeros: this model has no biases.
    penalty_ : float
        The penalty that was used.
    shrinkage_ : float
        The shrinkage that was used, times the mean rating: κ above.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    rank_ : int
        The number of factors.
    biased_ : bool
        Whether there are biases beside the factors: False.
    offset_ : float
        What is added to the product of the factors: 0.
    history_ : list of EpochReport
        One report per pass: the objective above and the error.

    Examples
    --------
    >>> from rankfill import MultiplicativeNMF, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = MultiplicativeNMF(rank=2, shrinkage=0, passes=200).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    >>> bool(model.item_factors_.min() >= 0)
    True
    """

    warm_path: ClassVar[WarmPath] = "weakest first"
    starts_from_factors: ClassVar[bool] = True
    _learned: ClassVar[tuple[str, ...]] = ("penalty_", "shrinkage_")

    penalty_: float
    shrinkage_: float

    def __init__(
        self,
        *,
        rank: int = 10,
        penalty: float = 0.0,
        shrinkage: float = 60.0,
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

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The best rows, or with shrinkage as many updates as there are passes, from a user without effect."""
        rows = padded(known.n_users, self.rank_)
        if self.shrinkage_ == 0:
            exponent = exponent_of(self.mean_)
            items = rows_in_units(self._items.array, self.rank_, exponent)
            ridge = Ridge(rank=self.rank_, penalty=self.penalty_ / 2.0**exponent, nonnegative=True)
            solve_rows(known.by_user.in_units(exponent), rows, items, ridge)
            rows = rows_in_units(rows, self.rank_, -exponent)
        else:
            rows[:, : self.rank_] = (self.mean_ / self.rank_) ** 0.5
            start = rows.copy()
            for _ in range(self.passes):
                self._update(known.by_user, rows, self._items.array, start)
        check_finite(rows, "fold in ratings of the size of those learned")
        return rows[:, : self.rank_]

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return True

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_positive("penalty", self.penalty, or_zero=True)
        check_positive("shrinkage", self.shrinkage, or_zero=True)
        check_no_negative(ratings, "MultiplicativeNMF", "use ratings.shifted()")
        check_size(ratings)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self.penalty_, self.shrinkage_ = float(self.penalty), float(self.shrinkage) * self.mean_
        starts = self._start(ratings)
        users, items = self._users.array, self._items.array
        if init is not None:
            self._start_from(init)
            np.maximum(users, 0, out=users)
            np.maximum(items, 0, out=items)
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._update(ratings.by_user, users, items, starts[0])
                self._update(ratings.by_item, items, users, starts[1])
                errors = squared_errors(ratings.by_user, users, items, Ridge(rank=self.rank_, penalty=0.0)).plain
                penalties = sum(map(self._penalty, (users, items), starts))
                training.report(0.5 * (errors + penalties), (errors / len(ratings)) ** 0.5)

    def _update(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], start: NDArray[np.float32]
    ) -> None:
        """Moves every row that has ratings once, in units in which single precision has room."""
        exponent = exponent_of(self.mean_)
        if exponent == 0:
            multiplicative_rows(rows, moving, fixed, start, self.penalty_, self.shrinkage_)
            return
        scaled, fixed, start = (rows_in_units(each, self.rank_, exponent) for each in (moving, fixed, start))
        pulls = self.penalty_ / 2.0**exponent, self.shrinkage_ / 2.0**exponent
        multiplicative_rows(rows.in_units(exponent), scaled, fixed, start, *pulls)
        moving[:] = rows_in_units(scaled, self.rank_, -exponent)

    def _penalty(self, rows: NDArray[np.float32], start: NDArray[np.float32]) -> float:
        exact, moved = rows.astype(np.float64), rows.astype(np.float64) - start
        return float(self.penalty_ * np.vdot(exact, exact) + self.shrinkage_ * np.vdot(moved, moved))

    def _start(self, ratings: Ratings) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Sets the factors to the effects of users and items, and returns a copy of them."""
        rank, mean = int(self.rank), self.mean_ or 1.0
        n_of_items, n_of_users = rank - rank // 2, max(rank // 2, 1)
        effects = Bias().fit(ratings)
        of_items = 1 + effects.item_effects_ / (mean * n_of_items / rank)
        of_users = 1 + effects.user_effects_ / (mean * n_of_users / rank)
        users, items = padded(ratings.n_users, rank), padded(ratings.n_items, rank)
        users[:, :rank] = (self.mean_ / rank) ** 0.5
        items[:, :rank] = (self.mean_ / rank) ** 0.5 * self._unevenness(ratings.n_items, n_of_items)
        items[:, :n_of_items] *= np.maximum(of_items, LEAST)[:, None]
        users[:, rank - n_of_users : rank] *= np.maximum(of_users, LEAST)[:, None]
        users[self._user_counts.array == 0] = 0
        items[self._item_counts.array == 0] = 0
        self._set_factors(users, items, rank)
        return users.copy(), items.copy()

    def _unevenness(self, n_items: int, n_first: int) -> NDArray[np.float64]:
        """Numbers around 1, whose mean over the first factors and over the others is 1."""
        uneven = 1 + UNEVENNESS * (random_rows(0, n_items, int(self.rank), self.seed) - 0.5)
        for half in (uneven[:, :n_first], uneven[:, n_first:]):
            half /= half.mean(axis=1, keepdims=True) if half.size else 1.0
        return uneven
