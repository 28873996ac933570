"""The unknown of primal–dual completion: Z = Σ_l ω_l a_l b_lᵀ with unit vectors a, b, moved one term at a time.

    L = Σ_Ω ℓ(r_ui − c_ui z_ui) + λ Σ_l ω_l  ≥  Σ_Ω ℓ + λ ‖Z‖_*

A block update fixes b and finds the best v = ω a (`kernels.block_pass`), or fixes a and finds the best ω b: the same
with users and items swapped. Neither raises L. c_ui = 1/(d_u d_i) is that of `objectives.py`.

The residuals are held twice, by user and by item. What a move changes is queued and added on the way of the next pass
over that side, so that a term costs one pass over the ratings for each side that it moves.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import LossName, Rows, block_pass, block_weight
from rankfill.linalg import LowRank
from rankfill.models.convex.objectives import KINKED, Penalised
from rankfill.models.convex.problem import Problem
from rankfill.objectives.losses import beyond, loss_slopes, loss_values

Vector = NDArray[np.float64]

_LONGEST = 1000
"""The longest stride, in units of the short steps before it."""


class BlockRule(NamedTuple):
    """The loss of a block update. Losses with a kink are rounded off: with d = max(|e| − ε, 0), the `tube` ε being 0
    for |e|, they are d²/2δ up to d = δ, the width, and d − ½ δ beyond.
    """

    penalty: float
    loss: LossName = "squared"
    width: float = 0.0
    nonnegative: bool = False
    tube: float = 0.0

    @classmethod
    def of(cls, objective: Penalised, rounding: float, *, nonnegative: bool) -> "BlockRule":
        """`rounding` is the width for losses with a kink; others have their own."""
        width = rounding if objective.has_kink else objective.width
        return cls(objective.penalty, objective.loss, width, nonnegative, objective.tube)

    def costs(self, ratings: NDArray[np.float32], residual: Vector) -> Vector:
        if self.loss in KINKED:
            return loss_values("huber", ratings, beyond(residual, self.tube), self.width) / self.width
        return loss_values(self.loss, ratings, residual, self.width)

    def slopes(self, ratings: NDArray[np.float32], residual: Vector) -> Vector:
        if self.loss in KINKED:
            return loss_slopes("huber", ratings, beyond(residual, self.tube), self.width) / self.width
        return loss_slopes(self.loss, ratings, residual, self.width)


class Side:
    """The ratings by user or by item, their residuals, and rank-one changes that these do not hold yet."""

    def __init__(self, rows: Rows, residual: Vector, own_scale: Vector, other_scale: Vector) -> None:
        self.rows = rows
        self.residual = residual
        self._own_scale, self._other_scale = own_scale, other_scale
        self._own, self._other = np.zeros((len(own_scale), 2)), np.zeros((len(other_scale), 4))

    def queue(self, slot: int, own: Vector, other: Vector) -> None:
        """residual += own · other, when the next pass is made."""
        self._own[:, slot], self._other[:, slot] = self._own_scale * own, self._other_scale * other

    def best(self, own: Vector, other: Vector, rule: BlockRule) -> Vector:
        """The best replacement of `own` beside the unit vector `other`."""
        slopes, curvatures = self._parabolas(own, other, rule)
        if rule.nonnegative:
            slopes = np.maximum(slopes, 0.0)
        weight = block_weight(slopes, curvatures, rule.penalty)
        return weight * slopes / (1 + weight * curvatures)

    def best_weight(self, own: Vector, other: Vector, weight: float, rule: BlockRule) -> float:
        """The best ω where both vectors stay; not below 0."""
        slopes, curvatures = self._parabolas(weight * own, other, rule)
        return max(0.0, float(own @ slopes) - rule.penalty) / (float(own**2 @ curvatures) or 1.0)

    def settle(self) -> None:
        """Brings the residuals up to date."""
        if self._own.any():
            self._sums(np.zeros(len(self._other)))

    def _parabolas(self, own: Vector, other: Vector, rule: BlockRule) -> tuple[Vector, Vector]:
        """Slope and curvature of the losses in each number of v beside `other`, the slope where v is 0."""
        slopes, curvatures = self._sums(self._other_scale * other, rule.loss, rule.width, rule.tube)
        curvatures *= self._own_scale**2
        return self._own_scale * slopes + own * curvatures, curvatures

    def _sums(
        self, other: Vector, loss: LossName = "squared", width: float = 0.0, tube: float = 0.0
    ) -> tuple[Vector, Vector]:
        self._other[:, 2] = other
        sums = block_pass(self.rows, self.residual, self._own, self._other, loss, width, tube)
        self._own[:] = 0.0
        return sums


class Terms:
    """Weights ω, and a and b as rows of `users` and `items`."""

    weights: Vector
    users: Vector
    items: Vector

    def __init__(self, problem: Problem, start: LowRank, rule: BlockRule) -> None:
        self.rule = rule
        self._problem = problem
        self.by_user = Side(problem.pattern.by_user, problem.residual(start), problem.user_scale, problem.item_scale)
        self.hold(start)

    @cached_property
    def by_item(self) -> Side:
        """Made when terms are tightened; from then on both sides are kept up to date."""
        problem, residual = self._problem, self.residual[self._problem.pattern.order]
        return Side(problem.pattern.by_item, residual, problem.item_scale, problem.user_scale)

    @property
    def rank(self) -> int:
        return len(self.weights)

    @property
    def residual(self) -> Vector:
        """In order by user."""
        return self.by_user.residual

    def product(self) -> LowRank:
        return LowRank.of_pairs(self.users.T, self.weights, self.items.T)

    def hold(self, product: LowRank) -> None:
        """Makes the columns of left and right the terms; their product must be what it was before."""
        norms = [np.linalg.norm(side, axis=0) for side in product]
        self.weights = norms[0] * norms[1]
        kept = self.weights > 0
        self.users, self.items = (
            np.ascontiguousarray((side[:, kept] / norm[kept]).T) for side, norm in zip(product, norms, strict=True)
        )
        self.weights = self.weights[kept]

    def add(self, users: Vector, items: Vector) -> None:
        """Columns of unit vectors, as constraints whose weight is zero so far."""
        self.users, self.items = np.vstack([self.users, users.T]), np.vstack([self.items, items.T])
        self.weights = np.append(self.weights, np.zeros(users.shape[1]))

    @property
    def ratings(self) -> NDArray[np.float32]:
        """In order by user."""
        return self._problem.ratings

    def objective(self) -> float:
        """L."""
        return self._objective_of(self.residual, float(self.weights.sum()))

    def slopes(self) -> Vector:
        """dℓ/de at the residuals."""
        return self.rule.slopes(self.ratings, self.residual)

    def move_ratings(self, change: Vector) -> None:
        """`change` is in order by user; the terms stay."""
        self._set_residual(self.residual + change)

    def move_users(self, first: int = 0) -> None:
        """Every term from `first` on: b stays, ω a moves. Leaves the residuals by item behind."""
        for term in range(first, self.rank):
            before, b = self.weights[term] * self.users[term], self.items[term]
            after = self.by_user.best(before, b, self.rule)
            self.by_user.queue(0, before - after, b)
            self._place(term, self.users, after)
        self._finish()

    def move_weights(self) -> None:
        """Every term: a and b stay, ω moves."""
        for term in range(self.rank):
            a, b, before = self.users[term], self.items[term], float(self.weights[term])
            self.weights[term] = self.by_user.best_weight(a, b, before, self.rule)
            self.by_user.queue(0, (before - self.weights[term]) * a, b)
        self._finish()

    def take_power_steps(self) -> None:
        """Every term: b takes a step of the power method on Q and ω a is found for it. L may rise."""
        for term in range(self.rank):
            matrix = self._problem.descent(self.slopes())
            b = matrix.transposed_times(matrix.times(self.items[term][:, None]))[:, 0]
            length = math.sqrt(b @ b)
            if length == 0:
                continue
            before, b = self.weights[term] * self.users[term], b / length
            self.by_user.queue(0, before, self.items[term])
            after = self.by_user.best(np.zeros_like(before), b, self.rule)
            self.by_user.queue(0, -after, b)
            self.items[term] = b
            self._place(term, self.users, after)
            self.by_user.settle()
        self._finish()

    def tighten(self) -> None:
        """Every term: b stays and ω a moves, then a stays and ω b moves."""
        for term in range(self.rank):
            before, b = self.weights[term] * self.users[term], self.items[term].copy()
            between = self.by_user.best(before, b, self.rule)
            self.by_item.queue(1, b, before - between)
            self.by_user.queue(0, before, b)
            weight = self._place(term, self.users, between)
            if weight > 0:
                a = self.users[term]
                after = self.by_item.best(weight * b, a, self.rule)
                self.by_item.queue(0, weight * b - after, a)
                self.by_user.queue(1, -self._place(term, self.items, after) * a, self.items[term])
            else:
                self.by_item.settle()
        self.by_item.settle()
        self._finish()

    def stride(self, before: LowRank) -> None:
        """A long step from `before` to the terms and beyond: many short ones went that way. Where L is higher: none."""
        here = self.product()
        if before.rank != here.rank:
            return
        ratings = self.residual + self._problem.predict(here)
        best, least, length = here, self.objective(), 1.0
        while length <= _LONGEST:
            ahead = LowRank(*(now + length * (now - then) for then, now in zip(before, here, strict=True)))
            if self.rule.nonnegative:
                ahead = LowRank(*(np.maximum(side, 0.0) for side in ahead))
            objective = self._objective_of(ratings - self._problem.predict(ahead), ahead.trace_norm)
            if objective >= least:
                break
            best, least, length = ahead, objective, 2 * length
        if best is not here:
            self._set_residual(ratings - self._problem.predict(best))
            self.hold(best)

    def _objective_of(self, residual: Vector, trace_norm: float) -> float:
        costs = self.rule.costs(self.ratings, residual)
        return float(costs.sum()) + self.rule.penalty * trace_norm

    def _place(self, term: int, vectors: Vector, weighted: Vector) -> float:
        """Takes ω and a unit vector from their product; a vector of weight zero stays."""
        weight = math.sqrt(weighted @ weighted)
        self.weights[term] = weight
        if weight > 0:
            vectors[term] = weighted / weight
        return weight

    def _set_residual(self, residual: Vector) -> None:
        self.by_user.residual[:] = residual
        self.__dict__.pop("by_item", None)  # to be made from these

    def _finish(self) -> None:
        """Brings the residuals up to date, and drops constraints of no weight: they do not bind."""
        self.by_user.settle()
        kept = self.weights > 0
        self.weights, self.users, self.items = self.weights[kept], self.users[kept], self.items[kept]
