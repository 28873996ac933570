"""Factors learned from one column at a time by stochastic gradients, the plain rival of Broyden updates.

The step on a column y moves its x by one gradient step, then C, both over the observed rows m:

    x ← x + (C_mᵀ (y − C x) − κ x) / (κ + ‖C_m‖_F²)             C ← C + η/(w + ‖x‖²) · m ∘ (y − C x) xᵀ

The step of x is as long as is safe whatever C is. Without biases w is the size s of the ratings, and η = `rate`/√pass.
With biases η = `rate`/√(1 + 25 pass), where a stream is pass 0: what a stream learns at once, a fit may learn slowly.
Biases and w are as in `Broyden`, with a step of 1/(κ_b + n) for the bias of a column of n ratings. The objective in
`history_` is the squared error, each column before its step of C.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.columns import ColumnRule, ColumnSums, gradient_columns
from rankfill.models.base.settings import SideOption, check_positive
from rankfill.models.columns.online import OnlineColumnModel

SLOWER = 25
"""How much slower the passes of a fit with biases are than a stream: the square of their first rate."""


class SGMF(OnlineColumnModel):
    """Stochastic gradient matrix factorisation, one column (a user or an item) at a time.

    The plain rival of `Broyden`: a step is cheaper, less is learned from it, and there is a rate to choose. Cold start:
    an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    rank : int, default=30
        Number of factors, at least 1.
    shrinkage : float, optional
        Pull of the factors of a column towards zero, zero or more. By default 15 times the size of the ratings, and 5
        for the bias; 0 without biases.
    rate : float, default=0.01
        The share of an error that one column may put right in the other side. Above 1 it overshoots, and a rate with
        which the factors grow without end is refused.
    side : {"users", "items"}, default="users"
        Whether a column is a user or an item. Columns whose ratings arrive together are learned best.
    biases : bool, default=True
        Learn the mean rating and what each user and item adds to it.
    passes : int, default=15
        The most passes of a fit over the ratings, at least 1.
    tol : float, optional, default=0.0
        Stop a fit when three passes have each lowered the objective, or the error on validation ratings, by less than
        this share. None makes every pass.
    seed : int, default=0
        Where the factors at the start and the order of the columns in a pass come from.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, rank) and (n_items, rank)
        One row per user and per item.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        How far each user and item is above the offset; zeros without biases.
    offset_ : float
        What is added to factors and biases: the mean rating, in a stream that of the ratings so far with strays
        brought near; 0 without biases.
    shrinkage_, bias_shrinkage_ : float
        The pull of a column's factors and of its bias towards zero.
    unit_ : float
        The size of the ratings: their standard deviation, without biases their root mean square. In a stream it follows
        the ratings by factors of four.
    side_ : str
        The side that columns were when learning began.
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
        Whether there are biases beside the factors.
    history_ : list of EpochReport
        One report per pass of a fit; a stream has none.

    Examples
    --------
    >>> from rankfill import SGMF, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SGMF(rank=2, rate=0.5, shrinkage=0.2, passes=200, tol=None).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    def __init__(
        self,
        *,
        rank: int = 30,
        shrinkage: float | None = None,
        rate: float = 0.01,
        side: SideOption = "users",
        biases: bool = True,
        passes: int = 15,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.shrinkage = shrinkage
        self.rate = rate
        self.side: SideOption = side
        self.biases = biases
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_positive("rate", self.rate)

    @property
    def _remedy(self) -> str:
        return f"rate={self.rate:g} is too large: lower it"

    def _steps(
        self,
        columns: Rows,
        order: NDArray[np.int32],
        moving: NDArray[np.float32],
        dictionary: NDArray[np.float32],
        rule: ColumnRule,
    ) -> ColumnSums:
        return gradient_columns(columns, order, moving, dictionary, rule)

    def _rule(self, epoch: int) -> ColumnRule:
        rate = float(self.rate) / (1 + SLOWER * epoch if self.biased_ else max(epoch, 1)) ** 0.5
        ridge = self._ridge(self.side_, self.offset_ if epoch else 0.0)
        return ColumnRule(ridge, rate=rate, unit=self._unit_of_biases(epoch))
