"""Completion under a bound on the trace norm, by the algorithm of Jaggi and Sulovský (ICML 2010): Frank–Wolfe.

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  ‖D_u W D_i‖_* ≤ τ

A pass finds the leading singular pair u, v of the residuals and moves towards it by an exact line search,

    Z ← (1 − α) Z + α τ u vᵀ,    α = Σ e d / Σ d² within [0, 1],  d = c ∘ (τ u vᵀ − Z) on Ω.

In the paper X ⪰ 0 holds Z beside its diagonal and its trace t is fixed: t = 2 τ. With τ the trace norm of a solution of
½ Σ e² + λ ‖Z‖_*, both have the same solution, and λ is then the largest singular value of its residuals, which is
kept in `penalty_`. The offset o and the weighting D are those of `trace_norm.py`. The gap is that of Frank and Wolfe:
no Z within the bound has a loss below f(Z) + Σ e w − τ σ₁(c ∘ e).

trace=None takes the trace norm of one step of soft-impute from zero at the level of noise of `trace_norm.py`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.settings import check_positive
from rankfill.models.trace_norm import Iterate, Offset, Problem, TraceNormModel, Weighting

_PAIRS_OF_A_STEP = 20
_PRECISION = 1e-3
"""Of the leading pair: any direction that goes down serves."""


class JaggiSulovsky(TraceNormModel):
    """Convex completion within a bound: a singular pair a pass, in a convex combination with what was there.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    trace: The bound on the sum of the singular values. None: chosen from the data.

    >>> from rankfill import JaggiSulovsky, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = JaggiSulovsky(trace=11, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    trace_: float

    def __init__(
        self,
        *,
        trace: float | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
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

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.trace is not None:
            check_positive("trace", self.trace)

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        self.trace_ = self._trace_of_a_step(problem) if self.trace is None else float(self.trace)
        if start.trace_norm > self.trace_:
            start = LowRank(*(side * np.sqrt(self.trace_ / start.trace_norm) for side in start))
        solution, residual = problem.iterate(start)
        while True:
            pair = leading_pairs(problem.descent(residual), 1, self.seed, tol=_PRECISION)
            self.penalty_ = float(pair.values[0]) or self.penalty_
            corner = LowRank.of_pairs(pair.left, np.array([self.trace_]), pair.right)
            towards = problem.predicted(corner) - (problem.values - residual)
            square = float(towards @ towards)
            share = min(max(float(residual @ towards) / square, 0.0), 1.0) if square > 0 else 0.0
            if share > 0:
                solution = _combined(solution, corner, share)
                residual = residual - share * towards
            yield Iterate(solution, residual)

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


def _combined(solution: LowRank, corner: LowRank, share: float) -> LowRank:
    """(1 − share) · solution + share · corner; a full step leaves nothing of what was there."""
    if share == 1.0:
        return corner
    sides = (
        np.hstack([np.sqrt(1 - share) * old, np.sqrt(share) * new]) for old, new in zip(solution, corner, strict=True)
    )
    return LowRank(*sides)
