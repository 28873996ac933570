"""Coordinate descent on the squared error, one factor at a time (CCD++; Yu, Hsieh, Si, Dhillon, ICDM 2012).

Minimises the objective of `alternating.py`, the one of `ALS`. Factor k of all users and items, the others fixed, is
a rank-one problem on the residuals e + p_uk q_ik; `inner` times,

    p_uk ← Σ_i (e_ui + p_uk q_ik) q_ik / (λ n_u^w + Σ_i q_ik²),    then q_ik likewise,

at least 0 on the sides that `nonnegative` names, which keeps the step exact. Biases are moved the same way against a
factor of ones. Two residuals a rating are held, one by user and one by item: 8 bytes a rating during `fit`.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows, move_factor, residuals, shift_residuals
from rankfill.models.alternating import AlternatingModel, Weighting
from rankfill.models.settings import Nonnegative, check_whole, warn_of_one_value


class CoordinateDescent(AlternatingModel):
    """The objective of ALS without a linear system: cheap at high rank, exact where factors are non-negative.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    inner: How often users and items take turns in one factor before the next.

    >>> from rankfill import CoordinateDescent, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = CoordinateDescent(rank=2, weighting="count").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([2.], dtype=float32)
    """

    def __init__(
        self,
        *,
        rank: int = 32,
        penalty: float | None = None,
        weighting: Weighting = "constant",
        biases: bool = True,
        nonnegative: Nonnegative = "none",
        inner: int = 2,
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
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("inner", self.inner, 1)
        warn_of_one_value(ratings, 'for data that only say what was used, ALS(feedback="implicit") is made')

    def _pass(self, ratings: Ratings) -> None:
        users, items = self._users.array, self._items.array
        sides = (
            _Side(ratings.by_user, residuals(ratings.by_user, users, items, self.offset_)),
            _Side(ratings.by_item, residuals(ratings.by_item, items, users, self.offset_)),
        )
        if self.biased_:
            self._move_bias(sides, users[:, self.rank_], items[:, self.rank_])
            self._move_bias(sides[::-1], items[:, self.rank_ + 1], users[:, self.rank_ + 1])
        for k in range(self.rank_):
            self._move_factor(sides, users[:, k], items[:, k])

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
