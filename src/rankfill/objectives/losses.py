"""Losses of a residual e = r − r̂: the one definition of each, with its slope dℓ/de and a bound on its curvature.

squared               ½ e²                                    slope e                     curvature ≤ 1
absolute              |e|                                     slope sign(e)
epsilon-insensitive   max(|e| − ε, 0)                         slope sign(e) where |e| > ε
huber                 ½ e² up to δ, then δ (|e| − ½ δ)        slope e clipped to ±δ       curvature ≤ 1
logistic              log(1 + exp(−r r̂)), r = −1 or +1        slope r / (1 + exp(r r̂))    curvature ≤ ¼

The logistic loss takes ratings of −1 and +1 only; its prediction r̂ is a margin: the log-odds of +1 against −1.
At a kink the slope is 0, one of the subgradients. `cpp/include/rankfill/losses.hpp` has the same formulas.
"""

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from rankfill.kernels.gradients import LossName

LOSSES: tuple[LossName, ...] = get_args(LossName)

CURVATURE: dict[LossName, float] = {"squared": 1.0, "huber": 1.0, "logistic": 0.25}
"""The largest second derivative of a loss that has one everywhere; the others have kinks."""


def beyond(residuals: ArrayLike, width: float) -> NDArray[np.float64]:
    """The excess of an error over `width`, with its sign.

    >>> beyond([-2.0, 0.5], width=1)
    array([-1.,  0.])
    """
    e = np.asarray(residuals, dtype=np.float64)
    return np.asarray(np.copysign(np.maximum(np.abs(e) - width, 0.0), e))


def loss_values(loss: LossName, ratings: ArrayLike, residuals: ArrayLike, width: float = 0.0) -> NDArray[np.float64]:
    """ℓ of each residual r − r̂; `width` is the ε of epsilon-insensitive and the δ of huber.

    >>> loss_values("huber", [3, 3], [0.5, 2], width=1)
    array([0.125, 1.5  ])
    """
    e = np.asarray(residuals, dtype=np.float64)
    size = np.abs(e)
    if loss == "squared":
        return 0.5 * e * e
    if loss == "absolute":
        return size
    if loss == "epsilon-insensitive":
        return np.maximum(size - width, 0)
    if loss == "huber":
        return np.where(size > width, width * (size - 0.5 * width), 0.5 * e * e)
    margins = _margins(ratings, e)
    return np.asarray(np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0))


def loss_slopes(loss: LossName, ratings: ArrayLike, residuals: ArrayLike, width: float = 0.0) -> NDArray[np.float64]:
    """dℓ/de of each residual, which is −dℓ/dr̂.

    >>> loss_slopes("huber", [3, 3], [0.5, 2], width=1)
    array([0.5, 1. ])
    """
    e = np.asarray(residuals, dtype=np.float64)
    if loss == "squared":
        return e
    if loss == "absolute":
        return np.sign(e)
    if loss == "epsilon-insensitive":
        return np.where(np.abs(e) > width, np.sign(e), 0.0)
    if loss == "huber":
        return np.clip(e, -width, width)
    with np.errstate(over="ignore"):  # the slope of a rating that is met by far is 0
        return np.asarray(np.asarray(ratings, dtype=np.float64) / (1 + np.exp(_margins(ratings, e))))


def loss_conjugates(loss: LossName, ratings: ArrayLike, slopes: ArrayLike, width: float = 0.0) -> NDArray[np.float64]:
    """ℓ*(q) = max over e of q e − ℓ(e), for slopes q that the loss can have.

    >>> loss_conjugates("squared", [3], [0.5])
    array([0.125])
    """
    q = np.asarray(slopes, dtype=np.float64)
    if loss in ("squared", "huber"):
        return 0.5 * q * q
    if loss == "absolute":
        return np.zeros_like(q)
    if loss == "epsilon-insensitive":
        return width * np.abs(q)
    share = np.asarray(ratings, dtype=np.float64) * q
    return np.asarray(share + xlogy(share, share) + xlogy(1 - share, 1 - share))


def _margins(ratings: ArrayLike, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    r = np.asarray(ratings, dtype=np.float64)
    return r * (r - residuals)
