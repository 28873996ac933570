"""Measures of the distance of predictions from ratings.

    rmse = √(Σ (r − r̂)² / n)        mae = Σ |r − r̂| / n        nmae = 100 · Σ |r − r̂| / Σ |r|

`nmae` is the normalised absolute error, in percent, of Blondel, Kubo and Ueda (2014). Each is a function of two sums,
which add up over parts of the ratings.
"""

import math
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Measure = Literal["rmse", "mae", "nmae"]


class ErrorSums(NamedTuple):
    """The sum over a fraction line and the one below it."""

    above: float = 0.0
    below: float = 0.0

    @classmethod
    def of(cls, measure: Measure, ratings: NDArray[np.floating], predictions: NDArray[np.floating]) -> "ErrorSums":
        if measure == "rmse":
            return cls(float(np.square(ratings - predictions, dtype=np.float64).sum()), len(ratings))
        absolute = float(np.abs(ratings - predictions).sum(dtype=np.float64))
        return cls(absolute, len(ratings) if measure == "mae" else float(np.abs(ratings).sum(dtype=np.float64)))

    def plus(self, other: "ErrorSums") -> "ErrorSums":
        return ErrorSums(self.above + other.above, self.below + other.below)

    def error(self, measure: Measure) -> float:
        """NaN where nothing was measured, and for `nmae` where all ratings are zero."""
        if not self.below > 0:
            return math.nan
        ratio = self.above / self.below
        return math.sqrt(ratio) if measure == "rmse" else 100 * ratio if measure == "nmae" else ratio


def measured(measure: Measure, ratings: NDArray[np.floating], predictions: NDArray[np.floating]) -> float:
    return ErrorSums.of(measure, ratings, predictions).error(measure)


rmse, mae, nmae = (partial(measured, measure) for measure in ("rmse", "mae", "nmae"))

MEASURES = {"rmse": rmse, "mae": mae, "nmae": nmae}
