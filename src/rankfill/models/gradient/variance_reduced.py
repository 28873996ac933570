"""Alternating least squares by variance-reduced stochastic gradients: SAG, SAGA and SVRG.

    min ½ Σ_Ω (r_ui − r̂_ui)² + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + β b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + β b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

(λ = `penalty`, κ = `shrinkage`, β = min(1, 5/κ), s as in `scaled.py`: 1 for stars from 1 to 5). With the items fixed,
the row w of a user with n ratings is a ridge problem that is a finite sum, Σ_k f_k with

    f_k(w) = ½ (r_k − w·x_k)² + ½ λ' ‖w‖²,   λ' = λ + κ/n   (β λ' for the bias in w).

A round draws one rating k, any of them as likely as another, and steps by η along an estimate of the mean gradient,

    sag    w ← w − η (1/n) Σ_j g_j                  after replacing g_k by ∇f_k(w)   (Schmidt, Le Roux, Bach 2017)
    saga   w ← w − η (∇f_k(w) − g_k + (1/n) Σ_j g_j),   then g_k ← ∇f_k(w)           (Defazio et al. 2014)
    svrg   w ← w − η (∇f_k(w) − ∇f_k(v) + (1/n) Σ_j ∇f_j(v)),   v as it was n rounds ago at most  (Johnson, Zhang 2013)

g_k is the gradient remembered of rating k, at first ∇f_k at the row as it is when its turn comes, for SAG less the
mean of these (with which n rounds would go n/16 times as far as the minimum on rows nearly parallel). Since
∇f_k = −e_k x_k + λ' w, one number per rating is all the memory: the residual e_k; the part λ' w is never estimated.

η is fixed: with L = max ‖x_k‖² + λ' over the row and μ the least curvature of the mean, k rounds bring the row nearer
to the ridge solution by a factor of at least (1 − ρ)^k, up to a constant and in expectation:

    sag    η = 1/(16 L)   ρ = min(μ/(16 L), 1/(8 n))     Schmidt, Le Roux, Bach 2017, theorem 1
    saga   η = 1/(3 L)    ρ = min(μ/(3 L), 1/(4 n))      Defazio et al. 2014, corollary 1
    svrg   η = 1/(6 L)    ρ = min(μ/(6 L), 1/(2 n))      Kovalev, Horváth, Richtárik 2020, for v renewed at random times

These hold for draws with replacement. In a fixed order without, SAG with 1/(8 L) diverged on rows nearly parallel.
A pass makes `inner` · n rounds for every user with n ratings, then for every item. The objective in `history_` is
exact, after the pass.
"""

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import padded
from rankfill.kernels.row_gradients import Reduction, variance_reduced_pass
from rankfill.kernels.rows import Rows
from rankfill.models.base.settings import check_whole, check_word
from rankfill.models.base.training import Callback, Training, order_seed
from rankfill.models.gradient.scaled import ScaledFactorModel

STEPS: dict[Reduction, float] = {"sag": 1 / 16, "saga": 1 / 3, "svrg": 1 / 6}
"""η L of each method."""


class VarianceReduced(ScaledFactorModel):
    """Least squares, one side at a time, by SAG, SAGA or SVRG: stochastic gradients with no rate to choose.

    Reaches what alternating least squares reaches, in passes that cost time in proportion to the rank instead of its
    square. An unknown user is answered with the mean user, an unknown item with the mean item, a pair of both with
    the mean rating.

    Parameters
    ----------
    method : {"sag", "saga", "svrg"}, default="saga"
        How the noise of single ratings is taken out of the gradient. "saga" takes the longest steps, "sag" the
        shortest.
    rank : int, default=30
        Number of factors. Two biases share their rows of sixteens: 14, 30 and 62 fill them.
    penalty : float, default=0.07
        Pull of factors and biases towards zero for each rating of a row, in units in which ratings deviate by about 1.
        Larger values follow single ratings less.
    shrinkage : float, optional
        Pull of every row towards zero that does not grow with its ratings: rows with few ratings stay near zero. By
        default the best of a few on ratings kept aside. Biases are held by at most 5 of it.
    inner : int, default=2
        How many times a row goes through its ratings before the other side moves.
    biases : bool, default=True
        Learn the mean rating and what each user and item adds to it, beside the factors.
    passes : int, default=20
        The most passes over the ratings.
    tol : float or None, default=0.0001
        Stops when the objective, or the error on validation ratings, has not fallen by more than this share for three
        passes. None makes every pass.
    seed : int, default=0
        Seeds the start and the order of the ratings. The same seed gives the same bits.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_users, rank)
        One row per user, in the order of `users_`.
    item_factors_ : ndarray of shape (n_items, rank)
        One row per item, in the order of `items_`.
    user_biases_ : ndarray of shape (n_users,)
        What each user adds to the offset; zeros without biases.
    item_biases_ : ndarray of shape (n_items,)
        What each item adds to the offset; zeros without biases.
    offset_ : float
        What every prediction starts from: the mean rating, or 0 without biases.
    shrinkage_ : float
        The shrinkage in use, given or chosen.
    rank_ : int
        The number of factors learned.
    biased_ : bool
        Whether biases were learned.
    users_ : Vocabulary
        The ids of the users, in the order of the rows.
    items_ : Vocabulary
        The ids of the items, in the order of the rows.
    n_ratings_ : int
        How many ratings were learned from.
    mean_ : float
        The mean of those ratings.
    range_ : tuple of float
        The least and the greatest rating, without the few that stand far apart from all others.
    history_ : list of EpochReport
        One report per pass.

    Examples
    --------
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

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` times `inner` turns, the items as they are."""
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        fixed = self._units(self._items.array, 1, 1 / self._scale)
        targets = known.by_user._replace(values=self._targets(known.by_user.values))
        self._turn(targets, rows, fixed, 0, self.passes * self.inner, self.seed)
        return self._in_ratings(rows, 0)[:, : self._width]

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
        with Training(self, validation, callbacks) as training:
            training.carry(users=moving[0], items=moving[1])
            for epoch in training.epochs():
                for side, rows in enumerate(sides):
                    seed = order_seed(self.seed, 2 * epoch + side)
                    self._turn(rows, moving[side], moving[1 - side], side, self.inner, seed)
                self._publish(moving)
                squared = self._squared_errors(ratings)
                training.report(0.5 * squared + self._penalty_term(), float(np.sqrt(squared / len(ratings))))

    def _turn(
        self,
        rows: Rows,
        moving: NDArray[np.float32],
        fixed: NDArray[np.float32],
        side: int,
        inner: int,
        seed: int,
    ) -> None:
        still, bias = (self.rank_ + 1 - side, self.rank_ + side) if self.biased_ else (-1, -1)
        step = STEPS[self.method]
        held = self.penalty, self.shrinkage_
        variance_reduced_pass(rows, moving, fixed, self.method, *held, step, inner, still, bias, self._bias_share, seed)

    def _squared_errors(self, ratings: Ratings) -> float:
        predicted = self._score(ratings.user_indices, ratings.item_indices)
        return float(np.square(ratings.values - predicted, dtype=np.float64).sum())
