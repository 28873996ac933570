"""Frank and Wolfe's algorithm within a bound on the trace norm: the solver of `JaggiSulovsky`.

A pass finds the leading singular pair u, v of the residuals and moves towards it by an exact line search,

    Z ← (1 − α) Z + α τ u vᵀ,    α = Σ e d / Σ d² within [0, 1],  d = c ∘ (τ u vᵀ − Z) on Ω.

At the solution σ₁ of the residuals is λ; on the way there it is above, which keeps new rows small.
"""

from collections.abc import Iterator

import numpy as np

from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.convex.objectives import Bounded
from rankfill.models.convex.problem import Iterate, Problem

_PRECISION = 1e-3
"""The precision of the leading pair; any direction of descent will do."""


def frank_wolfe(problem: Problem, objective: Bounded, start: LowRank, *, seed: int) -> Iterator[Iterate]:
    """One pass at a time, for ever."""
    current = problem.iterate(objective.within(start))
    while True:
        solution, residual = current.solution, current.residual
        pair = leading_pairs(problem.descent(residual), 1, seed, tol=_PRECISION)
        corner = LowRank.of_pairs(pair.left, np.array([objective.trace]), pair.right)
        towards = problem.predict(corner) - (problem.values - residual)
        square = float(towards @ towards)
        share = min(max(float(residual @ towards) / square, 0.0), 1.0) if square > 0 else 0.0
        if share > 0:
            current = Iterate(_combination(solution, corner, share), residual - share * towards)
        yield current._replace(row_penalty=float(pair.values[0]) or None)


def _combination(solution: LowRank, corner: LowRank, share: float) -> LowRank:
    """(1 − share) · solution + share · corner; a full step leaves nothing of what was there."""
    if share == 1.0:
        return corner
    sides = (
        np.hstack([np.sqrt(1 - share) * old, np.sqrt(share) * new]) for old, new in zip(solution, corner, strict=True)
    )
    return LowRank(*sides)
