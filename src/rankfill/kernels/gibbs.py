"""Rows of a Bayesian factorisation drawn given the other side, and normal numbers by their place."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES, padded_copy
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set


@dataclass(frozen=True)
class OtherSide:
    """Rows that stay: their factors come first, their bias is in `bias_column`."""

    rows: NDArray[np.float32]
    bias_column: int


@dataclass(frozen=True)
class ThirdSide:
    """One more side: for every entry the number of its row."""

    side: OtherSide
    indices: NDArray[np.int32]


@dataclass(frozen=True)
class RowPosterior:
    """What a row (factors, bias) is drawn from, the other sides fixed: N(A⁻¹ c, A⁻¹) with

        A = Λ + α Σ x xᵀ,    c = Λ prior + α Σ x (r − bias of the other row),    x = (factors of the other row, 1)

    With a third side x has the sum of both other rows' factors, and from r both biases and the product of both rows'
    factors are taken. Λ has one row for each factor and one for the bias; `prior` is one row for all, or one for each.
    """

    rank: int
    bias_column: int
    noise_precision: float
    precision: NDArray[np.float64]
    prior: NDArray[np.float32]


def draw_rows(
    entries: Rows,
    moving: NDArray[np.float32],
    other: OtherSide,
    posterior: RowPosterior,
    key: int,
    *,
    means: NDArray[np.float32] | None = None,
    third: ThirdSide | None = None,
    numbers: NDArray[np.int32] | None = None,
) -> None:
    """Draws every row that has entries; what is drawn depends on the key and the number of the row.

    `means`, as large as `moving`, gets the means A⁻¹ c of the same rows. `numbers` are those of the rows where they are
    some of a larger matrix.
    """
    order = posterior.rank + 1
    precision = np.zeros((order, -(-order // LANES) * LANES))
    precision[:, :order] = posterior.precision
    prior = posterior.prior if posterior.prior.shape[1] % LANES == 0 else padded_copy(posterior.prior)
    _native.draw_rows(
        entries.pattern,
        entries.values,
        moving,
        other.rows,
        other.bias_column,
        None if third is None else third.indices,
        None if third is None else third.side.rows,
        0 if third is None else third.side.bias_column,
        posterior.rank,
        posterior.bias_column,
        posterior.noise_precision,
        precision,
        prior,
        key,
        means,
        numbers,
        get_threads(),
        instruction_set(),
    )


def normal_rows(key: int, n_rows: int, width: int) -> NDArray[np.float32]:
    """Standard normal numbers; a row depends on the key and its number."""
    return _native.normal_rows(key, n_rows, width, get_threads())
