"""Ordered ratings: from the mean of the numbers behind them to the rating that is expected.

With p the mean of a prediction over the samples, v its variance and L values l_k with cut points c_k between them,

    E[rating] = l_1 + Σ_k (l_{k+1} − l_k) Φ((p − c_k) / √(1/α + v)).

One v for all pairs, the mean over some of them, makes that a curve that rises with p: lists go by p, and the factors
of the mean stay those of p.
"""

import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.models.base.explanation import Part
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.state import Parts
from rankfill.models.bayesian.going_on import GoingOn
from rankfill.models.bayesian.samples import Samples
from rankfill.models.bayesian.stars import expected_level

Numbers = NDArray[np.int32]
Scores = NDArray[np.float32]


class Curve(NamedTuple):
    """The cut points, 1/α and the width √(1/α + v), in units of the samples."""

    cuts: NDArray[np.float64]
    noise: float
    width: float


def curve_of(samples: Samples, users: Numbers, items: Numbers) -> Curve:
    """The curve of these samples, v being that of pairs of row numbers."""
    noise = float(np.mean(1 / samples.noise_precisions))
    variance = noise + float(samples.spread(users, items).mean())
    return Curve(samples.cuts.mean(axis=0), noise, variance**0.5)


class Ordered(GoingOn):
    """A model of samples whose factors predict numbers behind ordered ratings, where it has a curve."""

    _learned: ClassVar[tuple[str, ...]] = ("_curve",)

    _curve: Curve | None

    def _expectation(self, scores: Scores, narrower: float | NDArray[np.float64] = 0.0) -> Scores:
        """What is expected to be seen of numbers in units of the ratings, the noise by that share narrower."""
        if self._curve is None:
            return scores
        latents = (scores.astype(np.float64) - self.offset_) / (self._scale or 1.0)
        cuts, noise, width = self._curve
        widths = np.sqrt(width**2 - narrower * noise)
        return expected_level(latents, self.levels_.astype(np.float64), cuts, widths).astype(np.float32)

    def _as_latents(self) -> Self:
        """The model whose answers are the numbers behind the ratings."""
        if self._curve is None:
            return self
        other = copy.copy(self)
        other._curve = None
        return other

    def _score(self, users: Numbers, items: Numbers) -> Scores:
        latents = super()._score(users, items)
        if self._curve is None:
            return latents
        return np.where((users < 0) & (items < 0), np.float32(self._both_unknown), self._expectation(latents))

    def _score_one(self, user: int, item: int) -> float:
        if self._curve is None:
            return super()._score_one(user, item)
        users, items = np.array([user], np.int32), np.array([item], np.int32)
        return float(self._clip(self._score(self._learned_users(users), self._learned_items(items)))[0])

    def _best_for_rows(self, *arguments: Any) -> tuple[Numbers, Scores]:
        found, scores = super()._best_for_rows(*arguments)
        return found, self._expectation(scores)

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        reading = super()._reading(user, item, own)
        if self._curve is None or (user < 0 and item < 0):
            return reading
        users, items = np.array([user], np.int32), np.array([item], np.int32)
        latent, score = super()._score(users, items), self._score(users, items)
        bent = Part("level", "from the number behind to values", float(score[0]) - float(latent[0]))
        return Reading([*reading.parts, bent], [*reading.ratings, bent] if reading.ratings else [], reading.note)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        wanted = max(len(self.levels_) - 1, 0)
        if self._curve is not None and (
            len(self._curve.cuts) != wanted or not 0 < self._curve.noise <= self._curve.width**2
        ):
            raise ValueError(f"the curve of {len(self.levels_)} values has {len(self._curve.cuts)} cut points")
