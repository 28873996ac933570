"""The local solver of the factored trace-norm models: alternating sweeps on a product whose rank grows.

‖Z‖_* = min ½ (‖L‖² + ‖R‖²) over Z = L Rᵀ, so that

    J(Z) = min ½ Σ_Ω (r − c z)² + ½ λ (‖L‖² + ‖R‖²),

which with one side fixed is a ridge regression for each row of the other. A local minimum of this at some rank is a
global one of J if and only if the singular values of the residual are at most λ (theorem 4.2 of Zeng et al., IJCAI
2015, after Journée et al. 2010). Where they are not, the singular vectors of those that exceed λ become new columns.

A pass: new columns, as many as there are; four sweeps over both sides, the later ones from a point ahead; then the
singular basis, in which columns that have vanished are dropped. Rows are solved in single precision, by three steps of
conjugate gradients where the rank is high; residual and singular vectors are in double.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Ridge, Rows, padded_copy, solve_rows
from rankfill.linalg import LowRank, SingularPairs, SparseMatrix, balanced, start_block, subspace_iteration
from rankfill.models.trace_norm import Iterate, Problem

SWEEPS = 6, 20
"""In a pass that adds many columns, and in one that adds few or none."""
EXACT_RANK = 24
"""Up to this rank rows are solved exactly, above by three steps of conjugate gradients."""
_GRADIENT_STEPS = 3
_POWER_STEPS = 2
_WIDEST = 192
_MARGIN = 16
_VANISHED = 1e-7
"""Of the largest singular value."""

Factors = tuple[NDArray[np.float32], NDArray[np.float32]]


class RankGrowth:
    """Passes over one problem. Numbers are in units of their own size, so that single precision serves any ratings."""

    def __init__(self, problem: Problem, *, by_count: bool, seed: int) -> None:
        self.problem = problem
        self.by_count = by_count
        self.seed = seed
        size = float(np.sqrt(np.mean(problem.values**2)))
        self.unit = 4.0 ** round(math.log(size, 4)) if size > 0 else 1.0
        pattern = problem.pattern
        targets = (problem.values / self.unit).astype(np.float32)
        self.by_user = pattern.by_user._replace(values=targets)
        self.by_item = pattern.by_item._replace(values=targets[pattern.order])
        self.width = min(_WIDEST, *problem.shape)
        self._found = np.zeros((problem.shape[1], 0))

    def passed(self, current: Iterate, penalty: float) -> Iterate:
        """One pass from here; the same iterate where rounding leaves nothing to gain."""
        start = self._grown(current, penalty)
        if start.rank == 0:
            return current
        objective = self.problem.objective(current, penalty)
        settled = start.rank <= 1.1 * current.solution.rank
        for momentum in (True, False):
            swept = self._swept(start, penalty, SWEEPS[settled], momentum=momentum)
            reached = self.problem.iterate(swept)
            if self.problem.objective(reached, penalty) < objective:
                return reached
        return current

    def _grown(self, current: Iterate, penalty: float) -> LowRank:
        """New columns on the right, where singular values of the residual exceed the penalty; on the left zeros,
        which the first sweep fills. The first column comes alone: the others look different once it is there."""
        solution = current.solution
        found = self._found.shape[1]
        more = start_block(self.problem.shape[1], max(self.width - found, 0), self.seed + found)
        outside = _Outside(self.problem.descent(current.residual), solution)
        pairs = subspace_iteration(outside, np.hstack([self._found, more]), _POWER_STEPS)
        above = int((pairs.values > penalty).sum())
        new = min(above, 1) if solution.rank == 0 else above
        self.width = min(_WIDEST if above == self.width else above + _MARGIN, *self.problem.shape)
        self._found = pairs.right[:, new : new + self.width]
        columns = pairs.right[:, :new] * np.sqrt(self._lengths(pairs, new, penalty))
        left = np.zeros((self.problem.shape[0], new))
        return LowRank(np.hstack([solution.left, left]), np.hstack([solution.right, columns]))

    def _lengths(self, pairs: SingularPairs, new: int, penalty: float) -> NDArray[np.float64]:
        """The best weight of each pair if it came alone: (σ − λ) / Σ_Ω (c u v)²."""
        left, right = pairs.left[:, :new] * self.problem.user_scale[:, None], pairs.right[:, :new]
        right = right * self.problem.item_scale[:, None]
        ones = SparseMatrix(self.problem.pattern, np.ones(len(self.problem.values)))
        squares = np.einsum("uk,uk->k", left**2, ones.times(right**2))
        lengths: NDArray[np.float64] = (pairs.values[:new] - penalty) / np.maximum(squares, np.finfo(float).tiny)
        return lengths

    def _swept(self, start: LowRank, penalty: float, sweeps: int, *, momentum: bool) -> LowRank:
        scales = self.problem.user_scale[:, None], self.problem.item_scale[:, None]
        root = math.sqrt(self.unit)
        users, items = (padded_copy(side * scale / root) for side, scale in zip(start, scales, strict=True))
        ridges = self._ridges(start.rank, penalty)
        for sides, ridge in zip(((self.by_user, users, items), (self.by_item, items, users)), ridges, strict=True):
            solve_rows(*sides, ridge)  # fills the new columns, so that momentum starts from a whole iterate
        steps = 0
        before = users, items
        for _ in range(sweeps - 1):
            now = users, items
            users, items = _extrapolated(now, before, steps / (steps + 3) if momentum else 0.0)
            start_of_sweep = users.copy(), items.copy()
            solve_rows(self.by_user, users, items, ridges[0])
            solve_rows(self.by_item, items, users, ridges[1])
            back = sum(
                float(np.vdot(s - n, n - o)) for s, n, o in zip(start_of_sweep, (users, items), now, strict=True)
            )
            before, steps = now, 0 if back > 0 else steps + 1
        left, right = (
            root * side[:, : start.rank].astype(np.float64) / scale
            for side, scale in zip((users, items), scales, strict=True)
        )
        solution = balanced(LowRank(left, right))
        largest = float(np.vdot(solution.left[:, 0], solution.left[:, 0])) if solution.rank else 0.0
        return balanced(solution, least=_VANISHED * largest)

    def _ridges(self, rank: int, penalty: float) -> tuple[Ridge, Ridge]:
        """λ ‖left_u‖² is λ n_u/n̄ ‖p_u‖² of the rows that the kernel sees, with weighting by count."""
        users, items = (
            Ridge(
                rank=rank,
                penalty=penalty / self.unit / (_mean_count(rows) if self.by_count else 1.0),
                by_count=self.by_count,
                steps=0 if rank <= EXACT_RANK else _GRADIENT_STEPS,
            )
            for rows in (self.by_user, self.by_item)
        )
        return users, items


class _Outside:
    """A residual between the directions that a solution does not have. Those that it has all share the singular value
    λ at the optimum, so that a search among them would not come to an end."""

    def __init__(self, residual: SparseMatrix, solution: LowRank) -> None:
        self.residual = residual
        self.left, self.right = (side / np.linalg.norm(side, axis=0) for side in solution)

    @property
    def shape(self) -> tuple[int, int]:
        return self.residual.shape

    def times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return _without(self.left, self.residual.times(_without(self.right, block)))

    def transposed_times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        return _without(self.right, self.residual.transposed_times(_without(self.left, block)))


def _without(basis: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    return block - basis @ (basis.T @ block)


def _mean_count(rows: Rows) -> float:
    return len(rows.values) / rows.n_rows


def _extrapolated(now: Factors, before: Factors, ahead: float) -> Factors:
    users, items = (padded_copy(new + np.float32(ahead) * (new - old)) for new, old in zip(now, before, strict=True))
    return users, items
