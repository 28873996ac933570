"""Rows of a sparse matrix that are like each other, and what they say. `own` are the rows, `other` the columns.

The matrix comes by its rows and by its columns, with the same entries. A row of neighbours begins with the nearest and
is filled up with −1.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set

Similarity = Literal["cosine", "pearson", "inverse-euclidean"]
Weighing = Literal["equal", "similarity", "learned"]


class Near(NamedTuple):
    """The neighbours of every row, nearest first, then −1, and a number for each: a similarity or a weight."""

    indices: NDArray[np.int32]
    weights: NDArray[np.float32]


class Voices(NamedTuple):
    """How neighbours are combined: at most k of them, with which weights, and the pull of their sum towards zero."""

    k: int
    weighing: Weighing
    penalty: float


def similar_rows(
    by_own: Rows,
    by_other: Rows,
    rows: NDArray[np.int32],
    *,
    similarity: Similarity,
    min_support: int,
    shrinkage: float,
    keep: int,
) -> Near:
    """The `keep` most similar rows of each of `rows`, over the n columns that both have.

        cosine             Σ x y / √(Σ x² Σ y²)
        pearson            the same of x and y less their means over these columns
        inverse-euclidean  1 / (1 + √Σ (x − y)²)

    each times n / (n + shrinkage). Rows with fewer columns in common, or a similarity of zero or less, are none.
    """
    return Near(
        *_native.similar_rows(
            by_own.pattern,
            by_own.values,
            by_other.pattern,
            by_other.values,
            rows,
            similarity,
            min_support,
            shrinkage,
            keep,
            get_threads(),
            instruction_set(),
        )
    )


def neighbour_weights(by_own: Rows, by_other: Rows, near: Near, k: int, penalty: float) -> NDArray[np.float32]:
    """For each row the w of min Σ (e − Σ w e')² + penalty ‖w‖² over its entries e, e' those of the k nearest neighbours
    that have one in the same column."""
    return _native.neighbour_weights(
        by_own.pattern,
        by_own.values,
        by_other.pattern,
        by_other.values,
        near.indices,
        near.weights,
        k,
        penalty,
        get_threads(),
        instruction_set(),
    )


def neighbour_sums(
    by_other: Rows, near: Near, voices: Voices, rows: NDArray[np.int32], columns: NDArray[np.int32]
) -> NDArray[np.float32]:
    """For pairs of row and column, Σ w e / (penalty + Σ w) over the k nearest neighbours of the row with an entry e in
    the column; Σ w e with learned weights. NaN where there is none."""
    if len(rows) != len(columns):
        raise ValueError(f"pairs have one column for each row, found {len(columns)} for {len(rows)}")
    order = np.argsort(columns, kind="stable")
    sums = np.empty(len(rows), np.float32)
    sums[order] = _native.neighbour_sums_of_pairs(
        by_other.pattern,
        by_other.values,
        *near,
        voices.k,
        voices.weighing,
        voices.penalty,
        rows[order],
        columns[order],
        get_threads(),
        instruction_set(),
    )
    return sums


def neighbour_sums_of_columns(
    by_other: Rows, near: Near, voices: Voices, speaks_to: Rows, columns: NDArray[np.int32]
) -> NDArray[np.float32]:
    """The same for every row in each of `columns`, one row of the result per column. `speaks_to` is `near` by
    neighbour: whose neighbour each row is, with the weights."""
    return _sums_of_all(by_other, near, voices, speaks_to, columns, of_rows=False)


def neighbour_sums_of_rows(
    by_other: Rows, near: Near, voices: Voices, by_own: Rows, rows: NDArray[np.int32]
) -> NDArray[np.float32]:
    """The same for every column in each of `rows`."""
    return _sums_of_all(by_other, near, voices, by_own, rows, of_rows=True)


def _sums_of_all(
    by_other: Rows, near: Near, voices: Voices, along: Rows, which: NDArray[np.int32], *, of_rows: bool
) -> NDArray[np.float32]:
    return _native.neighbour_sums_of_all(
        by_other.pattern,
        by_other.values,
        *near,
        voices.k,
        voices.weighing,
        voices.penalty,
        along.pattern,
        along.values,
        which,
        of_rows,
        get_threads(),
        instruction_set(),
    )
