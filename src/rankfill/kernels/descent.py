"""Steps of coordinate descent on residuals, and multiplicative updates."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set


def residuals(
    rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], offset: float
) -> NDArray[np.float32]:
    """(r − offset) − row·x of every entry; the same bits whichever side the rows are."""
    return _native.residuals(rows.pattern, rows.values, moving, fixed, offset, get_threads(), instruction_set())


def shift_residuals(
    rows: Rows, residuals: NDArray[np.float32], own: NDArray[np.float32], other: NDArray[np.float32], sign: float
) -> None:
    """residual ← residual + sign · own[row] · other[column]."""
    _native.shift_residuals(rows.pattern, residuals, own, other, sign, get_threads(), instruction_set())


def move_factor(
    rows: Rows,
    residuals: NDArray[np.float32],
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    penalty: float,
    *,
    by_count: bool,
    nonnegative: bool,
) -> None:
    """own[row] ← Σ residual · other / (penalty n^w + Σ other²), at least 0 if `nonnegative`; empty rows stay."""
    _native.move_factor(
        rows.pattern,
        residuals,
        own,
        other,
        penalty,
        by_count,
        nonnegative,
        get_threads(),
        instruction_set(),
    )


def multiplicative_rows(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    start: NDArray[np.float32],
    penalty: float,
    shrinkage: float,
) -> None:
    """row ← row ∘ (Σ r x + shrinkage · start) / (Σ (row·x) x + (penalty + shrinkage) · row).

    A factor whose denominator is zero stays, and so does a row without entries.
    """
    _native.multiplicative_rows(
        rows.pattern, rows.values, moving, fixed, start, penalty, shrinkage, get_threads(), instruction_set()
    )
