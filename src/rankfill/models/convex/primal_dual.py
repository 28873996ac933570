"""Primal–dual completion by constraint generation (Xin, Jaakkola, AISTATS 2012).

    J(W) = Σ_Ω ℓ(r_ui − o_ui − w_ui) + λ ‖W‖_*        dual: max_Q Σ_Ω (q r − ℓ*(q))  subject to  ‖Q b‖ ≤ λ, ‖b‖ = 1

Directions b that break their constraint are added one after another; their multipliers are the terms of W. The
schedules are those of `solvers/constraint_generation.py`; the objective and its certificate are in `objectives.py`.
Losses other than ½e² are moved along parabolas that touch them from above (method 1 of the paper). With
nonnegative=True,

    Σ_Ω ½(r − w)² + λ Σ_l ‖a_l‖ ‖b_l‖,   W = Σ_l a_l b_lᵀ,  a, b ≥ 0:

the same updates with max(s, 0), and a separation a ∝ max(0, Q b), b ∝ max(0, Qᵀ a) from several random starts. That is
NP-hard, so a start may miss: `agreement_` tells the share of the starts of each search that found the best direction.
Its gap is proved against the problem without the constraint: the true one is smaller.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import LossName, Ridge, residuals
from rankfill.linalg import LowRank
from rankfill.models.base.settings import (
    Weighting,
    check_no_negative,
    check_positive,
    check_signs,
    check_whole,
    check_word,
)
from rankfill.models.convex.model import PenalisedModel, TraceNormModel
from rankfill.models.convex.objectives import KINKED, Penalised
from rankfill.models.convex.offset import Offset
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.constraint_generation import ConstraintGeneration, Schedule
from rankfill.models.convex.solvers.rank_one_terms import BlockRule
from rankfill.objectives.losses import CURVATURE

PUBLISHED: dict[Schedule, bool] = {"published-tightening": False, "published-weights": True}
"""The schedules as published, and whether they are for non-negative terms."""
_FOLD_IN_STEPS = 50


class PrimalDual(PenalisedModel):
    """Convex completion that adds one direction after another, for any of five losses.

    The rank is low from the start. Use it for losses other than the squared error, for signs (`loss="logistic"`), and
    for non-negative factors; with the squared error `TraceTradeoff` is quicker.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    penalty : float, optional
        Pull of the singular values towards zero, above 0; more gives a lower rank. By default the level of noise in the
        data. `largest_penalty` tells from where on nothing is learned.
    loss : {"squared", "absolute", "epsilon-insensitive", "huber", "logistic"}, default="squared"
        What an error costs. "logistic" is for ratings of -1 and +1 and needs offset="none".
    epsilon : float, default=0.5
        Size of errors, above 0, up to which the loss "huber" is half the square and "epsilon-insensitive" is zero;
        beyond it both grow in proportion.
    nonnegative : bool, default=False
        Whether all factors are zero or above, which makes them readable as topics. It needs offset="none" and ratings
        of zero or above.
    schedule : {"newest", "full", "retighten", "published-tightening", "published-weights"}, default="retighten"
        What moves in a pass. "newest" moves the newest term alone and ends above the optimum, "full" all terms on the
        side of the users, "retighten" all terms on both sides. Two are as published, to be compared with:
        "published-tightening" turns terms by power steps, after which the objective may be higher, and
        "published-weights" moves nothing but the weights of non-negative terms. Both need loss="squared".
    max_rank : int, optional
        Most terms, at least 1. By default as many as the penalty leaves.
    offset : {"none", "mean", "bias"}, default="bias"
        What is taken off the ratings first. "bias" takes off the mean rating and the effects of user and item, "mean"
        the mean rating, "none" nothing.
    weighting : {"constant", "count"}, default="constant"
        Whether all rows are held back alike ("constant"), or rows with few ratings less than others ("count").
    gap : float, optional
        Relative distance from the best possible objective at which training ends, once that is proved. By default only
        `tol` and `passes` end it.
    passes : int, default=300
        Most passes over the ratings, at least 1.
    tol : float or None, default=1e-05
        Relative gain below which a pass counts as none; three such passes end the training. None makes every pass.
    seed : int, default=0
        Seed of the random directions from which searches for singular vectors start.
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
        One report per pass, with the gap where it was proved.
    penalty_ : float
        The penalty that was used.
    agreement_ : list of float
        With nonnegative=True, the share of the random starts of each search that found the best direction: the search
        is hard, and a low share says that it may have missed.

    Examples
    --------
    >>> from rankfill import PrimalDual, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = PrimalDual(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    _learned: ClassVar[tuple[str, ...]] = ("agreement_", "_spread")

    agreement_: list[float]
    _spread: float

    def __init__(
        self,
        *,
        penalty: float | None = None,
        loss: LossName = "squared",
        epsilon: float = 0.5,
        nonnegative: bool = False,
        schedule: Schedule = "retighten",
        max_rank: int | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.loss: LossName = loss
        self.epsilon = epsilon
        self.nonnegative = nonnegative
        self.schedule: Schedule = schedule
        self.max_rank = max_rank
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return bool(self.nonnegative)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("loss", self.loss, LossName)
        check_word("schedule", self.schedule, Schedule)
        check_positive("epsilon", self.epsilon)
        if self.max_rank is not None:
            check_whole("max_rank", self.max_rank, 1)
        if self.schedule in PUBLISHED:
            self._check_published(PUBLISHED[self.schedule])
        if self.loss == "logistic":
            check_signs(ratings)
        for needs, words in ((self.nonnegative, "nonnegative=True"), (self.loss == "logistic", 'loss="logistic"')):
            if needs and self.offset != "none":
                raise ValueError(
                    f'{words} learns the ratings as they are, found offset={self.offset!r}; use offset="none"'
                )
        if self.nonnegative:
            check_no_negative(ratings, "nonnegative=True", "use ratings.shifted()")

    def _check_published(self, nonnegative: bool) -> None:
        if self.loss != "squared" or bool(self.nonnegative) != nonnegative:
            raise ValueError(
                f'schedule="{self.schedule}" is for loss="squared" and nonnegative={nonnegative}, found '
                f'loss={self.loss!r} and nonnegative={self.nonnegative!r}; set these, or use schedule="retighten"'
            )

    def _penalised(self, penalty: float) -> Penalised:
        return Penalised(penalty, self.loss, float(self.epsilon))

    def _solve(self, problem: Problem, objective: Penalised, start: LowRank) -> Iterator[Iterate]:
        ratings = problem.ratings
        self._spread = float(np.abs(ratings - float(ratings.mean(dtype=np.float64))).mean(dtype=np.float64)) or 1.0
        self.agreement_ = self.agreement_ if self.history_ else []
        solver = ConstraintGeneration(
            problem,
            objective,
            start,
            schedule=self.schedule,
            nonnegative=bool(self.nonnegative),
            max_rank=self.max_rank,
            rounding=self._spread,
            seed=self.seed,
            agreement=self.agreement_,
        )
        return solver.iterates()

    def _solution_of(self, fitted: TraceNormModel[Penalised], problem: Problem) -> LowRank:
        """Non-negative terms stay as they are: singular vectors have both signs."""
        if not self.nonnegative:
            return super()._solution_of(fitted, problem)
        return LowRank(*(np.maximum(side, 0.0) for side in self._rows_of(fitted, problem)))

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """For losses other than ½e², on parabolas that touch them from above and have the same curvature everywhere;
        for those with a kink around a centre that moves with each, as in `proximal_points.py`.
        """
        ridge = replace(ridge, nonnegative=bool(self.nonnegative))
        if self.loss == "squared":
            return super()._fit_rows(known, rows, ridge)
        rule = BlockRule.of(self._penalised(self.penalty_), self._spread, nonnegative=bool(self.nonnegative))
        curvature = CURVATURE.get(self.loss, 1 / rule.width)
        ridge = replace(ridge, penalty=ridge.penalty / curvature)
        centre = np.zeros(len(known))
        for _ in range(_FOLD_IN_STEPS):
            errors = residuals(known.by_user, rows, self._items.array, self.offset_)
            steps = rule.slopes(known.values, errors + centre) / curvature
            towards = steps - centre - errors
            if self.loss in KINKED:
                towards, centre = towards + steps, steps
            super()._fit_rows(known.with_values(towards.__add__), rows, ridge)
        return None
