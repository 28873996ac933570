"""Greedy efficient component optimisation, GECO (Shalev-Shwartz, Gonen, Shamir, ICML 2011).

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  rank(W) ≤ rank

The problem is not convex, so there is no gap. There is no penalty on W either: what keeps noise out is the rank, and
that directions whose singular value is within the level of noise (λ of `noise.py`, `penalty_`) are not added. rank=None
adds directions as long as they help to predict one rating in five that is kept aside, and then learns from all. The
offset o is that of `offset.py`, the solver is in `solvers/greedy.py`.
"""

import math
from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np

from rankfill.data import Ratings
from rankfill.linalg import LowRank, balance, one_blas_thread
from rankfill.models.base.held_out import keep_aside
from rankfill.models.base.settings import Weighting, check_positive, check_whole
from rankfill.models.base.training import Callback, Training, ended_by_interruption
from rankfill.models.convex.noise import effects_residual, noise_penalty
from rankfill.models.convex.offset import Offset, OffsetModel
from rankfill.models.convex.problem import Problem
from rankfill.models.convex.solvers.greedy import Greedy

_MOST = 20
"""The most directions that are tried where no rank is given."""


class GECO(OffsetModel):
    """Low rank by greedy directions, whose mixture is found anew each time.

    Each pass adds the direction that explains most of what is left. Nothing but the number of directions keeps it from
    learning noise; where ratings are few or noisy, `TraceTradeoff` predicts better.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    rank : int, optional
        Number of directions, at least 1. By default as many as help to predict ratings kept aside, perhaps none.
    penalty : float, optional
        Singular value, above 0, up to which a direction is not added. By default the level of noise in the data.
    offset : {"none", "mean", "bias"}, default="bias"
        What is taken off the ratings first. "bias" takes off the mean rating and the effects of user and item, "mean"
        the mean rating, "none" nothing.
    passes : int, default=100
        Most passes over the ratings, at least 1.
    tol : float or None, default=1e-05
        Relative gain below which a pass counts as none; three such passes end the training. None makes every pass.
    clip : bool, default=True
        Whether predictions are kept within the range of the ratings learned from.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_users, rank_)
        One row per user, in the order of `users_`.
    item_factors_ : ndarray of shape (n_items, rank_)
        One row per item, in the order of `items_`.
    user_biases_ : ndarray of shape (n_users,)
        How far each user is above the offset; zeros unless offset="bias".
    item_biases_ : ndarray of shape (n_items,)
        How far each item is above the offset; zeros unless offset="bias".
    rank_ : int
        Number of factors.
    biased_ : bool
        Whether the model has biases: with offset="bias".
    offset_ : float
        Part of every prediction: the mean rating, or 0 with offset="none".
    users_ : Vocabulary
        Ids of the users.
    items_ : Vocabulary
        Ids of the items.
    n_ratings_ : int
        Number of ratings learned from.
    mean_ : float
        Mean rating.
    range_ : tuple of float
        The least and the greatest rating, without the few that stand far apart from all others.
    history_ : list of EpochReport
        One report per pass.
    penalty_ : float
        The singular value up to which directions were not added; `fold_in` finds rows with it as penalty.
    core_steps_ : list of int
        Steps of conjugate gradients in each pass.

    Examples
    --------
    >>> from rankfill import GECO, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = GECO(rank=2, penalty=0.1, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    _learned: ClassVar[tuple[str, ...]] = ("core_steps_",)

    seed: int = 0
    weighting: Weighting = "constant"
    core_steps_: list[int]

    def __init__(
        self,
        *,
        rank: int | None = None,
        penalty: float | None = None,
        offset: Offset = "bias",
        passes: int = 100,
        tol: float | None = 1e-5,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.offset: Offset = offset
        self.passes = passes
        self.tol = tol
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.rank is not None:
            check_whole("rank", self.rank, 1)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        rank = self._chosen_rank(ratings, init) if self.rank is None else int(self.rank)
        problem = self._prepare(ratings)
        start = LowRank.zero(*problem.shape) if init is None else self._solution_of(init, rank, problem)
        with one_blas_thread(), Training(self, validation, callbacks) as training:
            self.penalty_ = self._noise_penalty(problem, ratings) if self.penalty is None else float(self.penalty)
            self.core_steps_ = self.core_steps_ if training.has_begun else []
            for epochs in training.stretches():
                if training.has_begun:
                    start = balance(self._rows_of(self, problem))
                solver = Greedy(problem, start, rank=rank, threshold=self.penalty_, core_steps=self.core_steps_)
                for _, iterate in zip(epochs, solver.iterates(), strict=False):
                    self._keep(problem, _pad_rank(iterate.solution, 0 if self.rank is None else rank))
                    square = float(iterate.residual @ iterate.residual)
                    training.report(0.5 * square, math.sqrt(square / len(ratings)))

    def _chosen_rank(self, ratings: Ratings, init: Self | None) -> int:
        """Takes the rank of `init`, or the best one on ratings kept aside; 0 where the offset alone is best."""
        if init is not None:
            init._check_fitted()
            return init.rank_
        parts = keep_aside(ratings, seed=self.seed)
        if not parts:
            return 0
        part, aside = parts[0]
        trial = GECO(rank=_MOST, penalty=self.penalty, offset=self.offset, passes=_MOST, tol=0.0, clip=self.clip)
        alone, _ = trial._offset_alone(part)
        with ended_by_interruption():
            errors = [report.validation or 0.0 for report in trial.fit(part, validation=aside).history_]
        return int(np.argmin([alone._error(aside), *errors]))

    def _noise_penalty(self, problem: Problem, ratings: Ratings) -> float:
        left_over = problem.values if self.biased_ else effects_residual(ratings)
        return noise_penalty(problem, left_over, by_count=False, without_effects=self.biased_, seed=self.seed)

    def _solution_of(self, fitted: "GECO", rank: int, problem: Problem) -> LowRank:
        fitted._check_fitted()
        if fitted.rank_ != rank:
            raise ValueError(f"init has rank {fitted.rank_}, this model {rank}; give both the same settings")
        return balance(self._rows_of(fitted, problem))


def _pad_rank(solution: LowRank, rank: int) -> LowRank:
    """Pads the factors with zeros to the rank asked for, where there are no more directions."""
    missing = max(rank - solution.rank, 0)
    return LowRank(*(np.pad(side, ((0, 0), (0, missing))) for side in solution))
