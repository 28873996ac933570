"""The solver of the trace trade-off: a proximal step that chooses the rank, then descent on the factors.

‖Z‖_* = min ½ (‖L‖² + ‖R‖²) over Z = L Rᵀ, so that

    J(Z) = min ½ Σ_Ω (r − c z)² + ½ λ (‖L‖² + ‖R‖²).

A local minimum of the right-hand side at some rank is a global one of J if and only if the singular values of the
residual E = c ∘ e are at most λ (theorem 4.2 of Zeng et al., IJCAI 2015, after Journée et al. 2010). A pass:

1. search: the singular vectors of E that exceed λ, or nearly do, outside the directions that Z has already. Those all
   share the singular value λ at the optimum, so that a search among them would not come to an end;
2. proximal step: the singular values of Z + t E, within the directions of Z and those found, are pulled down by t λ.
   Directions that ought to vanish do so here; on the factors they would fade away for ever;
3. descent on both factors at once (`factor_descent.py`), then the basis of singular vectors.

The proximal step alone would get to the optimum, in hundreds of passes; descent alone would stop at the wrong rank.
"""

import sys
from collections.abc import Iterator
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import (
    LowRank,
    SparseMatrix,
    SparsePlusLowRank,
    balance,
    beside,
    krylov_pairs,
    start_block,
    subspace_iteration,
)
from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.factor_descent import FactorDescent

_DEPTH, _NARROWEST = 8, 16
"""The effort of a search for directions: products with E, and the least number of columns."""
_LONGEST = 100.0
"""Proximal step, in units of one over the mean curvature of an entry."""
_CLEARLY = 1.02
"""A penalty this far above an estimate of λ_max is above λ_max."""
_NEARLY = 0.95
"""Singular vectors whose value is above this share of λ are offered to the proximal step."""


def rank_growth(problem: Problem, objective: Penalised, start: LowRank, *, seed: int) -> Iterator[Iterate]:
    """One pass at a time, for ever; from nothing, the first ones with larger penalties."""
    current = problem.iterate(start)
    largest = objective.estimate_of_largest(problem) if start.rank == 0 else np.inf
    if objective.penalty > _CLEARLY * largest:  # then zero is the solution
        yield from repeat(current)
    growth = RankGrowth(problem, seed=seed)
    for eased in objective.from_above(largest) if start.rank == 0 else ():
        current = growth.make_pass(current, eased)
        yield current
    while True:
        current = growth.make_pass(current, objective)
        yield current


class RankGrowth:
    """Passes over one problem."""

    def __init__(self, problem: Problem, *, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self._descent = FactorDescent(problem)
        self._lengths = 1 / problem.curvature, _LONGEST / float(np.mean(problem.scale**2))
        self._length = self._lengths[1] / _LONGEST
        self._width = _NARROWEST
        self._left_over = np.zeros((problem.shape[1], 0))

    def make_pass(self, current: Iterate, objective: Penalised) -> Iterate:
        """One pass from here; the same iterate where rounding leaves nothing to gain."""
        chosen = self._choose_rank(current, objective)
        reached = self.problem.iterate(balance(self._descent.descend(chosen.solution, objective.penalty)))
        return min(current, chosen, reached, key=lambda iterate: objective.value(self.problem, iterate))

    def _choose_rank(self, current: Iterate, objective: Penalised) -> Iterate:
        """A proximal step as long as the last one could have been, shorter until the objective falls."""
        basis = np.hstack([_unit(current.solution.right), self._search(current, objective.penalty)])
        (shortest, longest), value = self._lengths, objective.value(self.problem, current)
        while True:
            following = self._proximal(current, basis, objective.penalty)
            if self._length <= shortest or objective.value(self.problem, following) < value:
                break
            self._length = max(0.25 * self._length, shortest)
        self._length = min(max(_safe_length(current, following), shortest), longest)
        return following

    def _proximal(self, current: Iterate, basis: NDArray[np.float64], penalty: float) -> Iterate:
        descent = self.problem.descent(self._length * current.residual)
        left, values, right = subspace_iteration(SparsePlusLowRank(descent, current.solution), basis)
        values = values - self._length * penalty
        kept = values > 0
        return self.problem.iterate(LowRank.of_pairs(left[:, kept], values[kept], right[:, kept]))

    def _search(self, current: Iterate, penalty: float) -> NDArray[np.float64]:
        outside = _Outside(self.problem.descent(current.residual), current.solution)
        more = start_block(self.problem.shape[1], max(self._width - self._left_over.shape[1], 0), self.seed)
        pairs = krylov_pairs(outside, outside.without(np.hstack([self._left_over, more])), _DEPTH)
        above, near = (int((pairs.values > share * penalty).sum()) for share in (1.0, _NEARLY))
        self._width = max(2 * self._width if above == len(pairs.values) else near // 2, _NARROWEST)
        self._left_over = pairs.right[:, above : above + self._width]
        return pairs.right[:, :near]


class _Outside:
    """A residual between the directions that a solution does not have."""

    def __init__(self, residual: SparseMatrix, solution: LowRank) -> None:
        self.residual = residual
        self.left, self.right = _unit(solution.left), _unit(solution.right)

    @property
    def shape(self) -> tuple[int, int]:
        return self.residual.shape

    def without(self, items: NDArray[np.float64]) -> NDArray[np.float64]:
        return beside(self.right, items)

    def times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return beside(self.left, self.residual.times(block))

    def transposed_times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return beside(self.right, self.residual.transposed_times(block))


def _safe_length(before: Iterate, after: Iterate) -> float:
    """‖Z' − Z‖² over the squares of what that changed in the residual: one over the curvature on this way."""
    squares = sum(float(np.sum(np.linalg.norm(each.solution.left, axis=0) ** 4)) for each in (before, after))
    cross = np.vdot(before.solution.left.T @ after.solution.left, before.solution.right.T @ after.solution.right)
    change = before.residual - after.residual
    return (squares - 2 * float(cross)) / max(float(change @ change), sys.float_info.min)


def _unit(block: NDArray[np.float64]) -> NDArray[np.float64]:
    columns: NDArray[np.float64] = block / np.linalg.norm(block, axis=0)
    return columns
