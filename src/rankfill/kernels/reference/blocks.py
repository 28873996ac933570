"""NumPy twins of the block updates: the same signatures, the same results to the bit (the logistic loss: closely)."""

import itertools

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.gradients import LossName
from rankfill.kernels.rows import Rows

_LANES, _STEPS = 4, 100


def block_pass(
    rows: Rows,
    residuals: NDArray[np.float64],
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    loss: LossName,
    width: float,
    tube: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    terms, row = other[rows.indices], rows.row_of_entry()
    residuals += own[row, 0] * terms[:, 0] + own[row, 1] * terms[:, 1]
    slopes, curvatures = _parabolas(loss, residuals, rows.values.astype(np.float64), width, tube)
    b = terms[:, 2]
    return _row_sums(rows, slopes * b), _row_sums(rows, curvatures * (b * b))


def block_weight(slopes: NDArray[np.float64], curvatures: NDArray[np.float64], penalty: float) -> float:
    xi = 0.0
    for _ in range(_STEPS):
        shrink = 1 / (1 + xi * curvatures)
        q = slopes * shrink
        squares, change = _in_lanes(q * q), _in_lanes(q * q * (curvatures * shrink))
        excess = np.sqrt(squares) / penalty - 1
        if not (excess > 1e-13 and change > 0):
            break
        xi += excess * (squares / change)
    return float(xi)


def _parabolas(
    loss: LossName, e: NDArray[np.float64], targets: NDArray[np.float64], width: float, tube: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if loss == "epsilon-insensitive":
        e = np.copysign(np.maximum(np.abs(e) - tube, 0.0), e)
    size = np.maximum(np.abs(e), width)
    if loss == "squared":
        return e, np.ones_like(e)
    if loss in ("absolute", "epsilon-insensitive"):
        return e / size, 1 / size
    if loss == "huber":
        return width * e / size, width / size
    margins = targets * (targets - e)
    half = np.where(np.abs(margins) < 2e-4, 1, 0.5 * margins)
    return targets / (1 + np.exp(margins)), np.where(np.abs(margins) < 2e-4, 0.25, 0.25 * np.tanh(half) / half)


def _row_sums(rows: Rows, terms: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([_in_lanes(terms[begin:end]) for begin, end in itertools.pairwise(rows.indptr.tolist())])


def _in_lanes(terms: NDArray[np.float64]) -> float:
    """Lane t mod 4 takes term t, from first to last."""
    padded = np.zeros(-(-len(terms) // _LANES) * _LANES)
    padded[: len(terms)] = terms
    lanes = np.zeros(_LANES)
    for four in padded.reshape(-1, _LANES):
        lanes = lanes + four
    return float((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]))
