"""Factors learned from one column at a time by Broyden updates (Akyıldız, MLSS 2015).

The step on a column y, of which the rows in m are observed, minimises (eq. 2)

    ‖m ∘ (y − C x)‖² + λ ‖C − C_before‖_F² + κ ‖x − x̄‖²

by `inner_iterations` alternations of (eqs. 3, 5 and their forms for missing data)

    x ← x̄ + (C_mᵀC_m + κI)⁺ C_mᵀ (y − C x̄)         C ← C_before + m ∘ (y − C_before x) xᵀ / (λ + xᵀx)

λ is `penalty`: how much of C a column may rewrite. κ is `shrinkage`, 0 in the paper; then a column with fewer entries
than factors, or a singular system, takes the solution of least norm. x̄ = 0, but for a column that comes again in a
stream its x. A `batch` of columns X, Y is one step, C = (λ C_before + Y Xᵀ)(λI + X Xᵀ)⁻¹ when complete (eq. 7), each
row of C by a system of its own when not.

With biases y is what is left of the rating after μ and the biases, which move with the step (see `column_model.py`), C
starts small and, where no number is given, λ = 100 s, κ = 15 s, s the standard deviation of the ratings; without biases
λ = 10 s, κ = 0, s their root mean square. What was taken is in `penalty_` and `shrinkage_`. The objective in `history_`
is the sum of the minima over the steps of a pass; `train` is the error of each column before its step of C.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.columns import ColumnRule, ColumnSums, broyden_columns
from rankfill.models.column_model import ColumnModel, Side
from rankfill.models.settings import check_positive, check_whole

PENALTY, PENALTY_ALONE = 100.0, 10.0
"""λ in units of the size of the ratings, where none is given: with biases and without."""


class Broyden(ColumnModel):
    """One column at a time, without a learning rate: users or items as they come, whole or with gaps.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: How hard the factors of the other side resist one column. None: chosen from the size of the ratings.
    shrinkage: Pulls the factors of a column to zero. None: chosen from the size of the ratings; 0 without biases.
    inner_iterations: How often a step alternates between the column and the other side.
    batch: How many columns make a step together; they are solved on several threads.
    side: Whether a column is a user or an item.

    >>> import numpy as np
    >>> from rankfill import Broyden, Ratings
    >>> picture = np.outer([1.0, 2.0, 3.0], [3.0, 1.0, 2.0, 2.0])
    >>> picture[1, 2] = np.nan
    >>> model = Broyden(rank=1, penalty=0.1, biases=False, side="items", clip=False)
    >>> model.fit(Ratings.from_dense(picture)).predict(1, [2]).round(3)
    array([4.], dtype=float32)
    """

    penalty_: float

    def __init__(
        self,
        *,
        rank: int = 30,
        penalty: float | None = None,
        shrinkage: float | None = None,
        inner_iterations: int = 2,
        batch: int = 1,
        side: Side = "users",
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
        self.side: Side = side
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

    def _begin_rows(self, unit: float, n_users: int, n_items: int, offset: float) -> None:
        super()._begin_rows(unit, n_users, n_items, offset)
        default = (PENALTY if self.biases else PENALTY_ALONE) * self.unit_
        self.penalty_ = default if self.penalty is None else float(self.penalty)

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
            self._ridge(self.side, self.offset_ if epoch else 0.0),
            penalty=self.penalty_,
            unit=self.unit_,
            inner=int(self.inner_iterations),
            from_row=epoch == 0,
        )

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"penalty": self.penalty_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.penalty_ = about["penalty"]
