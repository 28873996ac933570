"""Factors with variances that are given: parameters that mean the same for a small matrix and a large one.

G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*, IJCAI 2015.

    min ½ Σ_Ω (r_ui − o_ui − p_u·q_i)²   subject to  (1/N) Σ_i Y_ik² ≤ σ_k²,  k = 1 … K,    Y = [P; Q]      (eq. 3)

N counts the users and items that have ratings, o is the `offset` of `offset.py`. The paper's G counts every
rating twice, so that G = 4 times this.

**Start** (section 3.3): column by column the leading singular pair of the residual (`steepest_start.py`).

**Steps.** steps="spectral": those of `ball_descent.py`. steps="halving": as published. With Y = A diag(σ), every column
of A steps along its gradient and is put back on the sphere of radius √N where it has left it (eq. 9 and 10); the step α
is the first of 1, ½, ¼, … with which G falls; training ends where α < `accuracy`, and by no other rule (line 4 of
algorithm 1). In terms of Y:

    Y_k ← Π_k(Y_k − 4 α σ_k² ∇_k),   ∇ the gradient of ½ Σ e².

**Multipliers.** At a solution ∇_k = −μ_k Y_k with μ_k ≥ 0 (eq. 23), 0 where the ball is not full: each row solves a
ridge regression with its own penalty for each factor. That is how `fold_in` finds the rows of new people.

variances="auto" draws a sub-matrix, tunes `TraceTradeoff` there by cross-validation, and takes the variances and the
number of factors of what it finds (`variances.py`). The paper assumes that they hold for the whole. They do where the
whole is about as dense as the sample. Where most rows have one to three ratings they are too large: the sample has rows
with ten and more only, and the room that the others do not use goes to the noise of the few that have many. So they are
tried on ratings kept aside: σ², σ²/4, σ²/16 and no factors at all, until one does worse than the best so far, which
must not lose to the offset alone.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.kernels import Ridge, solve_rows
from rankfill.linalg import LowRank, one_blas_thread
from rankfill.models.base.held_out import Predict, choose_held_out
from rankfill.models.base.settings import Weighting, check_positive, check_word
from rankfill.models.base.training import Callback, Training
from rankfill.models.convex.offset import Offset, OffsetModel
from rankfill.models.convex.problem import Problem, unit_of
from rankfill.models.convex.solvers.ball_descent import BallDescent, Point
from rankfill.models.convex.solvers.steepest_start import steepest_start
from rankfill.models.convex.variances import sample_variances

Steps = Literal["spectral", "halving"]

_SHARES = (1.0, 1 / 4, 1 / 16, 0.0)
"""Shares of the variances of a sample, tried in this order on ratings kept aside."""
_LEAST_MULTIPLIER = 1e-3
"""The least multiplier of a factor, as a share of s²/σ²: its value for factors from N(0, σ²) and errors of size s."""


class FAVA(OffsetModel):
    """Matrix factorisation with bounds on the size of each factor that are tuned on a small sample.

    The bounds mean the same for a small matrix and for a large one, so that nothing has to be tuned on all ratings.
    Use it for dense ratings of many users, where a search for the penalty of another model would take long. On very
    sparse ratings it falls back to smaller factors, or to none. Cold start: an unknown user is the mean user, an
    unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    variances : sequence of float or "auto", default="auto"
        Largest mean square of every factor, one number per factor. Larger ones fit finer tastes, and more of the noise.
        "auto" finds them by cross-validation on a sample, and makes them smaller where they do not hold on ratings kept
        aside.
    sample : float, optional
        Share of users and of items in the sample of "auto", above 0 and up to 1. By default such that the sample has
        some 20,000 ratings.
    offset : {"bias", "mean", "none"}, default="bias"
        What is subtracted from the ratings first: the effects of users and items, the mean rating, or nothing.
    steps : {"spectral", "halving"}, default="spectral"
        How far each pass goes: steps whose length follows the curvature, or steps that are halved until the error
        falls. The first take far fewer passes; the second are those of the paper.
    accuracy : float, default=1e-5
        Shortest step of steps="halving", as a multiple of the gradient: training ends with the first step below it.
    passes : int, default=200
        Largest number of passes over the ratings. The paper has no such limit, and can take thousands.
    tol : float, optional, default=1e-4
        Training ends when the error has not fallen by more than this share for three passes. None makes all passes.
        With steps="halving" it concerns the error on validation ratings only; without any, `accuracy` decides.
    seed : int, default=0
        Seed of all randomness: the sample, its folds and the search for singular vectors.
    clip : bool, default=True
        Whether predictions are kept within the range of the ratings in training.

    Attributes
    ----------
    variances_ : ndarray of shape (rank_,)
        The bounds that were used: as given, or as found.
    multipliers_ : ndarray of shape (rank_,)
        The multiplier μ of every bound: how much of the error another unit of room would save; 0 where a bound is not
        reached.
    penalty_ : float
        Mean of the multipliers, each weighted by the squares of its factor: the penalty of a trace-norm model with the
        same solution.
    rank_ : int
        Number of factors.
    user_factors_ : ndarray of shape (n_users, rank_)
        Factors of the users, without the effects.
    item_factors_ : ndarray of shape (n_items, rank_)
        Factors of the items, without the effects.
    user_biases_, item_biases_ : ndarray
        Effects of users and items; zero unless offset="bias".
    biased_ : bool
        Whether there are effects.
    offset_ : float
        What every prediction starts from: the mean rating, or 0 with offset="none".
    users_, items_ : Vocabulary
        The ids in the order of the factors.
    n_ratings_ : int
        Number of ratings in training.
    mean_ : float
        Mean of the ratings in training.
    range_ : (float, float)
        The least and the greatest rating, without the few that stand far apart from all others.
    history_ : list of EpochReport
        One report per pass. Its objective is half the sum of squared errors.

    Examples
    --------
    >>> from rankfill import FAVA, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = FAVA(variances=[4.0], offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    _learned: ClassVar[tuple[str, ...]] = ("variances_", "multipliers_")

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
                raise ValueError(f'variances must be numbers, one per factor, or "auto", found {self.variances!r}')
        else:
            for each in self.variances:
                check_positive("each of variances", each)

    def _prepare(self, ratings: Ratings) -> Problem:
        problem = super()._prepare(ratings)
        if isinstance(self.variances, str):
            unit = unit_of(problem.values)
            scaled = ratings if unit == 1.0 else ratings.with_values(lambda values: values.astype(np.float64) / unit)
            found = sample_variances(scaled, self.sample, self.offset, self.seed)
            self.variances_ = unit * self._confirm_variances(scaled, found)
        else:
            self.variances_ = np.array(self.variances, dtype=np.float64)
        self.multipliers_ = np.zeros_like(self.variances_)
        return problem

    def _confirm_variances(self, ratings: Ratings, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the variances found, or the share of them that predicts ratings kept aside best."""

        def learn(share: float, part: Ratings) -> Predict:
            model: FAVA = clone(self).set_params(variances=(share * found).tolist() if share > 0 else [])
            return model.fit(part)._predict_ratings

        if len(found) == 0:
            return found
        share = choose_held_out(ratings, _SHARES, learn, baseline=partial(learn, 0.0), seed=self.seed)
        return found[: len(found) if share != 0 else 0] * (1.0 if share is None else share)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        problem = self._prepare(ratings)
        unit = unit_of(problem.values)  # in which squares neither overflow nor vanish
        scaled = replace(problem, values=problem.values / unit)
        known = LowRank.zero(*problem.shape) if init is None else self._rows_of(init, problem)
        with one_blas_thread(), Training(self, validation, callbacks) as training:
            if self.steps == "halving" and validation is None:
                training.tol = None  # the steps have a stop rule of their own
            for epochs in training.stretches():
                if training.has_begun:
                    known = self._rows_of(self, problem)
                start = LowRank(*(side / math.sqrt(unit) for side in known))
                for _, point in zip(epochs, self._points(scaled, start, unit), strict=False):
                    left, right = (math.sqrt(unit) * side[:, : len(self.variances_)] for side in point.sides)
                    self._keep(problem, LowRank(left, right))
                    self._take_multipliers(point, unit)
                    training.report(unit**2 * point.loss, unit * math.sqrt(2 * point.loss / len(ratings)))

    def _points(self, problem: Problem, start: LowRank, unit: float) -> Iterator[Point]:
        """One per pass; training ends with them. The values of the problem are in units of `unit`."""
        bounds = sum(problem.shape) * self.variances_ / unit
        descent = BallDescent(bounds)
        point = Point.of(problem, steepest_start(problem, bounds, start, self.seed))
        if len(bounds) == 0:
            return iter([point]) if self.steps == "halving" else repeat(point)
        point = Point(problem, descent.project(point.stacked, np.ones_like(point.stacked)))
        if self.steps == "halving":
            return descent.halving(point, 4 * self.variances_ * unit, self.accuracy)
        return descent.spectral(point.in_single())

    def _take_multipliers(self, point: Point, unit: float) -> None:
        rank = len(self.variances_)
        along = -np.einsum("ij,ij->j", point.gradient, point.stacked, dtype=np.float64)[:rank]
        squares = np.einsum("ij,ij->j", point.stacked, point.stacked, dtype=np.float64)[:rank]
        shares = np.divide(along, squares, out=np.zeros_like(along), where=squares > 0)
        self.multipliers_ = unit * np.maximum(shares, 0.0)
        self.penalty_ = unit * float(along.sum() / squares.sum()) if squares.any() else 0.0

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """Each factor with its multiplier as penalty, which is 1 in units of its square root."""
        noise = max(self.history_[-1].train ** 2, 1e-6 * float(self.variances_ @ self.variances_))
        units = np.sqrt(np.maximum(self.multipliers_, _LEAST_MULTIPLIER * noise / self.variances_)).astype(np.float32)
        items = self._items.array.copy()
        items[:, : self.rank_] /= units
        values = known.values - rows[known.user_indices, self.rank_] if self.biased_ else known.values
        solve_rows(known.by_user._replace(values=values), rows, items, replace(ridge, penalty=1.0))
        rows[:, : self.rank_] /= units
