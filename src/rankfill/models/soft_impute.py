"""Soft-impute: proximal gradient on ½ Σ_Ω (r − w)² + λ ‖W‖_* (Mazumder, Hastie, Tibshirani, JMLR 2010).

A step fills the unknown entries with what is predicted there and shrinks the singular values of the result,

    W ← S_{λ/L}(Y + P_Ω(R − Y)/L),   S_τ(A) = U max(Σ − τ, 0) Vᵀ,

L = 1 without weighting. From a cold start the penalty of the first steps falls by thirds from λ_max down to λ: the
rank stays low on the way. The matrix is sparse plus low rank and never written out: only its singular pairs above λ/L
are sought, by power steps on a block that starts from the last ones. With accelerated=True, Y = W + β (W − W_before)
with the momentum β of FISTA (Beck, Teboulle 2009), and a restart where the objective would rise (O'Donoghue, Candès
2015); otherwise Y = W. The objective and the settings that all trace-norm models share are in `trace_norm.py`.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, SingularPairs, SparsePlusLowRank, leading_pairs, start_block, subspace_iteration
from rankfill.models.trace_norm import Iterate, Offset, Problem, TraceNormModel, Weighting

_MARGIN = 10


class SoftImpute(TraceNormModel):
    """Convex completion by singular values pulled to zero: one solution, with a proof of how near it is.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: How far singular values are pulled to zero; more gives a lower rank. None: the level of noise in the data.
    accelerated: Steps with momentum (FISTA), restarted where the objective would rise.

    >>> from rankfill import Ratings, SoftImpute
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SoftImpute(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        accelerated: bool = True,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.accelerated = accelerated
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        current, basis = problem.iterate(start), start.right
        if start.rank == 0:
            for penalty in self._falling_penalties(problem):
                current, basis = self._step(problem, current, current, 0.0, basis, penalty)
                yield current
        before, momentum = current, 1.0
        while True:
            objective = self._objective(problem, current)
            following = 0.5 + math.sqrt(0.25 + momentum**2) if self.accelerated else 1.0
            ahead = (momentum - 1) / following
            candidate, basis = self._step(problem, current, before, ahead, basis, self.penalty_)
            if momentum > 1 and self._objective(problem, candidate) > objective:
                following = 1.0
                candidate, basis = self._step(problem, current, current, 0.0, basis, self.penalty_)
            before, current, momentum = current, candidate, following
            yield current

    def _step(
        self,
        problem: Problem,
        current: Iterate,
        before: Iterate,
        ahead: float,
        basis: NDArray[np.float64],
        penalty: float,
    ) -> tuple[Iterate, NDArray[np.float64]]:
        """One proximal step from current + ahead · (current − before), and the singular vectors to start the next."""
        here, there = current.solution, before.solution
        if ahead == 0.0:
            point, residual = here, current.residual
        else:
            left = np.hstack([(1 + ahead) * here.left, -ahead * there.left])
            point = LowRank(left, np.hstack([here.right, there.right]))
            residual = (1 + ahead) * current.residual - ahead * before.residual
        descent = problem.descent(residual / problem.curvature)
        threshold = penalty / problem.curvature
        pairs = self._pairs_above(SparsePlusLowRank(descent, point), threshold, basis)
        values = np.maximum(pairs.values - threshold, 0.0)
        kept = int((values > 0).sum())
        solution = LowRank.of_pairs(pairs.left[:, :kept], values[:kept], pairs.right[:, :kept])
        return problem.iterate(solution), pairs.right

    def _pairs_above(self, matrix: SparsePlusLowRank, threshold: float, basis: NDArray[np.float64]) -> SingularPairs:
        """All singular pairs above the threshold, and some below that show there are no more."""
        width = min(basis.shape[1] + _MARGIN, *matrix.shape)
        while True:
            if 2 * width >= min(matrix.shape):
                return leading_pairs(matrix, min(matrix.shape))
            more = start_block(matrix.shape[1], width - basis.shape[1], self.seed + width)
            pairs = subspace_iteration(matrix, np.hstack([basis, more]))
            if pairs.values[-1] <= threshold:
                above = int((pairs.values > threshold).sum())
                return SingularPairs(*(part[..., : above + _MARGIN // 2] for part in pairs))
            basis, width = pairs.right, 2 * width
