"""Completion under a bound on the trace norm by projected gradients: on the matrix, and on its factors between.

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  ‖D_u W D_i‖_* ≤ τ

(eq. 19 of G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*,
IJCAI 2015; their γ is 2 τ.) A pass has two parts:

1. a step on the matrix: the singular values of Z + E/L, E the residual c ∘ e, are pulled down by the same amount until
   their sum is τ. That chooses the rank: directions that Z lacks come in, those it should not have go;
2. `STEPS` steps on the factors: with Z = L Rᵀ the bound is a ball, ½ (‖L‖² + ‖R‖²) ≤ τ, and `ball_descent.py` goes on
   within it, much faster than the first part alone would.

Only the leading singular pairs are found, by a power step from those of the pass before. The loss never rises. Bound
and gap are those of `trace_bound.py`; `penalty_` is its λ, that of the trade-off with the same solution.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SparsePlusLowRank, balanced, start_block, subspace_iteration
from rankfill.models.ball_descent import BallDescent, Point
from rankfill.models.trace_bound import TraceBoundModel
from rankfill.models.trace_norm import Iterate, Offset, Problem, Weighting

STEPS = 3
_MARGIN = 16
"""How many pairs are sought beside those that the solution has, at least."""


class TraceBounded(TraceBoundModel):
    """Convex completion within a bound, by gradients that are put back into it: quick, and with a proof.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    trace: The bound on the sum of the singular values. None: chosen from the data.

    >>> from rankfill import Ratings, TraceBounded
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = TraceBounded(trace=11, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    >>> model.history_[-1].gap < 1e-4  # within 0.01 % of the best possible
    True
    """

    def __init__(
        self,
        *,
        trace: float | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 100,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.trace = trace
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        current = self._within_bound(problem, start)
        descent = BallDescent(np.array([2 * self.trace_]), together=True)
        vectors = current.solution.right
        while True:
            stepped, vectors = self._stepped(problem, current, vectors)
            reached = stepped
            if stepped.solution.rank > 0:
                *_, last = islice(descent.spectral(Point.of(problem, stepped.solution)), STEPS)
                reached = problem.iterate(balanced(last.sides))
            current = min(current, stepped, reached, key=lambda iterate: self._objective(problem, iterate))
            along = float(current.residual @ (problem.values - current.residual))
            self.penalty_ = max(along, 0.0) / self.trace_ if self.trace_ > 0 else self.penalty_
            yield current

    def _stepped(
        self, problem: Problem, current: Iterate, vectors: NDArray[np.float64]
    ) -> tuple[Iterate, NDArray[np.float64]]:
        """A step on the matrix, and the right singular vectors to start the next search from."""
        matrix = SparsePlusLowRank(problem.descent(current.residual / problem.curvature), current.solution)
        width = min(2 * current.solution.rank + _MARGIN, *problem.shape)
        more = start_block(problem.shape[1], max(width - vectors.shape[1], 0), self.seed + vectors.shape[1])
        pairs = subspace_iteration(matrix, np.hstack([vectors, more])[:, :width])
        values = _within_sum(pairs.values, self.trace_)
        kept = values > 0
        solution = LowRank.of_pairs(pairs.left[:, kept], values[kept], pairs.right[:, kept])
        return problem.iterate(solution), pairs.right


def _within_sum(values: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """The nearest numbers ≥ 0 whose sum is at most `most`; the values are not negative and come largest first."""
    if values.sum() <= most or most == 0:
        return np.minimum(values, most)
    pulls = (np.cumsum(values) - most) / np.arange(1, len(values) + 1)
    pull = pulls[np.flatnonzero(values > pulls)[-1]]
    pulled: NDArray[np.float64] = np.maximum(values - pull, 0.0)
    return pulled
