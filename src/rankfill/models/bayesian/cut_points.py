"""Where the cut points between ordered values may lie, and a distribution that is close to what ratings say of them.

Two cut points stay where they are in the units of the ratings, midway between two values: those that have about a
quarter of the ratings below and above them. The other ones are told by the logarithms z of the distances between
neighbours, between the two that stay by shares exp(z_k) / Σ exp(z) of the whole; z is normal around what it is with all
cut points midway, with variance 1, and α, the precision of the noise, is Gamma(1, 1).

Given predictions p, the density of θ = (z, log α) is that of the probabilities of the values seen, numbers behind them
integrated out (Cowles 1996). Its mode and its expected curvature are found by scoring on p rounded to a few hundred
places; a Student distribution with these is what candidates are drawn from.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import ndtr

Numbers = NDArray[np.float64]

_PLACES = 512
_STEPS = 30
_LONGEST = 1.0
_CLOSE = 1e-8
_FREEDOM = 6.0
"""Degrees of freedom of the Student distribution: its tails are heavier than those of the density."""


class Candidates(NamedTuple):
    """A Student distribution around `mode` with the scale root⁻ᵀ root⁻¹."""

    mode: Numbers
    root: Numbers

    def draw(self, random: np.random.Generator) -> Numbers:
        size = math.sqrt(_FREEDOM / random.chisquare(_FREEDOM))
        away = scipy.linalg.solve_triangular(self.root, random.standard_normal(len(self.mode)), lower=True, trans=1)
        found: Numbers = self.mode + size * away
        return found

    def log_density(self, theta: Numbers) -> float:
        """Up to a constant."""
        squares = float(np.sum((self.root.T @ (theta - self.mode)) ** 2))
        return -0.5 * (_FREEDOM + len(theta)) * math.log1p(squares / _FREEDOM)


class CutPoints:
    """How θ makes cut points, for `levels` with so many ratings each."""

    def __init__(self, levels: Numbers, counts: NDArray[np.integer]) -> None:
        self.start: Numbers = 0.5 * (levels[1:] + levels[:-1])
        n = len(self.start)
        below = np.cumsum(counts)[:-1] / counts.sum()
        self.low = int(np.argmin(np.abs(below[:-1] - 0.25))) if n > 1 else 0
        self.high = self.low + 1 + int(np.argmin(np.abs(below[self.low + 1 :] - 0.75))) if n > 1 else 0
        places = np.arange(n)[:, None]
        gaps = np.arange(max(n - 1, 0))
        above = (self.low <= gaps) & (gaps < places)
        under = (places <= gaps) & (gaps < self.low)
        self._sums = above.astype(np.float64) - under
        self._usual = np.log(np.diff(self.start))
        self._between = (self.low <= gaps) & (gaps < self.high)
        self._free = gaps != self.high - 1

    @property
    def n_unknowns(self) -> int:
        """How many numbers θ has; none for two values, whose noise has the variance 1."""
        return len(self._usual)

    def usual(self) -> Numbers:
        """θ with all cut points midway and α = 1."""
        return np.append(self._usual[self._free], 0.0) if self.n_unknowns else np.empty(0)

    def cuts(self, theta: Numbers) -> Numbers:
        """The cut points."""
        return self._with_gaps(self._gaps(theta))

    def theta(self, cuts: Numbers, precision: float) -> Numbers:
        """What makes these cut points and that precision."""
        if not self.n_unknowns:
            return np.empty(0)
        z = np.log(np.diff(cuts))
        last = self.high - 1
        z[self._between] += self._usual[last] - z[last]
        return np.append(z[self._free], math.log(precision))

    def log_prior(self, theta: Numbers) -> float:
        if not self.n_unknowns:
            return 0.0
        away = theta[:-1] - self._usual[self._free]
        return float(theta[-1] - math.exp(theta[-1]) - 0.5 * away @ away)

    def candidates(self, predicted: Numbers, codes: NDArray[np.intp]) -> Candidates:
        """A distribution close to that of θ given predictions and which level was seen of each."""
        n_levels, (low, high) = len(self.start) + 1, (float(predicted.min()), float(predicted.max()))
        width = max((high - low) / _PLACES, 1e-9)
        places = ((predicted - low) / width).astype(np.intp).clip(0, _PLACES - 1)
        counts = np.bincount(places * n_levels + codes, minlength=_PLACES * n_levels).reshape(_PLACES, n_levels)
        used = counts.any(axis=1)
        counts = counts[used]
        middles: Numbers = (low + width * (np.arange(_PLACES, dtype=np.float64) + 0.5))[used]
        theta = self.usual()
        for _ in range(_STEPS):
            slope, curvature = self._slopes(theta, middles, counts)
            step = np.linalg.solve(curvature, slope)
            theta = theta + step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
            if float(step @ curvature @ step) < _CLOSE:
                break
        root: Numbers = np.linalg.cholesky(self._slopes(theta, middles, counts)[1]).astype(np.float64)
        return Candidates(theta, root)

    def _slopes(self, theta: Numbers, middles: Numbers, counts: NDArray[np.integer]) -> tuple[Numbers, Numbers]:
        """The first derivative of the logarithm of the density, and what is expected of the second, less its sign."""
        root, gaps = math.exp(0.5 * theta[-1]), self._gaps(theta)
        ends = root * (self._with_gaps(gaps) - middles[:, None])
        edges = np.exp(-0.5 * ends**2) / math.sqrt(2 * math.pi)
        with_z = root * edges[:, :, None] * (self._sums @ self._slope_of_gaps(gaps))
        slopes = np.concatenate([with_z, (0.5 * edges * ends)[:, :, None]], axis=2)
        slopes = np.diff(np.pad(slopes, ((0, 0), (1, 1), (0, 0))), axis=1)
        chances = np.diff(np.pad(ndtr(ends), ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1).clip(1e-12)
        slope = np.einsum("bk,bkd->d", counts / chances, slopes)
        weights = counts.sum(axis=1)[:, None] / chances
        curvature = np.einsum("bk,bkd,bke->de", weights, slopes, slopes, optimize=True)
        alpha = math.exp(theta[-1])
        slope += np.append(self._usual[self._free] - theta[:-1], 1.0 - alpha)
        curvature += np.diag(np.append(np.ones(len(theta) - 1), alpha))
        return slope, curvature

    def _gaps(self, theta: Numbers) -> Numbers:
        z = self._usual.copy()
        if self.n_unknowns:
            z[self._free] = theta[:-1]
        gaps: Numbers = np.exp(z)
        whole = self.start[self.high] - self.start[self.low]
        gaps[self._between] *= whole / max(float(gaps[self._between].sum()), 1e-300)
        return gaps

    def _with_gaps(self, gaps: Numbers) -> Numbers:
        cuts: Numbers = self.start[self.low] + self._sums @ gaps if len(self.start) else self.start
        return cuts

    def _slope_of_gaps(self, gaps: Numbers) -> Numbers:
        """The derivative of the distances with respect to z."""
        inner = np.where(self._between, gaps, 0.0)
        whole = float(inner.sum())
        slope: Numbers = np.diag(gaps) - np.outer(inner, inner) / max(whole, 1e-300)
        return slope[:, self._free]
