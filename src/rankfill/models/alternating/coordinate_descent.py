"""Coordinate descent on the squared error, one factor at a time (CCD++; Yu, Hsieh, Si, Dhillon, ICDM 2012).

Minimises the objective of `objective.py`, the one of `ALS`. Factor k of all users and items, the others fixed, is
a rank-one problem on the residuals e + p_uk q_ik; `inner` times,

    p_uk ← Σ_i (e_ui + p_uk q_ik) q_ik / (λ n_u^w + Σ_i q_ik²),    then q_ik likewise,

at least 0 on the sides that `nonnegative` names, which keeps the step exact. Biases are moved the same way against a
factor of ones. Two residuals a rating are held, one by user and one by item: 8 bytes a rating during `fit`, also where
the ratings themselves stay on disk.

With order="rows" a pass moves all factors of every user, the items fixed, then all factors of every item. The steps are
the same, `inner` times through the bias and the factors of a row. The residuals of a row are made when its turn comes,
and none are held: rows can be anywhere, and in any division.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, Rows, SquaredErrors, move_factor, residuals, shift_residuals, squared_errors
from rankfill.models.alternating.objective import AlternatingModel
from rankfill.models.base.settings import Nonnegative, Weighting, check_whole, check_word

Order = Literal["factors", "rows"]


@dataclass(frozen=True)
class Descend:
    """A half pass by rows; with `measured` the sums are those of `SquaredErrors` afterwards."""

    ridge: Ridge
    inner: int
    measured: bool = False

    goes_on: ClassVar[bool] = True

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        if self.ridge.held_column >= 0:
            moving[:, self.ridge.held_column] = 1
        columns = np.ascontiguousarray(fixed.T)
        for (_, block), own in rows.blocks_with(moving):
            for start, piece in block.pieces():
                self._descend(piece, own[start : start + piece.n_rows], fixed, columns)
        return tuple(squared_errors(rows, moving, fixed, self.ridge)) if self.measured else ()

    def _descend(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], columns: NDArray[np.float32]
    ) -> None:
        ridge, left_over = self.ridge, residuals(rows, moving, fixed, self.ridge.offset)
        steps = [(k, ridge.penalty, ridge.nonnegative) for k in range(ridge.rank)]
        if ridge.bias_column >= 0:
            steps.insert(0, (ridge.bias_column, ridge.bias_penalty, False))
        for _ in range(self.inner):
            for k, penalty, nonnegative in steps:
                own, other = moving[:, k].copy(), columns[k]
                shift_residuals(rows, left_over, own, other, 1.0)
                move_factor(rows, left_over, own, other, penalty, by_count=ridge.by_count, nonnegative=nonnegative)
                shift_residuals(rows, left_over, own, other, -1.0)
                moving[:, k] = own


class CoordinateDescent(AlternatingModel):
    """Coordinate descent on the objective of ALS, one factor at a time.

    It needs no linear system: cheap at high rank, and exact where factors must not be negative. Cold start: an unknown
    user is the mean user, an unknown item the mean item, and for a pair of both the answer is the mean rating.

    Parameters
    ----------
    rank : int, default=32
        Number of factors, at least 1. The time of a pass grows in proportion to it.
    penalty : float, optional
        Pull of factors and biases towards zero, zero or more. By default it is chosen from the number and the spread of
        the ratings, see `penalty_`; a larger one keeps more noise out and fits less.
    weighting : {"constant", "count"}, default="constant"
        Whether the penalty is the same for every row, or grows with the number of its ratings. With "count" a
        penalty means the same whatever the number of ratings; 0.03 to 0.1 is usual.
    biases : bool, default=True
        Learn how far each user and item is above the mean rating, beside the factors.
    nonnegative : {"none", "both", "items", "users"}, default="none"
        Which factors must not be negative. Biases are free.
    inner : int, default=2
        How often users and items take turns in one factor before the next, at least 1. With order="rows", how often
        the factors of a row are gone through.
    order : {"factors", "rows"}, default="factors"
        What is finished first. "factors" moves one factor of all users and items after the other and holds 8 bytes for
        every rating. "rows" moves all factors of a row before the next row and holds nothing; it learns on Spark, too.
    passes : int, default=15
        The most passes over the ratings, at least 1.
    tol : float, optional, default=1e-4
        Stop when three passes have each lowered the objective, or the error on validation ratings, by less than this
        share. None makes every pass.
    seed : int, default=0
        Seed of the random start of the items.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, rank) and (n_items, rank)
        The factors, one row per user and per item in the order of `users_` and `items_`; read-only.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        How far each user and each item is above the mean rating; zeros without biases.
    penalty_ : float
        The penalty of the factors that was used.
    bias_penalty_ : float
        The penalty of the biases that was used.
    rank_ : int
        The number of factors.
    biased_ : bool
        Whether biases were learned.
    offset_ : float
        What is added to biases and factors: the mean rating with biases, 0 without.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        One report per pass: seconds, objective, errors.

    Examples
    --------
    >>> from rankfill import CoordinateDescent, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = CoordinateDescent(rank=2, weighting="count").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([2.], dtype=float32)
    """

    learns_from_store: ClassVar[bool] = True

    @property
    def learns_in_half_passes(self) -> bool:  # type: ignore[override]
        """Whether a pass moves one side's rows against the other's and nothing else: in the order of rows."""
        return self.order == "rows"

    def __init__(
        self,
        *,
        rank: int = 32,
        penalty: float | None = None,
        weighting: Weighting = "constant",
        biases: bool = True,
        nonnegative: Nonnegative = "none",
        inner: int = 2,
        order: Order = "factors",
        passes: int = 15,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.weighting: Weighting = weighting
        self.biases = biases
        self.nonnegative: Nonnegative = nonnegative
        self.inner = inner
        self.order: Order = order
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("inner", self.inner, 1)
        check_word("order", self.order, Order)

    def _pass(self, ratings: Ratings) -> SquaredErrors:
        users, items = self._users.array, self._items.array
        if self.order == "rows":
            user_ridge, item_ridge = self._ridges()
            ratings.half_pass("user", Descend(user_ridge, int(self.inner)), users, items)
            return SquaredErrors(
                *ratings.half_pass("item", Descend(item_ridge, int(self.inner), measured=True), items, users)
            )
        return self._pass_by_factors(ratings, users, items)

    def _pass_by_factors(
        self, ratings: Ratings, users: NDArray[np.float32], items: NDArray[np.float32]
    ) -> SquaredErrors:
        sides = (
            _Side(ratings.by_user, residuals(ratings.by_user, users, items, self.offset_)),
            _Side(ratings.by_item, residuals(ratings.by_item, items, users, self.offset_)),
        )
        if self.biased_:
            self._move_bias(sides, users[:, self.rank_], items[:, self.rank_])
            self._move_bias(sides[::-1], items[:, self.rank_ + 1], users[:, self.rank_ + 1])
        for k in range(self.rank_):
            self._move_factor(sides, users[:, k], items[:, k])
        return squared_errors(ratings.by_user, users, items, self._ridge_of_users())

    def _move_bias(self, sides: tuple["_Side", "_Side"], own: NDArray[np.float32], ones: NDArray[np.float32]) -> None:
        bias, other = own.copy(), ones.copy()
        _shift(sides, bias, other, 1.0)
        sides[0].move(bias, other, self.bias_penalty_, by_count=self.weighting == "count", nonnegative=False)
        _shift(sides, bias, other, -1.0)
        own[:] = bias

    def _move_factor(
        self, sides: tuple["_Side", "_Side"], users: NDArray[np.float32], items: NDArray[np.float32]
    ) -> None:
        p, q, by_count = users.copy(), items.copy(), self.weighting == "count"
        _shift(sides, p, q, 1.0)
        for _ in range(self.inner):
            sides[0].move(p, q, self.penalty_, by_count=by_count, nonnegative=self.nonnegative in ("both", "users"))
            sides[1].move(q, p, self.penalty_, by_count=by_count, nonnegative=self.nonnegative in ("both", "items"))
        _shift(sides, p, q, -1.0)
        users[:], items[:] = p, q


class _Side:
    """The ratings by user or by item, and the residual of each."""

    def __init__(self, rows: Rows, residuals: NDArray[np.float32]) -> None:
        self.rows = rows
        self.residuals = residuals

    def move(
        self,
        own: NDArray[np.float32],
        other: NDArray[np.float32],
        penalty: float,
        *,
        by_count: bool,
        nonnegative: bool,
    ) -> None:
        move_factor(self.rows, self.residuals, own, other, penalty, by_count=by_count, nonnegative=nonnegative)


def _shift(sides: tuple[_Side, _Side], own: NDArray[np.float32], other: NDArray[np.float32], sign: float) -> None:
    """Adds or takes away own · other on both sides."""
    shift_residuals(sides[0].rows, sides[0].residuals, own, other, sign)
    shift_residuals(sides[1].rows, sides[1].residuals, other, own, sign)
