"""Completion under a bound on the trace norm, by the algorithm of Jaggi and Sulovský (ICML 2010): Frank–Wolfe.

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  ‖D_u W D_i‖_* ≤ τ

In the paper X ⪰ 0 holds Z = D_u W D_i beside its diagonal and its trace t is fixed: t = 2 τ. The solver is in
`solvers/frank_wolfe.py`, the certificate in `objectives.py`.
"""

from collections.abc import Iterator

from rankfill.linalg import LowRank
from rankfill.models.base.settings import Weighting
from rankfill.models.convex.model import BoundedModel
from rankfill.models.convex.objectives import Bounded
from rankfill.models.convex.offset import Offset
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.frank_wolfe import frank_wolfe


class JaggiSulovsky(BoundedModel):
    """Convex completion within a bound on the sum of the singular values, one singular pair per pass.

    The algorithm of Frank and Wolfe: cheap passes and little memory, but a slow approach; `TraceBounded` reaches the
    same solution sooner.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    trace : float, optional
        Bound on the sum of the singular values, above 0; less gives a lower rank. By default chosen from the data.
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
    trace_ : float
        The bound that was used.
    penalty_ : float
        Penalty with which `fold_in` finds rows: that of the penalised problem with the same solution.

    Examples
    --------
    >>> from rankfill import JaggiSulovsky, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = JaggiSulovsky(trace=11, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    def __init__(
        self,
        *,
        trace: float | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.trace = trace
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _solve(self, problem: Problem, objective: Bounded, start: LowRank) -> Iterator[Iterate]:
        return frank_wolfe(problem, objective, start, seed=self.seed)
