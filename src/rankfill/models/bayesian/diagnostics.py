"""Whether chains have forgotten where they started, and how many independent draws they are worth.

Each chain is cut in two halves. With W the mean variance within the halves of n draws and B/n the variance of their
means, R̂ = √(((n − 1)/n W + B/n) / W): near 1 where all halves tell the same. The effective number of m · n draws is
m n / (1 + 2 Σ ρ_t), with the autocorrelations ρ_t of all halves together, summed in pairs as long as pairs are positive
and made to fall (Gelman et al. 2013, "Bayesian Data Analysis", 11.4 and 11.5; Geyer 1992).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 8
"""Draws of each chain: with fewer, halves have too few for a variance."""

Draws = NDArray[np.float64]


class Diagnosis(NamedTuple):
    """What a trace says of its chains."""

    r_hat: float
    effective: float


def diagnosis(draws: Draws) -> Diagnosis:
    """Judges draws, one row per chain; not a number where there are fewer than eight, or where none differ."""
    if draws.shape[1] < LEAST or np.ptp(draws) == 0:
        return Diagnosis(float("nan"), float("nan"))
    n = draws.shape[1] // 2
    halves = np.concatenate([draws[:, -2 * n : -n], draws[:, -n:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = n * float(halves.mean(axis=1).var(ddof=1))
    total = (n - 1) / n * within + between / n
    r_hat = (total / within) ** 0.5 if within > 0 else float("inf")
    return Diagnosis(r_hat, halves.size / _correlation_time(halves, within, total))


def _correlation_time(halves: Draws, within: float, total: float) -> float:
    """1 + 2 Σ ρ_t."""
    n = halves.shape[1]
    deviations = halves - halves.mean(axis=1, keepdims=True)
    waves = np.abs(np.fft.rfft(deviations, 2 * n)) ** 2
    covariances = np.fft.irfft(waves, 2 * n)[:, :n].mean(axis=0) / (n - 1)
    correlations = 1.0 - (within - covariances) / total
    correlations[0] = 1.0
    pairs = correlations[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: ends[0] if len(ends) else None])
    # Draws that alternate are worth more than as many independent ones, but not without end.
    return max(2.0 * float(pairs.sum()) - 1.0, 1.0 / math.log10(halves.size))
