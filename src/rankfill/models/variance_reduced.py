"""Alternating least squares by variance-reduced stochastic gradients: SAG, SAGA and SVRG.

    min ½ Σ_Ω (r_ui − r̂_ui)² + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

(λ = `penalty`, κ = `shrinkage`, s as in `scaled.py`: 1 for stars from 1 to 5). With the items fixed, the row w of a
user with n ratings is a ridge problem that is a finite sum, Σ_k f_k with

    f_k(w) = ½ (r_k − w·x_k)² + ½ λ' ‖w‖²,   λ' = λ + κ/n.

A round takes one rating k and steps by η along an estimate of the mean gradient,

    sag    w ← w − η (1/n) Σ_j g_j                  after replacing g_k by ∇f_k(w)   (Le Roux, Schmidt, Bach 2012)
    saga   w ← w − η (∇f_k(w) − g_k + (1/n) Σ_j g_j),   then g_k ← ∇f_k(w)           (Defazio et al. 2014)
    svrg   w ← w − η (∇f_k(w) − ∇f_k(v) + (1/n) Σ_j ∇f_j(v)),   v the row before     (Johnson, Zhang 2013)

g_k is the gradient remembered of rating k. Since ∇f_k = −e_k x_k + λ' w, one number a rating is all the memory: the
residual e_k; the part λ' w is never estimated. η is fixed: 1/(3L) for saga, 1/(4L) for svrg, 1/(8L) for sag, with
L = max ‖x_k‖² + λ' over the row. A pass takes every user `inner` times through the ratings, then every item. The
objective in `history_` is exact, after the pass.
"""

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import padded
from rankfill.kernels.row_gradients import Reduction, variance_reduced_pass
from rankfill.kernels.rows import Rows
from rankfill.models.scaled import ScaledFactorModel
from rankfill.models.settings import check_whole, check_word
from rankfill.models.training import Callback, Training, order_seed

STEPS: dict[Reduction, float] = {"sag": 1 / 8, "saga": 1 / 3, "svrg": 1 / 4}
"""η L of each method."""


class VarianceReduced(ScaledFactorModel):
    """Least squares, a side at a time, by SAG, SAGA or SVRG: no rate to choose.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    method: Which estimate of the gradient: saga, sag (a fixed step, slower), svrg (no memory between passes).
    inner: How many times a row goes through its ratings before the other side moves.

    >>> from rankfill import Ratings, VarianceReduced
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = VarianceReduced(rank=2, penalty=0.01, shrinkage=0.0, passes=50).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    def __init__(
        self,
        *,
        method: Reduction = "saga",
        rank: int = 30,
        penalty: float = 0.07,
        shrinkage: float | None = None,
        inner: int = 2,
        biases: bool = True,
        passes: int = 20,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.method: Reduction = method
        self.rank = rank
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.inner = inner
        self.biases = biases
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` times `inner` turns, the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        fixed = self._units(self._items.array, 1, 1 / self._scale)
        targets = known.by_user._replace(values=self._targets(known.by_user.values))
        memory = np.zeros(len(known), np.float32)
        self._turn(targets, rows, fixed, memory, 0, self.passes * self.inner, self.seed)
        return self._units(rows, 0, self._scale)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("method", self.method, Reduction)
        check_whole("inner", self.inner, 1)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        moving = self._to_units()
        sides = [rows._replace(values=self._targets(rows.values)) for rows in (ratings.by_user, ratings.by_item)]
        memory = [np.zeros(len(ratings), np.float32) for _ in sides]
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                for side, rows in enumerate(sides):
                    seed = order_seed(self.seed, 2 * epoch + side)
                    self._turn(rows, moving[side], moving[1 - side], memory[side], side, self.inner, seed)
                self._users.array[:] = self._units(moving[0], 0, self._scale)
                self._items.array[:] = self._units(moving[1], 1, self._scale)
                squared = self._squared_errors(ratings)
                training.report(0.5 * squared + self._penalties(), float(np.sqrt(squared / len(ratings))))

    def _turn(
        self,
        rows: Rows,
        moving: NDArray[np.float32],
        fixed: NDArray[np.float32],
        memory: NDArray[np.float32],
        side: int,
        inner: int,
        seed: int,
    ) -> None:
        still = self.rank + 1 - side if self.biases else -1
        step = STEPS[self.method]
        held = self.penalty, self.shrinkage_
        variance_reduced_pass(rows, moving, fixed, memory, self.method, *held, step, inner, still, seed)

    def _squared_errors(self, ratings: Ratings) -> float:
        predicted = self._score(ratings.user_indices, ratings.item_indices)
        return float(np.square(ratings.values - predicted, dtype=np.float64).sum())
