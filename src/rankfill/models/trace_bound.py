"""What models share that complete a matrix under a bound on its trace norm.

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  ‖D_u W D_i‖_* ≤ τ

With τ the trace norm of a solution of ½ Σ e² + λ ‖Z‖_*, both have the same solution; the other way round λ = Σ e w/τ
(theorem 4.1 of Zeng et al., IJCAI 2015). The offset o and the weighting D are those of
`trace_norm.py`. The gap is that of Frank and Wolfe: no Z within the bound has a loss below f(Z) + Σ e w − τ σ₁(c ∘ e).

trace=None takes the trace norm of one step of soft-impute from zero at the level of noise of `trace_norm.py`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.settings import check_positive
from rankfill.models.trace_norm import Iterate, Problem, TraceNormModel

_PAIRS_OF_A_STEP = 20
_PRECISION = 1e-3


class TraceBoundModel(TraceNormModel):
    """Subclasses call `_within_bound` first: it finds τ where it is not given."""

    trace: float | None
    trace_: float

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.trace is not None:
            check_positive("trace", self.trace)

    def _within_bound(self, problem: Problem, start: LowRank) -> Iterate:
        """Where to start: `start`, or a multiple of it that meets the bound."""
        self.trace_ = self._trace_of_a_step(problem) if self.trace is None else float(self.trace)
        if start.trace_norm > self.trace_:
            start = LowRank(*(side * np.sqrt(self.trace_ / start.trace_norm) for side in start))
        return problem.iterate(start)

    def _trace_of_a_step(self, problem: Problem) -> float:
        pairs = leading_pairs(problem.descent(problem.values), min(_PAIRS_OF_A_STEP, *problem.shape), tol=_PRECISION)
        return float(np.maximum(pairs.values - self.penalty_, 0.0).sum()) / problem.curvature

    def _objective(self, problem: Problem, iterate: Iterate) -> float:
        return 0.5 * float(iterate.residual @ iterate.residual)

    def _lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        along = float(iterate.residual @ (problem.values - iterate.residual))
        return max(self._objective(problem, iterate) + along - self.trace_ * largest, 0.0)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"trace": self.trace_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.trace_ = about["trace"]
