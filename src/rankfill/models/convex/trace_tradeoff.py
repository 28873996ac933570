"""The trace trade-off: ½ Σ_Ω (r − w)² + λ ‖W‖_* by factors whose rank grows until nothing is left to gain.

G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*, IJCAI 2015,
eq. 18 and 20 with theorem 4.2, after M. Journée, F. Bach, P.-A. Absil, R. Sepulchre, SIAM J. Optim. 2010. Their
F(X) = Σ (R − X)² + λ tr X over X ⪰ 0 counts every rating twice: with twice the λ of here, F = 4 J. The objective and
its certificate are in `objectives.py`, the solver in `solvers/rank_growth.py`.
"""

from collections.abc import Iterator

from rankfill.linalg import LowRank
from rankfill.models.base.settings import Weighting
from rankfill.models.convex.model import PenalisedModel
from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.offset import Offset
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.rank_growth import rank_growth


class TraceTradeoff(PenalisedModel):
    """Convex completion by factors whose rank grows until nothing is left to gain.

    The quickest of the models for this problem, and a good choice where the number of factors is not known: it follows
    from the penalty. There is one solution, and every fit can prove how near to it it is.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    penalty : float, optional
        Pull of the singular values towards zero, above 0; more gives a lower rank. By default the level of noise in the
        data. `largest_penalty` tells from where on nothing is learned.
    offset : {"none", "mean", "bias"}, default="bias"
        What is taken off the ratings first. "bias" takes off the mean rating and the effects of user and item, "mean"
        the mean rating, "none" nothing.
    weighting : {"constant", "count"}, default="constant"
        Whether all rows are held back alike ("constant"), or rows with few ratings less than others ("count").
    gap : float, optional
        Relative distance from the best possible objective at which training ends, once that is proved. By default only
        `tol` and `passes` end it.
    passes : int, default=50
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

    Examples
    --------
    >>> from rankfill import Ratings, TraceTradeoff
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = TraceTradeoff(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    >>> model.history_[-1].gap < 1e-4  # within 0.01 % of the best possible
    True
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 50,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _solve(self, problem: Problem, objective: Penalised, start: LowRank) -> Iterator[Iterate]:
        return rank_growth(problem, objective, start, seed=self.seed)
