"""How far predictions are from ratings.

    rmse = √(Σ (r − r̂)² / n)        mae = Σ |r − r̂| / n        nmae = 100 · Σ |r − r̂| / Σ |r|

`nmae` is the normalised absolute error, in percent, of Blondel, Kubo and Ueda (2014).
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Measure = Literal["rmse", "mae", "nmae"]


def rmse(ratings: NDArray[np.floating], predictions: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.square(ratings - predictions, dtype=np.float64).mean()))


def mae(ratings: NDArray[np.floating], predictions: NDArray[np.floating]) -> float:
    return float(np.abs(ratings - predictions).mean(dtype=np.float64))


def nmae(ratings: NDArray[np.floating], predictions: NDArray[np.floating]) -> float:
    total = np.abs(ratings).sum(dtype=np.float64)
    return float(100 * np.abs(ratings - predictions).sum(dtype=np.float64) / total) if total > 0 else float("nan")


MEASURES = {"rmse": rmse, "mae": mae, "nmae": nmae}
