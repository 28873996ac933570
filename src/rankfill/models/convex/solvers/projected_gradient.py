"""Projected gradients under a bound on the trace norm, on the matrix and on its factors between: `TraceBounded`.

    min ½ Σ_Ω e_ui²   subject to  ‖Z‖_* ≤ τ

A pass has two parts:

1. a step on the matrix: the singular values of Z + E/L, E the residual c ∘ e, are pulled down by the same amount until
   their sum is τ. That chooses the rank: directions that Z lacks come in, those it should not have go;
2. `STEPS` steps on the factors: with Z = L Rᵀ the bound is a ball, ½ (‖L‖² + ‖R‖²) ≤ τ, and `ball_descent.py` goes on
   within it, much faster than the first part alone would.

Only the leading singular pairs are found, by a power step from those of the pass before. The loss never rises.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SparsePlusLowRank, balance, start_block, subspace_iteration
from rankfill.models.convex.objectives import Bounded
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.ball_descent import BallDescent, Point

STEPS = 3
_MARGIN = 16
"""The least number of pairs sought beside those of the solution."""


def projected_gradient(problem: Problem, objective: Bounded, start: LowRank, *, seed: int) -> Iterator[Iterate]:
    """One pass at a time, for ever."""
    current = problem.iterate(objective.within(start))
    descent = BallDescent(np.array([2 * objective.trace]), together=True)
    vectors = current.solution.right
    while True:
        chosen, vectors = _choose_rank(problem, objective, current, vectors, seed)
        reached = chosen
        if chosen.solution.rank > 0:
            *_, last = islice(descent.spectral(Point.of(problem, chosen.solution)), STEPS)
            reached = problem.iterate(balance(last.sides))
        current = min(current, chosen, reached, key=lambda iterate: objective.value(problem, iterate))
        yield current


def _choose_rank(
    problem: Problem, objective: Bounded, current: Iterate, vectors: NDArray[np.float64], seed: int
) -> tuple[Iterate, NDArray[np.float64]]:
    """A step on the matrix, and the right singular vectors to start the next search from."""
    matrix = SparsePlusLowRank(problem.descent(current.residual / problem.curvature), current.solution)
    width = min(2 * current.solution.rank + _MARGIN, *problem.shape)
    more = start_block(problem.shape[1], max(width - vectors.shape[1], 0), seed + vectors.shape[1])
    pairs = subspace_iteration(matrix, np.hstack([vectors, more])[:, :width])
    values = nearest_within(pairs.values, objective.trace)
    kept = values > 0
    solution = LowRank.of_pairs(pairs.left[:, kept], values[kept], pairs.right[:, kept])
    return problem.iterate(solution), pairs.right


def nearest_within(values: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """The nearest numbers ≥ 0 whose sum is at most `most`; the values are not negative and come largest first."""
    if values.sum() <= most or most == 0:
        return np.minimum(values, most)
    pulls = (np.cumsum(values) - most) / np.arange(1, len(values) + 1)
    above = np.flatnonzero(values > pulls)
    if len(above) == 0:  # the sum is so small that rounding hides it beside the values
        return np.where(np.arange(len(values)) == 0, most, 0.0)
    pulled: NDArray[np.float64] = np.maximum(values - pulls[above[-1]], 0.0)
    return pulled
