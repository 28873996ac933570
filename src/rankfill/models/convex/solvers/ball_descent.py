"""Least squares over factors within balls, by projected gradients: the solver of `FAVA` and `TraceBounded`.

    min ½ Σ_Ω (r_ui − o_ui − c_ui l_u·r_i)²   subject to  Σ_i Y_ik² ≤ b_k for every column k of Y = [L; R],

or, with a single bound, subject to Σ_ik Y_ik² ≤ b. The loss curves by h_uk = Σ_i c_ui² r_ik² along Y_uk, likewise for
items, so that steps and distances are those of the metric D = h + h̄/10, h̄ the mean of the column. The nearest point of
a ball in that metric is x = D y/(D + ξ), with ξ ≥ 0 the root of Σ x² = b.

`spectral`: from Y with gradient G the direction is the projection of Y − a D⁻¹ G, less Y; a is that of Barzilai and
Borwein, ‖s‖²_D/(s·t) with s and t the last changes of Y and G, and the length the first of 1 and what a parabola
suggests that meets Armijo's condition (Birgin, Martínez, Raydan, SIAM J. Optim. 2000). `halving` is the plain search
of Zeng et al. (IJCAI 2015), in the Euclidean metric. The loss never rises with either.

Points are in double precision, or in single: one kernel then makes loss and gradient, sums of squares still in double.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import padded, padded_copy, sparse_times
from rankfill.kernels.row_gradients import full_gradient
from rankfill.linalg import LowRank
from rankfill.models.convex.problem import Problem

Block = NDArray[Any]
"""Factors of users, then of items: float64, or float32 in rows padded with zeros."""

_SUFFICIENT = 1e-4
"""The share of the descent that the slope promises which a step has to reach."""
_SHORTEST, _SMALLEST = 1e-6, 2.0**-60
"""The limits of a search for a step: a share of the spectral step, a multiple of the rates."""
_REFRESH = 10
"""After so many steps the metric is taken anew."""
_NEWTON_STEPS = 60


@dataclass(frozen=True)
class Point:
    """Both sides, one above the other, and what the loss is there."""

    problem: Problem
    stacked: Block

    @staticmethod
    def of(problem: Problem, product: LowRank) -> "Point":
        return Point(problem, np.ascontiguousarray(np.vstack(product)))

    def in_single(self) -> "Point":
        return Point(self.problem, padded_copy(self.stacked))

    def in_double(self) -> "Point":
        return Point(self.problem, self.stacked.astype(np.float64))

    @property
    def is_double(self) -> bool:
        return bool(self.stacked.dtype == np.float64)

    @cached_property
    def sides(self) -> LowRank:
        """Users and items apart, with the padding."""
        left, right = np.split(self.stacked.astype(np.float64), [self.problem.shape[0]])
        return LowRank(left, right)

    @property
    def loss(self) -> float:
        return self._loss_and_gradient[0]

    @property
    def gradient(self) -> Block:
        """The gradient of the loss."""
        return self._loss_and_gradient[1]

    @cached_property
    def _loss_and_gradient(self) -> tuple[float, Block]:
        if self.is_double:
            residual = self.problem.residual(self.sides)
            descent = self.problem.descent(residual)
            gradient = -np.vstack([descent.times(self.sides.right), descent.transposed_times(self.sides.left)])
            return 0.5 * float(residual @ residual), gradient
        factors, slopes = padded(*self.stacked.shape), padded(*self.stacked.shape)
        np.multiply(self.stacked, self.problem.scales, out=factors)
        twice = full_gradient(self.problem.both_sides, factors, factors, slopes, "squared", 0.0, 0.0, 0.0)
        slopes *= self.problem.scales
        return 0.5 * twice.loss, slopes

    def metric(self) -> Block:
        """The metric D at this point."""
        dtype, ratings = self.stacked.dtype, self.problem.both_sides
        scales = self.problem.scales.astype(dtype) ** 2
        curvature = scales * sparse_times(ratings, np.ones(len(ratings.values), dtype), scales * self.stacked**2)
        means = curvature.mean(axis=0)
        metric: Block = curvature + np.where(means > 0, 0.1 * means, np.ones_like(means))
        return metric

    def move(self, change: Block) -> "Point":
        return Point(self.problem, self.stacked + change)


class BallDescent:
    """Descent within bounds: one per column, or a single one for all columns together."""

    def __init__(self, bounds: NDArray[np.float64], *, together: bool = False) -> None:
        self.bounds = bounds
        self.together = together

    def project(self, stacked: Block, metric: Block) -> Block:
        """The nearest point within the balls."""
        padding = 0 if self.together else stacked.shape[1] - len(self.bounds)
        bounds = np.append(self.bounds, np.full(padding, np.inf))
        outside = self._sums(stacked, stacked) > bounds
        if not outside.any():
            return stacked
        pulled, shift, rounding = metric * stacked, np.zeros_like(bounds), float(np.finfo(metric.dtype).eps)
        for _ in range(_NEWTON_STEPS):
            shifted = metric + shift.astype(metric.dtype)
            inside = pulled / shifted
            squares = self._sums(inside, inside)
            excess = np.where(outside, np.sqrt(squares / bounds) - 1, 0.0)
            # Newton's method on 1/√Σx² − 1/√b, which is nearly straight, approaches the root from one side.
            slopes = self._sums(inside, inside / shifted)
            shift = shift + np.divide(excess * squares, slopes, out=np.zeros_like(shift), where=outside)
            if (excess <= math.sqrt(rounding)).all():  # this step has doubled the number of digits
                break
        inside = pulled / (metric + shift.astype(metric.dtype))
        shares = np.sqrt(np.divide(bounds, self._sums(inside, inside), out=np.ones_like(shift), where=outside))
        within = (1 - 2 * rounding) * np.minimum(shares, 1.0)
        projected: Block = inside * np.where(outside, within, 1.0).astype(metric.dtype)
        return projected

    def spectral(self, point: Point) -> Iterator[Point]:
        """A step at a time from a point within the balls, for ever; the same where rounding leaves nothing to gain.

        Steps in single precision go on in double where they see nothing more to gain.
        """
        length = 1.0
        while True:
            metric = point.metric()
            for _ in range(_REFRESH):
                forward = self.project(point.stacked - length * point.gradient / metric, metric)
                reached = _line_search(point, forward - point.stacked)
                if reached is point and not point.is_double:
                    point = point.in_double()
                    break
                change = reached.stacked - point.stacked
                curvature = _dot(change, reached.gradient - point.gradient)
                length = _dot(change, metric * change) / curvature if curvature > 0 else 1.0
                point = reached
                yield point

    def halving(self, point: Point, rates: NDArray[np.float64], accuracy: float) -> Iterator[Point]:
        """Steps of α · rates along the gradient, α the first of 1, ½, ¼, … with which the loss falls.

        The first α below `accuracy` makes the last step.
        """
        alpha, plain = 1.0, np.ones_like(point.stacked)
        while alpha >= accuracy:
            start, alpha = point, 2.0
            while point.loss >= start.loss and alpha > _SMALLEST:
                alpha /= 2
                forward = start.stacked - alpha * rates * start.gradient
                point = Point(start.problem, self.project(forward, plain))
            point = point if point.loss < start.loss else start
            yield point

    def _sums(self, one: Block, other: Block) -> NDArray[np.float64]:
        """Sums of their products, over columns or over all of them."""
        sums: NDArray[np.float64] = np.einsum("ij,ij->j", one, other, dtype=np.float64)
        return sums.sum(keepdims=True) if self.together else sums


def _line_search(point: Point, direction: Block) -> Point:
    """The first point that meets Armijo's condition; where there is none, the one it starts from."""
    slope, share = _dot(direction, point.gradient), 1.0
    while slope < 0 and share > _SHORTEST:
        reached = point.move(share * direction)
        excess = reached.loss - point.loss - share * slope
        if reached.loss < point.loss and excess <= (_SUFFICIENT - 1) * share * slope:
            return reached
        parabola = -0.5 * share**2 * slope / excess if excess > 0 else 0.0
        share = min(max(parabola, 0.1 * share), 0.5 * share)
    return point


def _dot(one: Block, other: Block) -> float:
    return float(np.vdot(one, other))
