"""The scale of ratings: between which values they lie, but for a few that stand far apart.

One 50 among ratings of 1 to 5 is a slip of the pen. Were it taken for the end of the scale, every prediction could
go up to 50. The values are therefore gone through outwards, from where all but a handful lie. The first gap wider than
everything within it ends the scale.

Only the outermost values matter, so a stream keeps those and no others.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

_KEPT = 256
"""How many values are kept at each end."""


def scale_of(values: NDArray[np.float32]) -> tuple[float, float]:
    """The least and the greatest value, without the few that stand apart.

    At each end at most one value in a thousand counts as standing apart (or three, where there are at least three
    hundred values), never more than 255, and none among fewer than a hundred. Takes time in proportion to the number
    of values.

    >>> scale_of(np.array([1, 2, 3, 4, 5] * 40 + [50], np.float32))
    (1.0, 5.0)
    >>> scale_of(np.array([1, 2, 3, 4, 5] * 40 + [6], np.float32))
    (1.0, 6.0)
    """
    return Ends().extend(values).scale(len(values))


def most_apart(n: int) -> int:
    """How many of n values may stand apart at each end."""
    return min(max(n // 1000, min(3, n // 100)), _KEPT - 1)


def changes_at(n: int) -> bool:
    """Whether `most_apart` may be another for n values than for one fewer."""
    return n % 100 == 0


@dataclass(frozen=True)
class Ends:
    """The outermost of all values so far, ascending; never changed, so that readers may keep it.

    Attributes
    ----------
    lowest, highest : ndarray of float32
        The least and the greatest values; each holds all of them as long as they are few.
    """

    lowest: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    highest: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))

    def hold(self, value: float) -> bool:
        """Whether one more such value changes nothing here."""
        return len(self.lowest) == _KEPT and bool(self.lowest[-1] <= value <= self.highest[0])

    def extend(self, values: NDArray[np.float32]) -> Self:
        """The ends when these values have come as well."""
        least = greatest = values
        if len(values) > 2 * _KEPT:
            parted = np.partition(values, (_KEPT - 1, len(values) - _KEPT))
            least, greatest = parted[:_KEPT], parted[-_KEPT:]
        lowest, highest = np.concatenate([self.lowest, least]), np.concatenate([self.highest, greatest])
        return type(self)(np.sort(lowest)[:_KEPT], np.sort(highest)[-_KEPT:])

    def merge(self, other: "Ends") -> Self:
        """The ends of all values behind both."""
        lowest = np.sort(np.concatenate([self.lowest, other.lowest]))
        highest = np.sort(np.concatenate([self.highest, other.highest]))
        return type(self)(lowest[:_KEPT], highest[-_KEPT:])

    def shorten(self, n: int) -> Self:
        """The ends as they may be of n values, fewer than there were: which ones are gone is not known."""
        kept = min(n, _KEPT)
        return type(self)(self.lowest[:kept], self.highest[len(self.highest) - kept :])

    def belong_to(self, n: int) -> bool:
        """Whether they can be the ends of n values."""
        return all(
            each.shape == (min(n, _KEPT),) and bool((np.diff(each) >= 0).all()) for each in (self.lowest, self.highest)
        )

    def scale(self, n: int) -> tuple[float, float]:
        """The scale of n values that have these ends; zero and zero where there is none."""
        if n == 0:
            return 0.0, 0.0
        few = most_apart(n)
        lowest, highest = self.lowest[: few + 1].astype(np.float64), self.highest[-few - 1 :].astype(np.float64)
        return 0.0 - _end(-lowest[::-1], -float(highest[0])), _end(highest, float(lowest[-1]))


def _end(ascending: NDArray[np.float64], opposite: float) -> float:
    """The last value before a gap wider than the way from it to the `opposite` end, where there is such a gap."""
    within = ascending[:-1] - opposite
    apart = (np.diff(ascending) > within) & (within > 0)
    return float(ascending[np.argmax(apart)] if apart.any() else ascending[-1])
