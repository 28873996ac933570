"""Completion under a bound on the trace norm, by the algorithm of Jaggi and Sulovský (ICML 2010): Frank–Wolfe.

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  ‖D_u W D_i‖_* ≤ τ

A pass finds the leading singular pair u, v of the residuals and moves towards it by an exact line search,

    Z ← (1 − α) Z + α τ u vᵀ,    α = Σ e d / Σ d² within [0, 1],  d = c ∘ (τ u vᵀ − Z) on Ω.

In the paper X ⪰ 0 holds Z beside its diagonal and its trace t is fixed: t = 2 τ. Bound and gap are those of
`trace_bound.py`; `penalty_` is the largest singular value of the residuals, which tends to its λ.
"""

from collections.abc import Iterator

import numpy as np

from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.trace_bound import TraceBoundModel
from rankfill.models.trace_norm import Iterate, Offset, Problem, Weighting

_PRECISION = 1e-3
"""Of the leading pair: any direction that goes down serves."""


class JaggiSulovsky(TraceBoundModel):
    """Convex completion within a bound: a singular pair a pass, in a convex combination with what was there.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    trace: The bound on the sum of the singular values. None: chosen from the data.

    >>> from rankfill import JaggiSulovsky, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = JaggiSulovsky(trace=11, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

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

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        solution, residual = self._within_bound(problem, start)
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


def _combined(solution: LowRank, corner: LowRank, share: float) -> LowRank:
    """(1 − share) · solution + share · corner; a full step leaves nothing of what was there."""
    if share == 1.0:
        return corner
    sides = (
        np.hstack([np.sqrt(1 - share) * old, np.sqrt(share) * new]) for old, new in zip(solution, corner, strict=True)
    )
    return LowRank(*sides)
