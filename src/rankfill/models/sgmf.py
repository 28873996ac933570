"""Factors learned from one column at a time by stochastic gradients, the plain rival of Broyden updates.

The step on a column y moves its x by one gradient step, then C, both over the observed rows m:

    x ← x + (C_mᵀ (y − C x) − κ x) / (κ + ‖C_m‖_F²)             C ← C + η/(s + ‖x‖²) · m ∘ (y − C x) xᵀ

The step of x is as long as is safe whatever C is. η = `rate`/√pass; s is the size of the ratings. Biases are as in
`Broyden`, with a step of 1/(κ_b + n) for the bias of a column of n ratings. The objective in `history_` is the squared
error, each column before its step of C.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.columns import ColumnRule, ColumnSums, gradient_columns
from rankfill.models.column_model import ColumnModel, Side
from rankfill.models.settings import check_positive


class SGMF(ColumnModel):
    """Stochastic gradient matrix factorisation, a column (a user or an item) at a time.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    shrinkage: Pulls the factors of a column to zero. None: chosen from the size of the ratings; 0 without biases.
    rate: The share of an error that one column may put right in the other side; above 1 it overshoots.
    side: Whether a column is a user or an item.

    >>> from rankfill import SGMF, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SGMF(rank=2, rate=0.05, shrinkage=0.2, passes=200, tol=None).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    def __init__(
        self,
        *,
        rank: int = 30,
        shrinkage: float | None = None,
        rate: float = 0.01,
        side: Side = "users",
        biases: bool = True,
        passes: int = 15,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.shrinkage = shrinkage
        self.rate = rate
        self.side: Side = side
        self.biases = biases
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_positive("rate", self.rate)

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
        rate = float(self.rate) / max(epoch, 1) ** 0.5
        return ColumnRule(self._ridge(self.side, self.offset_ if epoch else 0.0), rate=rate, unit=self.unit_)
