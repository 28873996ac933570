"""The effects of users and items as two factors, so that p·q is the bias model before a single round is made.

    user  (…, (s + d̃_u)/c, c)        item  (…, c, (b̃_i − s)/c)        p_u·q_i = b̃_i + d̃_u

b̃_i and d̃_u are those of `Bias`, s is what the users hold of the mean rating and c the size of the columns. Entries of a
side that must not be negative are cut off at zero, which needs to happen only where an effect is larger than its share.
With a single factor only the second column of each is there, and s = 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.models.bias import Bias


class EffectColumns(NamedTuple):
    """The mean rating, s and c: what the two columns hold before anything is known of a user or an item."""

    mean: float
    share: float
    unit: float

    @classmethod
    def of(cls, ratings: Ratings, mean: float, nonnegative: str, rank: int) -> "EffectColumns":
        """Both sides hold half of the mean, unless negative ratings leave only the free side to be negative."""
        return cls._around(mean, ratings.distance_from(mean), *ratings.bounds(), nonnegative, rank)

    @classmethod
    def of_few(cls, values: NDArray[np.floating], nonnegative: str, rank: int) -> "EffectColumns":
        """As the scale of many ratings, from the middle of a few, so that strays do not count."""
        ascending = np.sort(values.astype(np.float64))
        n = len(ascending)
        middle, most = ascending[n // 4 : n - n // 4], ascending[n // 16 : n - n // 16]
        spread = float(middle[-1] - middle[0]) / 1.35  # of normal numbers that is the standard deviation
        if middle.mean() == 0 == spread:
            spread = float(np.abs(most).max())
        return cls._around(float(middle.mean()), spread, float(most[0]), float(most[-1]), nonnegative, rank)

    @classmethod
    def _around(
        cls, mean: float, spread: float, low: float, high: float, nonnegative: str, rank: int
    ) -> "EffectColumns":
        share = mean / 2
        if low < 0 and nonnegative in ("items", "users"):
            share = low if nonnegative == "items" else high - low
        size = max(abs(mean), spread) or 1.0
        return cls(mean, share if rank > 1 else 0.0, float(np.sqrt(size / 2)))

    def fill(
        self,
        rows: NDArray[np.float32],
        side: int,
        rank: int,
        effects: NDArray[np.float64] | float = 0.0,
        *,
        nonnegative: bool,
    ) -> None:
        """Sets the last two of `rank` columns; side 0 are users, side 1 items."""
        own = self.share if side == 0 else self.mean - self.share
        for column, values in ((rank - 2 + side, (own + effects) / self.unit), (rank - 1 - side, self.unit)):
            if column >= 0:
                rows[:, column] = np.maximum(values, 0) if nonnegative else values


def effects_of(ratings: Ratings, mean: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """d̃_u and b̃_i − mean, as `Bias()` learns them."""
    bias = Bias().fit(ratings)
    return bias.user_effects_.astype(np.float64), bias.item_effects_.astype(np.float64) + (bias.mean_ - mean)
