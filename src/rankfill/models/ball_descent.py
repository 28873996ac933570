"""Least squares over factors within balls, by projected gradients: the solver of `FAVA` and `TraceBounded`.

    min ½ Σ_Ω (r_ui − o_ui − c_ui l_u·r_i)²   subject to  Σ_i Y_ik² ≤ b_k for every column k of Y = [L; R],

or, with a single bound, subject to Σ_ik Y_ik² ≤ b. The curvature of a row grows with its number of ratings (n = Σ c²
over the row), so steps and distances are those of the metric D = diag(n + n̄/10). The nearest point of a ball in that
metric is x = D y/(D + ξ), with ξ ≥ 0 the root of Σ x² = b.

`spectral`: from Y with gradient G the direction is the projection of Y − a D⁻¹ G, less Y; a is that of Barzilai and
Borwein, ‖s‖²_D/(s·t) with s and t the last changes of Y and G, and the length the first of 1 and what a parabola
suggests that meets Armijo's condition (Birgin, Martínez, Raydan, SIAM J. Optim. 2000). `halving` is the plain search
of Zeng et al. (IJCAI 2015), in the Euclidean metric. The loss never rises with either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SparseMatrix
from rankfill.models.completion import Iterate, Problem

Block = NDArray[np.float64]

_SUFFICIENT = 1e-4
"""The share of the descent that the slope promises which a step has to reach."""
_SHORTEST, _SMALLEST = 1e-6, 2.0**-60
"""Where a search for a step gives up: as a share of the spectral one, as a multiple of the rates."""
_NEWTON_STEPS = 60


@dataclass(frozen=True)
class Point:
    """Both sides, one above the other, and what the loss is there."""

    problem: Problem
    stacked: Block

    @cached_property
    def sides(self) -> LowRank:
        n_users = self.problem.shape[0]
        return LowRank(self.stacked[:n_users], self.stacked[n_users:])

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        return self.problem.residual(self.sides)

    @cached_property
    def loss(self) -> float:
        return 0.5 * float(self.residual @ self.residual)

    @cached_property
    def gradient(self) -> Block:
        """Of the loss."""
        descent = self.problem.descent(self.residual)
        return -np.vstack([descent.times(self.sides.right), descent.transposed_times(self.sides.left)])

    @property
    def iterate(self) -> Iterate:
        return Iterate(self.sides, self.residual)

    def moved(self, change: Block) -> "Point":
        return Point(self.problem, self.stacked + change)


class BallDescent:
    """The ratings of a problem, and bounds: one a column, or a single one for all columns together."""

    def __init__(self, problem: Problem, bounds: NDArray[np.float64], *, together: bool = False) -> None:
        self.problem = problem
        self.bounds = bounds
        self.together = together
        squares = SparseMatrix(problem.pattern, problem.scale**2)
        n_users, n_items = problem.shape
        weights = np.vstack([squares.times(np.ones((n_items, 1))), squares.transposed_times(np.ones((n_users, 1)))])
        self.metric = weights + 0.1 * weights.mean()

    def projected(self, stacked: Block, metric: Block) -> Block:
        """The nearest point within the balls."""
        outside = self._sums(stacked**2) > self.bounds
        if not outside.any():
            return stacked
        columns = np.broadcast_to(outside, stacked.shape[1])
        pulled = metric * stacked[:, columns]
        bounds, shift = self.bounds[outside], np.zeros(int(outside.sum()))
        for _ in range(_NEWTON_STEPS):
            inside = pulled / (metric + shift)
            squares = self._sums(inside**2)
            # Newton's method on 1/√Σx² − 1/√b, which is nearly straight, approaches the root from one side.
            step = (np.sqrt(squares / bounds) - 1) * squares / self._sums(inside**2 / (metric + shift))
            shift = shift + step
            if (np.abs(step) <= 1e-12 * shift).all():
                break
        inside = pulled / (metric + shift)
        result = stacked.copy()
        result[:, columns] = inside * np.minimum(1.0, np.sqrt(bounds / self._sums(inside**2)))
        return result

    def spectral(self, point: Point) -> Iterator[Point]:
        """A step at a time from a point within the balls, for ever; the same where rounding leaves nothing to gain."""
        length = self._cauchy(point)
        while True:
            forward = self.projected(point.stacked - length * point.gradient / self.metric, self.metric)
            reached = _searched(point, forward - point.stacked)
            change = reached.stacked - point.stacked
            curvature = float(np.vdot(change, reached.gradient - point.gradient))
            length = (
                float(np.vdot(change, self.metric * change)) / curvature if curvature > 0 else self._cauchy(reached)
            )
            point = reached
            yield point

    def halving(self, point: Point, rates: NDArray[np.float64], accuracy: float) -> Iterator[Point]:
        """Steps of α · rates along the gradient, α the first of 1, ½, ¼, … with which the loss falls.

        The first α below `accuracy` makes the last step.
        """
        alpha, plain = 1.0, np.ones((len(point.stacked), 1))
        while alpha >= accuracy:
            start, alpha = point, 2.0
            while point.loss >= start.loss and alpha > _SMALLEST:
                alpha /= 2
                forward = start.stacked - alpha * rates * start.gradient
                point = Point(self.problem, self.projected(forward, plain))
            point = point if point.loss < start.loss else start
            yield point

    def _cauchy(self, point: Point) -> float:
        """The step along the gradient that is best where the loss is taken for quadratic."""
        slope = Point(self.problem, point.gradient / self.metric).sides
        left, right = point.sides
        change = self.problem.predicted(LowRank(np.hstack([slope.left, left]), np.hstack([right, slope.right])))
        square = float(change @ change)
        return float(point.residual @ change) / -square if square > 0 else 0.0

    def _sums(self, stacked: Block) -> NDArray[np.float64]:
        return np.atleast_1d(stacked.sum(axis=None if self.together else 0))


def _searched(point: Point, direction: Block) -> Point:
    """The first point that meets Armijo's condition; where there is none, the one it starts from."""
    slope, share = float(np.vdot(direction, point.gradient)), 1.0
    while slope < 0 and share > _SHORTEST:
        reached = point.moved(share * direction)
        excess = reached.loss - point.loss - share * slope
        if reached.loss < point.loss and excess <= (_SUFFICIENT - 1) * share * slope:
            return reached
        parabola = -0.5 * share**2 * slope / excess if excess > 0 else 0.0
        share = min(max(parabola, 0.1 * share), 0.5 * share)
    return point
