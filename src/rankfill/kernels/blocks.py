"""Block updates of primal–dual completion: one rank-one term at a time against maintained residuals."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.gradients import LossName
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set


def block_pass(
    rows: Rows,
    residuals: NDArray[np.float64],
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    loss: LossName,
    width: float,
    tube: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """residual ← residual + own[row]·other[column, :2]; then, b being other[column, 2], the sums Σ g b and Σ h b² of
    each row over its entries.

    `own` has 2 columns, `other` 4, of which the last is not read. g is the slope of the loss at the residual, h the
    curvature of a parabola that touches the loss there and lies above it: 1, 1/max(|e|, width), width/max(|e|, width)
    and tanh(m/2)/2m, m = r (r − e). So an absolute error below `width` costs e²/(2 width) + ½ width. The loss
    epsilon-insensitive is that of sign(e) max(|e| − tube, 0).
    """
    return _native.block_pass(
        rows.pattern, rows.values, residuals, own, other, loss, width, tube, get_threads(), instruction_set()
    )


def block_weight(slopes: NDArray[np.float64], curvatures: NDArray[np.float64], penalty: float) -> float:
    """ξ ≥ 0 with ‖slopes / (1 + ξ curvatures)‖ = penalty; 0 where `slopes` is not longer than that."""
    return _native.block_weight(slopes, curvatures, penalty, instruction_set())
