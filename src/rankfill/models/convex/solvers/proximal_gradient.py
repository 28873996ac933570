"""Proximal gradient on ½ Σ_Ω e² + λ ‖Z‖_*: the solver of soft-impute.

    Z ← S_{λ/L}(Y + E/L),   S_τ(A) = U max(Σ − τ, 0) Vᵀ,   E = c ∘ e at Y,  L the largest c²

From nothing the penalty of the first steps falls by thirds from λ_max down to λ: the rank stays low on the way. The
matrix is sparse plus low rank and never written out: only its singular pairs above λ/L are sought, by power steps on a
block that starts from the last ones. Accelerated, Y = Z + β (Z − Z_before) with the momentum β of FISTA (Beck, Teboulle
2009), and a restart where the objective would rise (O'Donoghue, Candès 2015); otherwise Y = Z.

Without noise, ‖Z‖_* is minimised subject to e = 0 by the method of multipliers (Lin, Chen, Ma 2010): the same step with
the multipliers q of the ratings beside the residuals, which then learn what the step has left over,

    Z ← S_{λ/L}(Z + c ∘ (e + λ q)/L),    q ← q + e/λ.

Any λ > 0 leads to the solution; a tenth of λ_max was quick from easy to hopeless problems.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SingularPairs, SparsePlusLowRank, leading_pairs, start_block, subspace_iteration
from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.problem import Iterate, Problem

_MARGIN = 10


def proximal_gradient(
    problem: Problem, objective: Penalised, start: LowRank, *, accelerated: bool, seed: int
) -> Iterator[Iterate]:
    """One step at a time, for ever."""
    steps, current = _Steps(problem, start.right, seed), problem.iterate(start)
    if start.rank == 0:
        for eased in objective.from_above(objective.estimate_of_largest(problem)):
            current = steps.take(current, eased.penalty)
            yield current
    before, momentum = current, 1.0
    while True:
        following = 0.5 + math.sqrt(0.25 + momentum**2) if accelerated else 1.0
        candidate = steps.take(_ahead(current, before, (momentum - 1) / following), objective.penalty)
        if momentum > 1 and objective.value(problem, candidate) > objective.value(problem, current):
            following = 1.0
            candidate = steps.take(current, objective.penalty)
        before, current, momentum = current, candidate, following
        yield current


STEP = 0.1
"""λ of the method of multipliers, as a share of λ_max."""


def multipliers(
    problem: Problem, objective: Penalised, start: LowRank, dual: NDArray[np.float64], seed: int
) -> Iterator[Iterate]:
    """One step at a time, for ever; `dual` is q at the start."""
    steps, current = _Steps(problem, start.right, seed), problem.iterate(start)
    penalty = objective.penalty
    while True:
        current = steps.take(current._replace(residual=current.residual + penalty * dual), penalty)
        dual = dual + current.residual / penalty
        current = current._replace(dual=dual)
        yield current


def _ahead(current: Iterate, before: Iterate, share: float) -> Iterate:
    """current + share · (current − before)."""
    if share == 0.0:
        return current
    here, there = current.solution, before.solution
    left = np.hstack([(1 + share) * here.left, -share * there.left])
    residual = (1 + share) * current.residual - share * before.residual
    return Iterate(LowRank(left, np.hstack([here.right, there.right])), residual)


class _Steps:
    """Proximal steps that remember the singular vectors of the last one."""

    def __init__(self, problem: Problem, basis: NDArray[np.float64], seed: int) -> None:
        self._problem = problem
        self._basis = basis
        self._seed = seed

    def take(self, point: Iterate, penalty: float) -> Iterate:
        problem, threshold = self._problem, penalty / self._problem.curvature
        descent = problem.descent(point.residual / problem.curvature)
        pairs = self._pairs_above(SparsePlusLowRank(descent, point.solution), threshold)
        self._basis = pairs.right
        values = np.maximum(pairs.values - threshold, 0.0)
        kept = int((values > 0).sum())
        return problem.iterate(LowRank.of_pairs(pairs.left[:, :kept], values[:kept], pairs.right[:, :kept]))

    def _pairs_above(self, matrix: SparsePlusLowRank, threshold: float) -> SingularPairs:
        """All singular pairs above the threshold, and some below that show there are no more."""
        basis = self._basis
        width = min(basis.shape[1] + _MARGIN, *matrix.shape)
        while True:
            if 2 * width >= min(matrix.shape):
                return leading_pairs(matrix, min(matrix.shape))
            more = start_block(matrix.shape[1], width - basis.shape[1], self._seed + width)
            pairs = subspace_iteration(matrix, np.hstack([basis, more]))
            if pairs.values[-1] <= threshold:
                above = int((pairs.values > threshold).sum())
                return SingularPairs(*(part[..., : above + _MARGIN // 2] for part in pairs))
            basis, width = pairs.right, 2 * width
