"""Soft-impute: proximal gradient on ½ Σ_Ω (r − w)² + λ ‖W‖_* (Mazumder, Hastie, Tibshirani, JMLR 2010).

A step fills the unknown entries with what is predicted there and shrinks the singular values of the result,

    W ← S_{λ/L}(Y + P_Ω(R − Y)/L),   S_τ(A) = U max(Σ − τ, 0) Vᵀ,

L = 1 without weighting. With penalty="exact" the ratings have no noise: ‖W‖_* is minimised subject to w = r on Ω, the
limit λ → 0 (Candès, Recht 2009). The solver is in `solvers/proximal_gradient.py`, the objective and its certificate in
`objectives.py`.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from rankfill.data import Ratings
from rankfill.linalg import LowRank
from rankfill.models.base.settings import Weighting
from rankfill.models.convex.model import PenalisedModel
from rankfill.models.convex.objectives import Exact, Penalised
from rankfill.models.convex.offset import Offset
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.proximal_gradient import STEP, multipliers, proximal_gradient
from rankfill.shown import shown


class SoftImpute(PenalisedModel):
    """Convex completion by singular values that are pulled towards zero.

    There is one solution, and every fit can prove how near to it it is. A plain method with cheap passes, of which it
    may need many; `TraceTradeoff` reaches the same solution sooner.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    penalty : float or "exact", optional
        Pull of the singular values towards zero, above 0; more gives a lower rank. By default the level of noise in the
        data. `largest_penalty` tells from where on nothing is learned. "exact" is for ratings without noise: of all
        matrices that meet them, the one of the least trace norm.
    accelerated : bool, default=True
        Whether steps have momentum, which takes fewer passes. It is restarted where the objective would rise.
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
        The penalty that was used; 0 with penalty="exact".

    Examples
    --------
    >>> from rankfill import Ratings, SoftImpute
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SoftImpute(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    def __init__(
        self,
        *,
        penalty: float | Literal["exact"] | None = None,
        accelerated: bool = True,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty: float | Literal["exact"] | None = penalty
        self.accelerated = accelerated
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check_penalty(self) -> None:
        if isinstance(self.penalty, str) and self.penalty != "exact":
            raise ValueError(f'penalty must be a number above 0, "exact" or None, found {shown(self.penalty)}')
        if self.penalty != "exact":
            super()._check_penalty()

    def _objective(self, problem: Problem, ratings: Ratings) -> Penalised:
        if self.penalty != "exact":
            return super()._objective(problem, ratings)
        return Exact(STEP * self._penalised(1.0).estimate_of_largest(problem) or 1.0)

    def _learned_objective(self) -> Penalised:
        return Exact(0.0) if self.penalty == "exact" else super()._learned_objective()

    def _solve(self, problem: Problem, objective: Penalised, start: LowRank) -> Iterator[Iterate]:
        if self.penalty == "exact":
            dual = self._dual if self.history_ else np.zeros(len(problem.values))
            return multipliers(problem, objective, start, dual, self.seed)
        return proximal_gradient(problem, objective, start, accelerated=bool(self.accelerated), seed=self.seed)
