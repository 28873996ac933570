"""Factors learned from one column at a time by Broyden updates (Akyıldız, MLSS 2015).

The step on a column y, of which the rows in m are observed, minimises (eq. 2)

    ‖m ∘ (y − C x)‖² + λ ‖C − C_before‖_F² + κ ‖x − x̄‖²

by `inner_iterations` alternations of (eqs. 3, 5 and their forms for missing data)

    x ← x̄ + (C_mᵀC_m + κI)⁺ C_mᵀ (y − C x̄)         C ← C_before + m ∘ (y − C_before x) xᵀ / (λ + xᵀx)

λ is `penalty`: how much of C a column may rewrite. κ is `shrinkage`, 0 in the paper; then a column with fewer entries
than factors, or a singular system, takes the solution of least norm. x̄ = 0, but for a column that comes again in a
stream its x. A `batch` of columns X, Y is one step, C = (λ C_before + Y Xᵀ)(λI + X Xᵀ)⁻¹ when complete (eq. 7), each
row of C by a system of its own when not.

With biases y is what is left of the rating after μ and the biases, C starts small and, where no number is given,
λ = 100 s, κ = 15 s, s the standard deviation of the ratings; without biases λ = 10 s, κ = 0, s their root mean square.
The bias of a row of C moves as a factor would that has √w beside it in x; w = s in a stream, where biases start from
zero, and s/10 in a fit, where they start from those of the bias model. What was taken is in `penalty_` and
`shrinkage_`. The objective in `history_` is the sum of the minima over the steps of a pass; `train` is the error of
each column before its step of C.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.columns import ColumnRule, ColumnSums, broyden_columns
from rankfill.models.base.settings import SideOption, check_positive, check_whole
from rankfill.models.columns.online import OnlineColumnModel

PENALTY, PENALTY_ALONE = 100.0, 10.0
"""λ in units of the size of the ratings, where none is given: with biases and without."""


class Broyden(OnlineColumnModel):
    """Online factorisation without a learning rate: users or items as they come, whole or with gaps.

    Each column is a small optimisation of its own. Use it for streams in which the ratings of a person, or the pixels
    of a picture, arrive together; a fit makes several passes over the columns. Cold start: an unknown user is the mean
    user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    rank : int, default=30
        Number of factors, at least 1.
    penalty : float, optional
        How hard the factors of the other side resist one column. Larger values learn less from each column. By default
        100 times the size of the ratings, 10 times without biases.
    shrinkage : float, optional
        Pull of the factors of a column towards zero, zero or more. By default 15 times the size of the ratings, and 5
        for the bias; 0 without biases, where a column with too few ratings takes the solution of least norm.
    inner_iterations : int, default=2
        How often a step alternates between the column and the other side, at least 1.
    batch : int, default=1
        How many columns of a fit make a step together, at least 1. Larger ones use several threads and learn less from
        each column. In a stream every column is a step.
    side : {"users", "items"}, default="users"
        Whether a column is a user or an item. Columns whose ratings arrive together are learned best.
    biases : bool, default=True
        Learn the mean rating and what each user and item adds to it.
    passes : int, default=12
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
    penalty_ : float
        The penalty that was used.
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
    >>> import numpy as np
    >>> from rankfill import Broyden, Ratings
    >>> picture = np.outer([1.0, 2.0, 3.0], [3.0, 1.0, 2.0, 2.0])
    >>> picture[1, 2] = np.nan
    >>> model = Broyden(rank=1, penalty=0.1, biases=False, side="items", clip=False)
    >>> model.fit(Ratings.from_dense(picture)).predict(1, [2]).round(3)
    array([4.], dtype=float32)
    """

    _learned: ClassVar[tuple[str, ...]] = ("penalty_",)

    penalty_: float

    learns_from_store: ClassVar[bool] = True

    def __init__(
        self,
        *,
        rank: int = 30,
        penalty: float | None = None,
        shrinkage: float | None = None,
        inner_iterations: int = 2,
        batch: int = 1,
        side: SideOption = "users",
        biases: bool = True,
        passes: int = 12,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.inner_iterations = inner_iterations
        self.batch = batch
        self.side: SideOption = side
        self.biases = biases
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("inner_iterations", self.inner_iterations, 1)
        check_whole("batch", self.batch, 1)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)

    def _set_unit(self, unit: float) -> None:
        super()._set_unit(unit)
        default = (PENALTY if self.biased_ else PENALTY_ALONE) * unit
        self.penalty_ = default if self.penalty is None else float(self.penalty)

    @property
    def _remedy(self) -> str:
        return f"penalty={self.penalty_:g} lets them move too far: raise it, or the shrinkage"

    def _steps(
        self,
        columns: Rows,
        order: NDArray[np.int32],
        moving: NDArray[np.float32],
        dictionary: NDArray[np.float32],
        rule: ColumnRule,
    ) -> ColumnSums:
        batch = 1 if rule.from_row else int(self.batch)  # in a stream every column is a step
        return broyden_columns(columns, order, moving, dictionary, rule, self._gram, batch)

    def _rule(self, epoch: int) -> ColumnRule:
        return ColumnRule(
            self._ridge(self.side_, self.offset_ if epoch else 0.0),
            penalty=self.penalty_,
            unit=self._unit_of_biases(epoch),
            inner=int(self.inner_iterations),
            from_row=epoch == 0,
        )
