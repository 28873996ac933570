"""Ratings of a few ordered values, such as stars, as what is seen of a number that has noise of variance 1.

    y_ui ~ N(p, 1),  p = b_u + b_i + p_u·q_i,    star k is seen where c_k < y < c_{k+1},   c_0 = −∞, c_L = ∞

(ordered probit; Albert, Chib 1993). The lowest cut point stays: biases move all the others against it. The logarithms
of the distances between cut points are normal around those at the start, with variance 1. They are drawn together by
Metropolis steps, y integrated out (Cowles 1996), then all y from normal distributions within their cut points.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Numbers = NDArray[np.float64]

MOST_LEVELS = 50
_STEPS = 2
_ADAPTING = 60
"""The sweeps in which the length of the steps is learned."""
_WANTED = 0.3
"""The share of steps that should be taken."""
_AT_ONCE = 2**17


class Stars:
    """The values that were seen, their cut points, and the straight line from p to what is expected to be seen."""

    def __init__(self, ratings: NDArray[np.float32], noise_precision: float) -> None:
        """Starts from ratings as numbers whose errors had that precision."""
        levels, codes = np.unique(ratings, return_inverse=True)
        self.levels: Numbers = levels.astype(np.float64)
        self.codes: NDArray[np.intp] = codes
        self.cuts = 0.5 * (self.levels[1:] + self.levels[:-1]) * noise_precision**0.5
        self.expected_gaps = np.log(np.diff(self.cuts))
        self.step = np.array(1.0)
        self.slope, self.shift = noise_precision**-0.5, 0.0
        self.loss, self.error = 0.0, 0.0

    def draw(self, predicted: Numbers, sweep: int, random: np.random.Generator) -> NDArray[np.float32]:
        """Draws cut points, and then y for every rating."""
        for _ in range(_STEPS if len(self.cuts) > 1 else 0):
            self._draw_cuts(predicted, sweep, random)
        latents = np.empty(len(predicted), np.float32)
        for first in range(0, len(predicted), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            latents[some] = self._latents(predicted[some], self.codes[some], random)
        self._line(predicted)
        return latents

    def chances(self, predicted: Numbers, codes: NDArray[np.intp]) -> Numbers:
        """The probability of what was seen."""
        low, high, _ = self._bounds(predicted, codes)
        found: Numbers = np.maximum(ndtr(high) - ndtr(low), 1e-300)
        return found

    def _bounds(self, predicted: Numbers, codes: NDArray[np.intp]) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
        """Both ends of where y − p lies, mirrored where they are above zero, since there 1 − tiny loses the tiny."""
        ends = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        low, high = ends[codes] - predicted, ends[codes + 1] - predicted
        mirrored = low > 0
        return np.where(mirrored, -high, low), np.where(mirrored, -low, high), mirrored

    def _latents(self, predicted: Numbers, codes: NDArray[np.intp], random: np.random.Generator) -> Numbers:
        low, high, mirrored = self._bounds(predicted, codes)
        below, above = ndtr(low), ndtr(high)
        drawn = ndtri(below + random.random(len(predicted)) * (above - below))
        drawn = np.clip(drawn, np.maximum(low, -40.0), np.minimum(high, 40.0))
        latents: Numbers = predicted + np.where(mirrored, -drawn, drawn)
        return latents

    def _draw_cuts(self, predicted: Numbers, sweep: int, random: np.random.Generator) -> None:
        before, gaps = self.cuts, np.diff(self.cuts)
        held = np.bincount(self.codes, minlength=len(self.levels))[1:-1]
        width = self.step / np.sqrt((held + 1.0) * len(gaps)) / gaps.clip(0.1)
        moved = gaps * np.exp(width * random.standard_normal(len(gaps)))
        # The width depends on where the step begins; so must what the way back would have had.
        back = self.step / np.sqrt((held + 1.0) * len(gaps)) / moved.clip(0.1)
        ways = np.log(moved / gaps)
        ratio = float(np.sum(np.log(width / back) + 0.5 * ways**2 * (width**-2 - back**-2)))
        ratio += self._log_density(predicted, moved) - self._log_density(predicted, gaps)
        taken = np.log(random.random()) < ratio
        self.cuts = np.concatenate([before[:1], before[0] + np.cumsum(moved)]) if taken else before
        if 0 < sweep <= _ADAPTING:
            self.step *= np.exp((float(taken) - _WANTED) / np.sqrt(sweep))

    def _log_density(self, predicted: Numbers, gaps: Numbers) -> float:
        """The density of the logarithms of the gaps, given what was seen."""
        kept, self.cuts = self.cuts, np.concatenate([self.cuts[:1], self.cuts[0] + np.cumsum(gaps)])
        found = self._log_likelihood(predicted) - 0.5 * float(np.sum((np.log(gaps) - self.expected_gaps) ** 2))
        self.cuts = kept
        return found

    def _log_likelihood(self, predicted: Numbers) -> float:
        total = 0.0
        for first in range(0, len(predicted), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            total += float(np.log(self.chances(predicted[some], self.codes[some])).sum())
        return total

    def _line(self, predicted: Numbers) -> None:
        """Least squares from p to the mean of the stars given p; the errors of that, and the loss."""
        mean = np.full(len(predicted), self.levels[0])
        for cut, rise in zip(self.cuts, np.diff(self.levels), strict=True):
            mean += rise * ndtr(predicted - cut)
        varied = float(np.var(predicted))
        centre = float(predicted.mean())
        slope = float(np.mean((predicted - centre) * mean)) / varied if varied > 0 else 0.0
        self.slope = max(slope, 1e-6)
        self.shift = float(mean.mean()) - self.slope * centre
        self.loss = -self._log_likelihood(predicted) / len(predicted)
        self.error = float(np.sqrt(np.mean((self.levels[self.codes] - self.shift - self.slope * predicted) ** 2)))
