"""Settings of the convex models where none are given: about what noise of the size of the residuals would need.

With e what `Bias()` leaves over, s the root mean square of its slopes ℓ'(e), n̄ the mean numbers of ratings,

    constant   λ = min(s · max(15, ¾ (√n̄_u + √n̄_i)), 0.9 σ₁(e ∘ ±1))        count   λ = s · 0.065 √(n̄_u n̄_i)

as `ALS` does: about the spectral norm of noise of that size, which λ has to exceed for noise not to be learned. On
small matrices that norm is taken from the data, with signs that are random. The bound τ is the trace norm of one step
of soft-impute from zero with that λ.

On large matrices, once effects are taken off, there may be nothing to learn. Random signs keep the size of every
residual and destroy what they have in common: where the leading singular values of e are not above those of e ∘ ±1 by
`_STANDS_OUT`, together, λ is above σ₁(e) and nothing is learned. Chance moves those of small matrices by more than
that.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import leading_pairs
from rankfill.models.bias import Bias
from rankfill.models.convex.problem import Problem
from rankfill.objectives.penalties import BY_COUNT, LEAST, norm_of_noise

_PAIRS_OF_STEP = 20
_PRECISION = 1e-3
_ABOVE = 1.03
"""λ over an estimate of σ₁ that it has to exceed."""
_LARGE, _COMPARED, _STANDS_OUT = 1000, 8, 1.005
"""Rows of the smaller side from which on as many singular values are compared, and how far they have to be above."""


def effects_residual(ratings: Ratings) -> NDArray[np.float64]:
    """The residual of every rating after `Bias()`."""
    effects = Bias().fit(ratings)
    return ratings.values - effects.predict_rows(ratings.user_indices, ratings.item_indices)


def noise_penalty(
    problem: Problem, slopes: NDArray[np.float64], *, by_count: bool, without_effects: bool, seed: int
) -> float:
    """λ; `slopes` are those of the loss at what `Bias()` leaves over, `without_effects` if the problem is that too."""
    size, n = float(np.sqrt(np.mean(slopes**2))), len(slopes)
    if by_count:
        return BY_COUNT * size * n / math.sqrt(math.prod(problem.shape)) or 1.0
    compared = _COMPARED if without_effects and min(problem.shape) >= _LARGE else 1
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], n)
    noise = leading_pairs(problem.descent(slopes * signs), compared, tol=_PRECISION).values
    level = min(size * max(LEAST, norm_of_noise(n, *problem.shape)), 0.9 * float(noise[0])) or 1.0
    if compared == 1:
        return level
    found = leading_pairs(problem.descent(slopes), compared, tol=_PRECISION).values
    if found.sum() > _STANDS_OUT * noise.sum():
        return level
    return max(level, _ABOVE * float(found[0]))


def noise_trace(problem: Problem, penalty: float) -> float:
    """τ for that λ."""
    pairs = leading_pairs(problem.descent(problem.values), min(_PAIRS_OF_STEP, *problem.shape), tol=_PRECISION)
    return float(np.maximum(pairs.values - penalty, 0.0).sum()) / problem.curvature
