"""Factors and biases by gradient descent: both sides at once, down the gradient of the whole objective.

    min F = Σ_Ω s² ℓ((r_ui − r̂_ui)/s) + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + β b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + β b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

as in `sgd.py`; ℓ is a loss with a slope everywhere: squared, huber or logistic. The curvature of a row grows with its
number of ratings n, so every row steps by η/n along its own gradient: descent in the metric D = diag(n).
From a point y a pass makes x⁺ = max(y − η D⁻¹ ∇F(y), 0 where `nonnegative` says so), with the first η of
2η₋, η₋, η₋/2, … (η₋ of the pass before) that meets Armijo's condition

    F(x⁺) ≤ F(y) − ¼ ‖x⁺ − y‖²_D / η .

momentum="none": y = x, and F never increases. momentum="nesterov": y = x + (k − 1)/(k + 2) (x − x₋), its negative
factors put to zero likewise; where that would make F increase, the pass starts again from y = x with k = 1
(O'Donoghue, Candès 2015). A pass costs two sweeps over the ratings for the gradient and one for each η tried. The
objective in `history_` is F after the pass, exactly.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import RoundSums, RowPair, padded
from rankfill.kernels.row_gradients import full_gradient
from rankfill.kernels.rows import Rows
from rankfill.models.base.settings import Nonnegative, check_positive, check_word
from rankfill.models.base.training import Callback, Training
from rankfill.models.gradient.scaled import ScaledFactorModel

SmoothLoss = Literal["squared", "huber", "logistic"]
Momentum = Literal["none", "nesterov"]
HALVINGS = 60


class Point(NamedTuple):
    """Rows of both sides in the units of the kernels, the objective there, and the gradient of the users' rows."""

    rows: RowPair
    objective: float
    sums: RoundSums
    user_gradient: NDArray[np.float32]


class GradientDescent(ScaledFactorModel):
    """Gradient descent on factors and biases, both sides at once, with a line search: exact, nothing to tune.

    The objective falls in every pass, which makes it a reference for the others; SGD is faster. An unknown user is
    answered with the mean user, an unknown item with the mean item, a pair of both with the mean rating.

    Parameters
    ----------
    rank : int, default=30
        Number of factors. Two biases share their rows of sixteens: 14, 30 and 62 fill them.
    loss : {"squared", "huber", "logistic"}, default="squared"
        What an error costs. "logistic" is for ratings of -1 and +1.
    penalty : float, default=0.07
        Pull of factors and biases towards zero for each rating of a row, in units in which ratings deviate by about 1.
        Larger values follow single ratings less.
    shrinkage : float, optional
        Pull of every row towards zero that does not grow with its ratings: rows with few ratings stay near zero. By
        default the best of a few on ratings kept aside. Biases are held by at most 5 of it.
    momentum : {"none", "nesterov"}, default="nesterov"
        Whether a pass goes on in the direction of the last one, which takes far fewer passes.
    nonnegative : {"both", "items", "users", "none"}, default="none"
        Which factors must not be negative, so that they can be read as topics. Biases are free. "both" needs ratings
        of zero and above.
    biases : bool, default=True
        Learn the mean rating and what each user and item adds to it, beside the factors.
    epsilon : float, default=0.5
        Width of the huber loss: errors up to it cost their square.
    passes : int, default=100
        The most passes over the ratings.
    tol : float or None, default=1e-06
        Stops when the objective, or the error on validation ratings, has not fallen by more than this share for three
        passes. None makes every pass.
    seed : int, default=0
        Seeds the start of the rows. The same seed gives the same bits.
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
        What every prediction starts from: the mean rating, or 0 without biases and with the logistic loss.
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
    >>> from rankfill import GradientDescent, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = GradientDescent(rank=2, penalty=0.01, shrinkage=0.0).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    def __init__(
        self,
        *,
        rank: int = 30,
        loss: SmoothLoss = "squared",
        penalty: float = 0.07,
        shrinkage: float | None = None,
        momentum: Momentum = "nesterov",
        nonnegative: Nonnegative = "none",
        biases: bool = True,
        epsilon: float = 0.5,
        passes: int = 100,
        tol: float | None = 1e-6,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.momentum: Momentum = momentum
        self.nonnegative: Nonnegative = nonnegative
        self.biases = biases
        self.epsilon = epsilon
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` steps for their ratings, the items as they are."""
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        problem = _Problem(self, known, fixed_items=True)
        point, eta = problem.at((rows, self._units(self._items.array, 1, 1 / self._scale))), 1.0
        self._representable(point.user_gradient)
        for _ in range(self.passes):
            point, eta = problem.descend(point, eta)
        return self._in_ratings(point.rows[0], 0)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        if self.loss not in get_args(SmoothLoss):
            raise ValueError(
                f"loss must be one of {', '.join(get_args(SmoothLoss))}, which have a slope everywhere, "
                f"found {self.loss!r}; use SGD for the others"
            )
        super()._check(ratings)
        check_word("momentum", self.momentum, Momentum)
        check_positive("epsilon", self.epsilon, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        problem = _Problem(self, ratings)
        with Training(self, validation, callbacks) as training:
            for epochs in training.stretches():
                points = problem.points(self._to_units(), nesterov=self.momentum == "nesterov")
                for _, point in zip(epochs, points, strict=False):
                    self._publish(point.rows)
                    squared = self._scale**2 * point.sums.squared / len(ratings)
                    training.report(self._scale**2 * point.objective, float(np.sqrt(squared)))


class _Problem:
    """The objective over the ratings of one fit, in the units of the kernels (a factor s² smaller)."""

    def __init__(self, model: GradientDescent, ratings: Ratings, *, fixed_items: bool = False) -> None:
        self.model = model
        self.sides = [self._side(rows) for rows in (ratings.by_user, ratings.by_item)]
        if fixed_items:
            self.sides = self.sides[:1]
        n = [rows.counts() for rows in self.sides]
        self.unrated = [each == 0 for each in n]
        self.held = [np.where(each > 0, model.penalty * each + model.shrinkage_, 0.0) for each in n]
        self.counts = [np.maximum(rows.counts(), 1)[:, None].astype(np.float32) for rows in self.sides]

    def _side(self, rows: Rows) -> Rows:
        return rows._replace(values=self.model._targets(rows.values))

    def gradient(self, rows: RowPair, side: int) -> tuple[NDArray[np.float32], RoundSums]:
        """The gradient of one side; 0 for what does not move: the ones beside the biases, rows without ratings."""
        model, gradient = self.model, np.empty_like(rows[side])
        width = model.epsilon / model._scale
        sums = full_gradient(
            self.sides[side], rows[side], rows[1 - side], gradient, model.loss, width, model.penalty, model.shrinkage_
        )
        gradient[self.unrated[side]] = 0
        if model.biased_:
            gradient[:, model.rank_ + 1 - side] = 0
            bias = model.rank_ + side
            spared = (1 - model._bias_share) * self.held[side]
            gradient[:, bias] -= (spared * rows[side][:, bias]).astype(np.float32)
        return gradient, sums

    def at(self, rows: RowPair) -> Point:
        """Evaluates the objective."""
        gradient, sums = self.gradient(rows, 0)
        squares, rank = 0.0, self.model.rank_
        for side in range(len(self.sides)):
            each = _squares(rows[side][:, :rank])
            if self.model.biased_:
                each += self.model._bias_share * _squares(rows[side][:, rank + side, None])
            squares += float(self.held[side] @ each)
        return Point(rows, sums.loss + 0.5 * squares, sums, gradient)

    def points(self, start: RowPair, *, nesterov: bool) -> Iterator[Point]:
        """One step at a time, for ever; with momentum, which starts over where it would raise the objective."""
        point = before = self.at(start)
        eta, k = 1.0, 1
        while True:
            ahead = point
            if nesterov and k > 1:
                ahead = self.at(self.extrapolate(point.rows, before.rows, (k - 1) / (k + 2)))
            reached, eta = self.descend(ahead, eta)
            if reached.objective > point.objective:
                k, (reached, eta) = 1, self.descend(point, eta)
            before, point, k = point, reached, k + 1
            yield point

    def descend(self, start: Point, eta: float) -> tuple[Point, float]:
        """One step that meets Armijo's condition, and its η; the start itself where rounding leaves nothing to gain."""
        gradients = [start.user_gradient, *(self.gradient(start.rows, side)[0] for side in range(1, len(self.sides)))]
        gradients = [gradient / counts for gradient, counts in zip(gradients, self.counts, strict=True)]
        eta *= 2
        for _ in range(HALVINGS):
            point = self.at(self._move(start.rows, gradients, eta))
            squares = sum(
                float(_squares(point.rows[side] - start.rows[side]) @ counts[:, 0])
                for side, counts in enumerate(self.counts)
            )
            if point.objective <= start.objective - 0.25 * squares / eta:
                return point, eta
            eta /= 2
        return start, 1.0

    def extrapolate(self, rows: RowPair, before: RowPair, share: float) -> RowPair:
        users, items = (now + np.float32(share) * (now - then) for now, then in zip(rows, before, strict=True))
        return self._project((users, items))

    def _move(self, rows: RowPair, gradients: list[NDArray[np.float32]], eta: float) -> RowPair:
        moved = list(rows)
        for side, gradient in enumerate(gradients):
            moved[side] = rows[side] - np.float32(eta) * gradient
        return self._project((moved[0], moved[1]))

    def _project(self, rows: RowPair) -> RowPair:
        """Puts the factors that must not be negative back to zero, in place."""
        for side in range(len(self.sides)):
            if self.model._is_nonnegative(side):
                factors = rows[side][:, : self.model.rank_]
                np.maximum(factors, 0, out=factors)
        return rows


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """‖row‖² of every row: each summed in single precision, as good as the rows themselves, where it can be."""
    with np.errstate(over="ignore"):
        squares: NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    if not np.isfinite(squares.sum()):  # rows beyond 1e19
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return squares
