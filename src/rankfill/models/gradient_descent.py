"""Factors and biases by gradient descent: both sides at once, down the gradient of the whole objective.

    min F = Σ_Ω s² ℓ((r_ui − r̂_ui)/s) + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

as in `sgd.py`; ℓ is a loss with a slope everywhere: squared, huber or logistic. The curvature of a row grows with its
number of ratings n, so every row steps by η/n along its own gradient: descent in the metric D = diag(n).
From a point y a pass makes x⁺ = max(y − η D⁻¹ ∇F(y), 0 where `nonnegative` says so), with the first η of
2η₋, η₋, η₋/2, … (η₋ of the pass before) that meets Armijo's condition

    F(x⁺) ≤ F(y) − ¼ ‖x⁺ − y‖²_D / η .

momentum="none": y = x, and F never increases. momentum="nesterov": y = x + (k − 1)/(k + 2) (x − x₋); where that would
make F increase, the pass starts again from y = x with k = 1 (O'Donoghue, Candès 2015). A pass costs two sweeps over the
ratings for the gradient and one for each η tried. The objective in `history_` is F after the pass, exactly.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import RoundSums, padded
from rankfill.kernels.row_gradients import full_gradient
from rankfill.kernels.rows import Rows
from rankfill.models.scaled import RowPair, ScaledFactorModel
from rankfill.models.settings import Nonnegative, check_positive, check_word
from rankfill.models.training import Callback, Training

SmoothLoss = Literal["squared", "huber", "logistic"]
Momentum = Literal["none", "nesterov"]
HALVINGS = 60


class Point(NamedTuple):
    """Rows of both sides, in the units of the kernels, and what the objective is there."""

    rows: RowPair
    objective: float
    sums: RoundSums


class GradientDescent(ScaledFactorModel):
    """Factors and biases by full gradients with a line search: slow, exact, nothing to tune.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    loss: What an error costs; logistic is for ratings of -1 and +1.
    epsilon: The width of the huber loss: errors up to it cost their square.
    momentum: Go on in the direction of the last pass (nesterov), or not (none).

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

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` steps for their ratings, the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        problem = _Problem(self, known, fixed_items=True)
        point, eta = problem.at((rows, self._units(self._items.array, 1, 1 / self._scale))), 1.0
        for _ in range(self.passes):
            point, eta = problem.descend(point, eta)
        return self._units(point.rows[0], 0, self._scale)[:, : self._width]

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
        point, eta, k = problem.at(self._to_units()), 1.0, 1
        before = point
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                ahead = point
                if self.momentum == "nesterov" and k > 1:
                    ahead = problem.at(_extrapolated(point.rows, before.rows, (k - 1) / (k + 2)))
                reached, eta = problem.descend(ahead, eta)
                if reached.objective > point.objective:
                    k, (reached, eta) = 1, problem.descend(point, eta)
                before, point, k = point, reached, k + 1
                self._publish(point.rows)
                squared = self._scale**2 * point.sums.squared / len(ratings)
                training.report(self._scale**2 * point.objective, float(np.sqrt(squared)))

    def _publish(self, rows: RowPair) -> None:
        self._users.array[:] = self._units(rows[0], 0, self._scale)
        self._items.array[:] = self._units(rows[1], 1, self._scale)


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
        """Of one side; the ones beside the biases and the rows without ratings do not move, so theirs is 0."""
        model, gradient = self.model, np.empty_like(rows[side])
        width = model.epsilon / model._scale
        sums = full_gradient(
            self.sides[side], rows[side], rows[1 - side], gradient, model.loss, width, model.penalty, model.shrinkage_
        )
        gradient[self.unrated[side]] = 0
        if model.biases:
            gradient[:, model.rank + 1 - side] = 0
        return gradient, sums

    def at(self, rows: RowPair) -> Point:
        """Evaluates the objective."""
        sums = self.gradient(rows, 0)[1]
        squares = 0.0
        for side in range(len(self.sides)):
            each = np.square(rows[side], dtype=np.float64).sum(axis=1)
            ones = float(self.model.biases)
            squares += float(self.held[side] @ (each - ones))
        return Point(rows, sums.loss + 0.5 * squares, sums)

    def descend(self, start: Point, eta: float) -> tuple[Point, float]:
        """One step that meets Armijo's condition, and its η; the start itself where rounding leaves nothing to gain."""
        gradients = [self.gradient(start.rows, side)[0] / counts for side, counts in enumerate(self.counts)]
        eta *= 2
        for _ in range(HALVINGS):
            point = self.at(self._moved(start.rows, gradients, eta))
            squares = sum(
                float((np.square(point.rows[side] - start.rows[side], dtype=np.float64) * counts).sum())
                for side, counts in enumerate(self.counts)
            )
            if point.objective <= start.objective - 0.25 * squares / eta:
                return point, eta
            eta /= 2
        return start, 1.0

    def _moved(self, rows: RowPair, gradients: list[NDArray[np.float32]], eta: float) -> RowPair:
        moved = list(rows)
        for side, gradient in enumerate(gradients):
            moved[side] = rows[side] - np.float32(eta) * gradient
            if self.model._is_nonnegative(side):
                factors = moved[side][:, : self.model.rank]
                np.maximum(factors, 0, out=factors)
        return moved[0], moved[1]


def _extrapolated(rows: RowPair, before: RowPair, share: float) -> RowPair:
    users, items = (now + np.float32(share) * (now - then) for now, then in zip(rows, before, strict=True))
    return users, items
