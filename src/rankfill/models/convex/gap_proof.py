"""When a duality gap is proved while a model learns.

A proof takes a bound of σ₁ from above, seconds on large matrices; estimates from below are quick. So the proof is only
tried where the estimates say that it would succeed, and then of exactly what the goal needs.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SparseMatrix, is_spectral_bound, krylov_pairs, spectral_bound, start_block

_EVERY_PASS = 300
"""Up to this many rows on the smaller side the gap is proved in every pass."""
_ASKED = 0.9
"""The share of the wanted gap that is asked for: the rest is for rounding, as factors are kept in single precision."""
_DIRECTIONS, _DEPTH = 8, 8


class GapProof:
    """Remembers where its last search ended."""

    def __init__(self, goal: float | None, seed: int) -> None:
        self._goal = goal
        self._seed = seed
        self._directions: NDArray[np.float64] | None = None

    def prove(self, descent: SparseMatrix, solution: LowRank, gap_with: Callable[[float], float]) -> float | None:
        """The relative gap, None where a proof takes long and the goal is not near; `gap_with` takes a bound of σ₁."""
        if min(descent.shape) <= _EVERY_PASS:
            return gap_with(spectral_bound(descent, self._seed))
        if self._goal is None:
            return None
        largest, asked = 0.0, _ASKED * self._goal
        for search in (self._anywhere, self._within):  # the quick one first
            largest = max(largest, search(descent, solution))
            gap = gap_with(largest)
            if gap >= asked:
                return None
        bound = (1 + self._goal) * largest
        further = gap_with(bound)
        if further > asked:  # what would prove the goal is between
            bound = largest * (1 + self._goal * (asked - gap) / (further - gap))
        return gap_with(bound) if is_spectral_bound(descent, bound, self._seed) else None

    def _within(self, matrix: SparseMatrix, solution: LowRank) -> float:
        """σ₁ among the directions of the solution."""
        return float(krylov_pairs(matrix, solution.right, 1).values.max(initial=0.0))

    def _anywhere(self, matrix: SparseMatrix, solution: LowRank) -> float:
        """Near σ₁ and below, from the directions where the last search ended."""
        if self._directions is None:
            self._directions = start_block(matrix.shape[1], _DIRECTIONS, self._seed)
        pairs = krylov_pairs(matrix, self._directions, _DEPTH)
        self._directions = pairs.right[:, :_DIRECTIONS]
        return float(pairs.values.max(initial=0.0))
