"""The centre and the size of the ratings of a stream so far, which no single rating can spoil.

The first `WARM_UP` ratings are judged together: with m their median and d the median of the distances from m that are
not zero, those beyond m ± 10 d do not count, and are moved to that limit when learned. Every later rating is brought
within 10 deviations of the centre of those before it. The centre is the mean of the ratings, the deviation the root
mean square of their distances from it; without biases the centre is zero.

The unit, in which a model measures its penalties and starts, moves only by factors of four, when the deviation is more
than four times as large or small: what was learned is then brought to the new unit without any rounding.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WARM_UP = 32
OUTLIER = 10.0
"""A rating may be this many deviations from the centre."""
STEP = 4.0
"""The factor by which the unit moves."""


class Followed(NamedTuple):
    """Ratings as they are learned: bounded, with the centre after each and the unit before each."""

    values: NDArray[np.float32]
    centres: NDArray[np.float64]
    units: NDArray[np.float64]


class StreamStatistics(NamedTuple):
    """Sums over the ratings so far, in distances from `origin`, where the first ones had their centre."""

    centred: bool
    origin: float
    n_ratings: int
    total: float
    squares: float
    unit: float

    @classmethod
    def of_ratings(cls, values: NDArray[np.floating], *, centred: bool) -> "StreamStatistics":
        """The statistics of the ratings as they are."""
        exact = values.astype(np.float64)
        origin = float(exact.mean()) if centred else 0.0
        plain = cls(centred, origin, len(exact), 0.0, float(np.square(exact - origin).sum()), 1.0)
        return plain._replace(unit=plain.deviation or 1.0)

    @classmethod
    def of_first(cls, values: NDArray[np.float32], *, centred: bool) -> tuple["StreamStatistics", Followed]:
        """The statistics of the first ratings of a stream, all learned with the same centre and unit."""
        exact = values.astype(np.float64)
        middle = _lower_median(exact) if centred else 0.0
        distances = np.abs(exact - middle)
        reach = OUTLIER * _lower_median(distances[distances > 0]) or math.inf
        own = cls.of_ratings(exact[distances <= reach], centred=centred)
        bounded = np.clip(exact, middle - reach, middle + reach).astype(np.float32)
        return own, Followed(bounded, np.full(len(exact), own.centre), np.full(len(exact), own.unit))

    @property
    def centre(self) -> float:
        """Zero for a model without biases."""
        return self._centre_and_deviation()[0]

    @property
    def deviation(self) -> float:
        """A quarter of the centre where all ratings are the same (stars from 1 to 5 deviate by 1); zero for zeros."""
        return self._centre_and_deviation()[1]

    def follow(self, values: NDArray[np.float32]) -> tuple["StreamStatistics", Followed]:
        """The statistics after more ratings."""
        bounded, centres, units = np.empty(len(values), np.float32), np.empty(len(values)), np.empty(len(values))
        now = self
        centre, deviation = self._centre_and_deviation()
        for k, value in enumerate(values.tolist()):
            now, bounded[k] = now._next(value, centre, deviation)
            centre, deviation = now._centre_and_deviation()
            centres[k], units[k] = centre, now.unit
        return now, Followed(bounded, centres, units)

    def follow_one(self, value: float) -> tuple["StreamStatistics", float]:
        """The statistics after one more rating, and the rating bounded; the unit before it is theirs."""
        return self._next(value, *self._centre_and_deviation())

    def _next(self, value: float, centre: float, deviation: float) -> tuple["StreamStatistics", float]:
        reach = OUTLIER * deviation or math.inf
        bounded = min(max(value, centre - reach), centre + reach)
        distance = bounded - self.origin
        total, squares = self.total + distance, self.squares + distance * distance
        unit = _moved_unit(self.unit, deviation)
        return StreamStatistics(self.centred, self.origin, self.n_ratings + 1, total, squares, unit), bounded

    def _centre_and_deviation(self) -> tuple[float, float]:
        shift = self.total / self.n_ratings if self.centred else 0.0
        centre = self.origin + shift
        return centre, math.sqrt(max(self.squares / self.n_ratings - shift * shift, 0.0)) or abs(centre) / 4


def _lower_median(numbers: NDArray[np.float64]) -> float:
    """The median; of an even number the lower of the two in the middle, of none zero."""
    return float(np.sort(numbers)[(len(numbers) - 1) // 2]) if len(numbers) else 0.0


def _moved_unit(unit: float, deviation: float) -> float:
    while deviation > STEP * unit:
        unit *= STEP
    while 0 < deviation < unit / STEP:
        unit /= STEP
    return unit
