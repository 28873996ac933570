"""Factors with variances that are given: parameters that mean the same for a small matrix and a large one.

G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*, IJCAI 2015.

    min ½ Σ_Ω (r_ui − o_ui − p_u·q_i)²   subject to  (1/N) Σ_i Y_ik² ≤ σ_k²,  k = 1 … K,    Y = [P; Q]      (eq. 3)

N counts the users and items that have ratings, o is the `offset` of `offset_model.py`. The paper's G counts every
rating twice, so that G = 4 times this.

**Start** (section 3.3): column by column the leading singular pair of the residual (`steepest_start.py`).

**Steps.** steps="spectral": those of `ball_descent.py`. steps="halving": as published. With Y = A diag(σ), every column
of A steps along its gradient and is put back on the sphere of radius √N where it has left it (eq. 9 and 10); the step α
is the first of 1, ½, ¼, … with which G falls; training ends where α < `accuracy`. In terms of Y:

    Y_k ← Π_k(Y_k − 4 α σ_k² ∇_k),   ∇ the gradient of ½ Σ e².

**Multipliers.** At a solution ∇_k = −μ_k Y_k with μ_k ≥ 0 (eq. 23), 0 where the ball is not full: each row solves a
ridge regression with its own penalty for each factor. That is how `fold_in` finds the rows of new people.

variances="auto" draws a sub-matrix, tunes `TraceTradeoff` there by cross-validation, and takes the variances and the
number of factors of what it finds (`variances.py`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, solve_rows
from rankfill.linalg import LowRank, one_blas_thread
from rankfill.models.ball_descent import BallDescent, Point
from rankfill.models.completion import Problem
from rankfill.models.offset_model import Offset, OffsetModel, Weighting
from rankfill.models.settings import check_positive, check_word
from rankfill.models.steepest_start import steepest_start
from rankfill.models.training import Callback, Training
from rankfill.models.variances import sample_variances

Steps = Literal["spectral", "halving"]

_LEAST_MULTIPLIER = 1e-3
"""Of a factor, as a share of s²/σ²: what it would be for factors from N(0, σ²) and errors of mean square s²."""


class FAVA(OffsetModel):
    """Factors no larger than in a small sample where their size was tuned: nothing to tune on the whole.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    variances: The largest mean square of every factor, a number each. auto: found by cross-validation on a sample.
    sample: The share of users and of items in the sample of auto. None: such that it has some 20,000 ratings.
    steps: Steps whose length follows the curvature (spectral), or are halved until the error falls (halving).
    accuracy: With halving, training ends when a step is shorter than this.

    >>> from rankfill import FAVA, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = FAVA(variances=[4.0], offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    weighting: Weighting = "constant"

    variances_: NDArray[np.float64]
    multipliers_: NDArray[np.float64]
    """μ. `penalty_` is their mean, each weighted by ‖Y_k‖²: the λ of theorem 5.3."""

    def __init__(
        self,
        *,
        variances: Sequence[float] | Literal["auto"] = "auto",
        sample: float | None = None,
        offset: Offset = "bias",
        steps: Steps = "spectral",
        accuracy: float = 1e-5,
        passes: int = 200,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.variances = variances
        self.sample = sample
        self.offset: Offset = offset
        self.steps: Steps = steps
        self.accuracy = accuracy
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("steps", self.steps, Steps)
        check_positive("accuracy", self.accuracy)
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ValueError(f"sample must be a share of users and items above 0 and up to 1, found {self.sample!r}")
        if isinstance(self.variances, str):
            if self.variances != "auto":
                raise ValueError(f'variances must be numbers, one a factor, or "auto", found {self.variances!r}')
        else:
            for each in self.variances:
                check_positive("each of variances", each)

    def _prepare(self, ratings: Ratings) -> Problem:
        problem = super()._prepare(ratings)
        if isinstance(self.variances, str):
            self.variances_ = sample_variances(ratings, self.sample, self.offset, self.seed)
        else:
            self.variances_ = np.array(self.variances, dtype=np.float64)
        self.multipliers_ = np.zeros_like(self.variances_)
        return problem

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        problem = self._prepare(ratings)
        start = LowRank.zero(*problem.shape) if init is None else self._rows_of(init, problem)
        with one_blas_thread(), Training(self, validation, callbacks) as training:
            for _, point in zip(training.epochs(), self._points(problem, start), strict=False):
                left, right = (side[:, : len(self.variances_)] for side in point.sides)
                self._keep(problem, LowRank(left, right))
                self._take_multipliers(point)
                training.report(point.loss, math.sqrt(2 * point.loss / len(ratings)))

    def _points(self, problem: Problem, start: LowRank) -> Iterator[Point]:
        """One a pass; training ends with them."""
        bounds = sum(problem.shape) * self.variances_
        descent = BallDescent(bounds)
        point = Point.of(problem, steepest_start(problem, bounds, start, self.seed))
        if len(bounds) == 0:
            return repeat(point)
        point = Point(problem, descent.projected(point.stacked, np.ones_like(point.stacked)))
        if self.steps == "halving":
            return descent.halving(point, 4 * self.variances_, self.accuracy)
        return descent.spectral(point.in_single())

    def _take_multipliers(self, point: Point) -> None:
        rank = len(self.variances_)
        along = -np.einsum("ij,ij->j", point.gradient, point.stacked, dtype=np.float64)[:rank]
        squares = np.einsum("ij,ij->j", point.stacked, point.stacked, dtype=np.float64)[:rank]
        self.multipliers_ = np.maximum(np.divide(along, squares, out=np.zeros_like(along), where=squares > 0), 0.0)
        self.penalty_ = float(along.sum() / squares.sum()) if squares.any() else 0.0

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """Each factor with its multiplier as penalty, which is 1 in units of its square root."""
        noise = max(self.history_[-1].train ** 2, 1e-6 * float(self.variances_ @ self.variances_))
        units = np.sqrt(np.maximum(self.multipliers_, _LEAST_MULTIPLIER * noise / self.variances_)).astype(np.float32)
        items = self._items.array.copy()
        items[:, : self.rank_] /= units
        values = known.values - rows[known.user_indices, self.rank_] if self.biased_ else known.values
        solve_rows(known.by_user._replace(values=values), rows, items, replace(ridge, penalty=1.0))
        rows[:, : self.rank_] /= units

    def _snapshot(self) -> Any:
        return super()._snapshot(), self.multipliers_

    def _restore(self, snapshot: Any) -> None:
        super()._restore(snapshot[0])
        self.multipliers_ = snapshot[1]

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        if not isinstance(self.variances, str):
            about["parameters"]["variances"] = [float(each) for each in self.variances]
        return tensors | {"variances": self.variances_, "multipliers": self.multipliers_}, about

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.variances_, self.multipliers_ = tensors["variances"], tensors["multipliers"]
