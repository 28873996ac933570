"""The entries of the matrix X of users × items that item regressions explain.

    "one"     1 for every rating
    "rating"  r / max|r|
    "square"  ± (r / max|r|)²: what was liked little counts much less than what was liked
    "log"     ± log(1 + |r| / s) / log(1 + max|r| / s), s the smallest |r| above zero: for counts log(1 + count)

With explicit feedback an entry is what the effects of user and item leave over of the rating.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.models.bias import Bias

EntryWeighting = Literal["log", "one", "rating", "square"]
"""The one that suits ratings as well as counts comes first."""


class Scale(NamedTuple):
    """The sizes by which ratings become entries: the smallest above zero and the largest in training."""

    smallest: float
    largest: float

    @classmethod
    def of(cls, ratings: Ratings) -> "Scale":
        sizes = np.abs(ratings.values)
        largest = float(sizes.max())
        return cls(float(sizes.min(where=sizes > 0, initial=largest)) or 1.0, largest or 1.0)

    def entries(self, values: NDArray[np.float32], weighting: EntryWeighting) -> NDArray[np.float32]:
        """The entries of ratings."""
        if weighting == "one":
            return np.ones_like(values)
        wide = values.astype(np.float64)
        if weighting == "log":
            wide = np.sign(wide) * np.log1p(np.abs(wide) / self.smallest) / np.log1p(self.largest / self.smallest)
        else:
            wide /= self.largest
            wide = wide * np.abs(wide) if weighting == "square" else wide
        return wide.astype(np.float32)


def residuals_of(ratings: Ratings, bias: Bias) -> NDArray[np.float32]:
    """The residuals of ratings after the effects, rows numbered as in the bias model."""
    predicted = bias.predict_rows(ratings.user_indices, ratings.item_indices)
    return (ratings.values - predicted).astype(np.float32)


def damp(entries: Rows, damping: float) -> Rows:
    """Rows times the root of what their users count: (n_u / mean n) to the power of −damping."""
    if damping == 0 or len(entries.indices) == 0:
        return entries
    counts = entries.counts()
    counted = np.maximum(counts, 1) / counts[counts > 0].mean()
    return entries._replace(values=entries.values * np.repeat(counted ** (-damping / 2), counts).astype(np.float32))
