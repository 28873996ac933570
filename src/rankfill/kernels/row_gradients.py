"""Gradients of rows with the other side fixed: variance-reduced rounds, and the full gradient."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.gradients import LossName, RoundSums
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set

Reduction = Literal["sag", "saga", "svrg"]


def variance_reduced_pass(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    method: Reduction,
    penalty: float,
    shrinkage: float,
    step: float,
    inner: int,
    still: int,
    bias: int,
    bias_share: float,
    seed: int,
) -> None:
    """Moves every row towards the minimum of Σ_k ½(r_k − w·x_k)² + ½ (λ n + κ) ‖w‖², in `inner` · n rounds.

    λ is `penalty`, κ `shrinkage`, n the number of entries of the row, which are drawn with replacement. The step is
    step/L with L = max ‖x_k‖² + λ + κ/n. Column `still` of the moving rows stays 1, column `bias` is held by
    `bias_share` ≤ 1 of that penalty; −1 for none.
    """
    _native.variance_reduced_pass(
        rows.pattern,
        rows.values,
        moving,
        fixed,
        method,
        penalty,
        shrinkage,
        step,
        inner,
        still,
        bias,
        bias_share,
        seed,
        get_threads(),
        instruction_set(),
    )


def full_gradient(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    gradient: NDArray[np.float32],
    loss: LossName,
    width: float,
    penalty: float,
    shrinkage: float,
) -> RoundSums:
    """Writes the gradient of Σ_k ℓ(r_k − w·x_k) + ½ (λ n + κ) ‖w‖² of every row w; returns the sums of the losses."""
    return RoundSums(
        *_native.full_gradient(
            rows.pattern,
            rows.values,
            moving,
            fixed,
            gradient,
            loss,
            width,
            penalty,
            shrinkage,
            get_threads(),
            instruction_set(),
        )
    )
