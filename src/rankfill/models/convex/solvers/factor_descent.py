"""Both factors of a product at once, by preconditioned conjugate gradients with an exact search along each line.

    F(L, R) = ½ Σ_Ω (r − c z)² + ½ λ (‖L‖² + ‖R‖²),   Z = L Rᵀ

In p_u = c_u l_u, q_i = c_i r_i, where c_ui = c_u c_i, the gradient is λ p_u/c_u² − Σ_i e_ui q_i, likewise for items. It
is divided by λ/c_u² + Σ_i q_i², column by column: in the basis of singular vectors the curvature is about that. Along a
line every residual is a parabola in the step, known from the entries at a point ahead and a point back, so that F is a
polynomial of degree four: its first minimum is taken. Directions are those of Polak and Ribière. A step takes two
sparse products and two of entries, in single precision and in units in which ratings have about size 1.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, padded_copy, sparse_entries, sparse_times
from rankfill.linalg import LowRank
from rankfill.models.convex.problem import Problem, unit_of

Factors = NDArray[np.float32]
"""The factors of all users, then those of all items, one row each."""
Entries = NDArray[np.float32]


_MOST_STEPS = 25
_LITTLE = 0.01
"""The descent ends when the squared gradient, in the metric of the curvature, has fallen to this share."""


class FactorDescent:
    def __init__(self, problem: Problem) -> None:
        self._unit = unit_of(problem.values)
        self._both = problem.both_sides
        self._n_users, n = problem.shape[0], len(problem.values)
        self._ratings = Rows.taking(
            self._both.indptr[: self._n_users + 1], self._both.indices[:n], self._both.values[:n]
        )
        self._targets = self._ratings.values / np.float32(self._unit)
        self._by_item = problem.pattern.order
        self._scales = problem.scales.astype(np.float64)
        self._weights = (1 / self._scales**2).astype(np.float32)

    def descend(self, start: LowRank, penalty: float) -> LowRank:
        """Steps from here until little is left of the gradient; F falls as far as single precision can tell."""
        root = math.sqrt(self._unit)
        factors = padded_copy(np.vstack(start) * (self._scales / root))
        penalties = np.float32(penalty / self._unit) * self._weights
        residual = self._targets - self._entries(factors)
        curvature = penalties + self._products(np.ones_like(residual), factors**2)
        size = math.sqrt(_dot(factors, factors))
        direction, before, energies = np.zeros_like(factors), np.zeros_like(factors), [1.0]
        for _ in range(_MOST_STEPS):
            gradient = self._products(-residual, factors)
            gradient += penalties * factors
            scaled = gradient / curvature
            energies.append(_dot(gradient, scaled))
            if energies[-1] <= _LITTLE * energies[1]:
                break
            direction *= np.float32(max(0.0, (energies[-1] - _dot(before, scaled)) / energies[-2]))
            direction -= scaled
            before = gradient
            squares = np.einsum("ik,ik->i", direction, direction)
            reach = size / math.sqrt(float(squares.sum()) or 1.0)
            moved = np.float32(reach) * direction
            line = self._line(factors, moved, residual)
            pulled = reach**2 * float(penalties[:, 0] @ squares)
            step = line.first_minimum(reach * _dot(gradient, direction), 0.5 * pulled)
            if step == 0.0:
                break
            residual = line.residual(step)
            moved *= np.float32(step)
            factors += moved
        solution = factors[:, : start.rank].astype(np.float64) * (root / self._scales)
        return LowRank(solution[: self._n_users], solution[self._n_users :])

    def _products(self, values: Entries, factors: Factors) -> Factors:
        """Σ_i values · q_i of every user, Σ_u values · p_u of every item."""
        return sparse_times(self._both, np.append(values, values[self._by_item]), factors)

    def _entries(self, factors: Factors) -> Entries:
        return sparse_entries(self._ratings, factors[: self._n_users], factors)

    def _line(self, factors: Factors, moved: Factors, residual: Entries) -> "_Line":
        """`moved` is as large as the factors: so that rounding takes as little as can be of what it changes."""
        ahead, back = (self._entries(each) for each in (factors + moved, factors - moved))
        half = np.float32(0.5)
        return _Line(residual, half * (ahead - back), half * (ahead + back) - (self._targets - residual))


class _Line(NamedTuple):
    """The residuals along a line: start − t · slopes − t² · bends, t the step."""

    start: Entries
    slopes: Entries
    bends: Entries

    def first_minimum(self, slope: float, bend: float) -> float:
        """The first minimum of ½ Σ residual² plus a quadratic function along the step; 0 where that leads up.

        `slope` is that of both at t = 0, `bend` the coefficient of t² of the function.
        """
        start, slopes, bends = (each.astype(np.float64) for each in self)
        quadratic = bend + 0.5 * float(slopes @ slopes) - float(start @ bends)
        stationary = np.roots([2 * float(bends @ bends), 3 * float(slopes @ bends), 2 * quadratic, slope])
        ahead = stationary.real[(stationary.real > 0) & (np.abs(stationary.imag) <= 1e-9 * stationary.real)]
        step = float(ahead.min(initial=np.inf))
        return step if slope < 0 and np.isfinite(step) else 0.0

    def residual(self, step: float) -> Entries:
        change: Entries = np.float32(step) * (self.slopes + np.float32(step) * self.bends)
        return self.start - change


def _dot(one: Factors, other: Factors) -> float:
    return float(np.vdot(one, other))
