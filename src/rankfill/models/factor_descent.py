"""Both factors of a product at once, by preconditioned conjugate gradients with an exact search along each line.

    F(L, R) = ½ Σ_Ω (r − c z)² + ½ λ (‖L‖² + ‖R‖²),   Z = L Rᵀ

In p_u = c_u l_u, q_i = c_i r_i, where c_ui = c_u c_i, the gradient is λ p_u/c_u² − Σ_i e_ui q_i, likewise for items. It
is divided by λ/c_u² + Σ_i q_i², column by column: in the basis of singular vectors the curvature is about that. Along a
line every residual is a parabola in the step, so that F is a polynomial of degree four: its first minimum is taken.
Directions are those of Polak and Ribière. A step takes two sparse products and three of entries, in single precision
and in units in which ratings have about size 1.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, padded_copy, sparse_entries, sparse_times
from rankfill.linalg import LowRank
from rankfill.models.completion import Problem

Factors = NDArray[np.float32]
"""Of users, then of items, in rows."""


_MOST_STEPS = 25
_LITTLE = 0.01
"""Of the squares of the gradient, in the metric of the curvature."""


class FactorDescent:
    def __init__(self, problem: Problem) -> None:
        size = float(np.sqrt(np.mean(problem.values**2)))
        self._unit = 4.0 ** round(math.log(size, 4)) if size > 0 else 1.0
        self._targets = (problem.values / self._unit).astype(np.float32)
        self._n_users = problem.shape[0]
        self._by_item = problem.pattern.order
        by_user, by_item = problem.pattern.by_user, problem.pattern.by_item
        self._ratings = by_user._replace(indices=by_user.indices + np.int32(self._n_users))
        self._both = Rows(
            np.append(by_user.indptr, by_user.indptr[-1] + by_item.indptr[1:]),
            np.append(self._ratings.indices, by_item.indices),
            np.append(by_user.values, by_item.values),
        )
        self._scales = np.concatenate([problem.user_scale, problem.item_scale])[:, None]
        self._weights = (1 / self._scales**2).astype(np.float32)

    def improved(self, start: LowRank, penalty: float) -> LowRank:
        """Steps from here until little is left of the gradient; F falls as far as single precision can tell."""
        root = math.sqrt(self._unit)
        factors = padded_copy(np.vstack(start) * (self._scales / root))
        penalties = np.float32(penalty / self._unit) * self._weights
        residual = self._targets - self._entries(factors, factors)
        curvature = penalties + self._products(np.ones_like(residual), factors**2)
        direction, before, energies = np.zeros_like(factors), np.zeros_like(factors), [1.0]
        for _ in range(_MOST_STEPS):
            gradient = penalties * factors - self._products(residual, factors)
            scaled = gradient / curvature
            energies.append(_dot(gradient, scaled))
            if energies[-1] <= _LITTLE * energies[1]:
                break
            direction *= np.float32(max(0.0, (energies[-1] - _dot(before, scaled)) / energies[-2]))
            direction -= scaled
            before = gradient
            step, residual = self._along(factors, direction, residual, penalties)
            if step == 0.0:
                break
            factors += np.float32(step) * direction
        solution = factors[:, : start.rank].astype(np.float64) * (root / self._scales)
        return LowRank(solution[: self._n_users], solution[self._n_users :])

    def _products(self, values: NDArray[np.float32], factors: Factors) -> Factors:
        """Σ_i values · q_i of every user, Σ_u values · p_u of every item."""
        return sparse_times(self._both, np.append(values, values[self._by_item]), factors)

    def _entries(self, of_users: Factors, of_items: Factors) -> NDArray[np.float32]:
        return sparse_entries(self._ratings, of_users[: self._n_users], of_items)

    def _along(
        self, factors: Factors, direction: Factors, residual: NDArray[np.float32], penalties: NDArray[np.float32]
    ) -> tuple[float, NDArray[np.float32]]:
        """The step to the first minimum along a line, 0 where it leads up, and the residual there."""
        e = residual.astype(np.float64)
        slopes = self._entries(direction, factors).astype(np.float64) + self._entries(factors, direction)
        bends = self._entries(direction, direction).astype(np.float64)
        weighted = penalties * direction
        first = _dot(weighted, factors) - e @ slopes
        second = 0.5 * _dot(weighted, direction) + 0.5 * slopes @ slopes - e @ bends
        if not first < 0:
            return 0.0, residual
        stationary = np.roots([2 * (bends @ bends), 3 * (slopes @ bends), 2 * second, first])
        step = float(stationary.real[(np.abs(stationary.imag) <= 1e-9) & (stationary.real > 0)].min(initial=np.inf))
        if not np.isfinite(step):
            return 0.0, residual
        return step, (e - step * slopes - step**2 * bends).astype(np.float32)


def _dot(one: Factors, other: Factors) -> float:
    return float(np.vdot(one, other))
