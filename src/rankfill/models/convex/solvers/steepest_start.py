"""The start of `FAVA`: factors one by one, in the direction in which the loss falls fastest.

Section 3.3 of Zeng et al. (IJCAI 2015): the eigenvector of the smallest eigenvalue of the gradient in X = YYᵀ, which is
[u; v]/√2 of the leading singular pair (u, σ, v) of the residual E. Along it the loss is least at

    E − β P_Ω(u vᵀ),   β = Σ_Ω e_ui u_u v_i / Σ_Ω u_u² v_i² = σ / Σ_Ω u_u² v_i²

(eq. 17), within the ball at most at half its bound. The residual is kept in single precision, by user and by item.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import shift_residuals, sparse_times
from rankfill.linalg import LowRank, SingularPairs, krylov_pairs, start_block
from rankfill.models.convex.problem import Problem

_WIDTH, _DEPTH, _MOST_SEARCHES = 16, 2, 25
"""The effort of a search for a pair: vectors at once, products with each, and restarts."""
_PRECISION = 1e-2
"""The required precision of a pair: ‖Eᵀu − σv‖/σ."""


def steepest_start(problem: Problem, bounds: NDArray[np.float64], start: LowRank, seed: int) -> LowRank:
    """One column per bound: those of `start`, then one after the other. The problem has no weights."""
    left, right = (side[:, : len(bounds)] for side in start)
    residual = _Residual(problem, LowRank(left, right))
    block = start_block(problem.shape[1], min(_WIDTH, *problem.shape), seed)
    for bound in bounds[left.shape[1] :]:
        pairs = _leading(residual, block)
        if len(pairs.values) == 0:  # nothing is left over
            break
        block, u, v = pairs.right[:, :_WIDTH], pairs.left[:, 0], pairs.right[:, 0]
        length = min(float(pairs.values[0]) / residual.squares(u, v), 0.5 * bound)
        residual.reduce(length, u, v)
        left, right = (np.column_stack([old, np.sqrt(length) * new]) for old, new in ((left, u), (right, v)))
    missing = len(bounds) - left.shape[1]
    return LowRank(*(np.pad(side, ((0, 0), (0, missing))) for side in (left, right)))


def _leading(residual: "_Residual", block: NDArray[np.float64]) -> SingularPairs:
    """Pairs of which the first is the leading one."""
    for _ in range(_MOST_SEARCHES):
        pairs = krylov_pairs(residual, block, _DEPTH)
        left, values, block = pairs.left[:, :1], pairs.values[:1], pairs.right[:, :_WIDTH]
        if np.linalg.norm(residual.transposed_times(left) - values * block[:, :1]) <= _PRECISION * values.sum():
            break
    return pairs


class _Residual:
    """The residual E as an operator."""

    def __init__(self, problem: Problem, solution: LowRank) -> None:
        self.pattern = problem.pattern
        self.by_user = problem.residual(solution).astype(np.float32)
        self.by_item = self.by_user[self.pattern.order]
        self._ones = np.ones_like(self.by_user)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    def times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return sparse_times(self.pattern.by_user, self.by_user, _single(block)).astype(np.float64)

    def transposed_times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return sparse_times(self.pattern.by_item, self.by_item, _single(block)).astype(np.float64)

    def squares(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Σ_Ω u_u² v_i²."""
        return float(u**2 @ sparse_times(self.pattern.by_user, self._ones, _single(v[:, None] ** 2)).ravel())

    def reduce(self, length: float, u: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """E ← E − length · P_Ω(u vᵀ)."""
        own, other = _single(length * u), _single(v)
        shift_residuals(self.pattern.by_user, self.by_user, own, other, -1.0)
        shift_residuals(self.pattern.by_item, self.by_item, other, own, -1.0)


def _single(block: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.ascontiguousarray(block, dtype=np.float32)
