"""NumPy twins of the neighbours: the same signatures, equal up to rounding."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.neighbours import Near, Similarity, Voices
from rankfill.kernels.rows import Rows


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
    table = _dense(by_own, by_other.n_rows)
    near = Near(np.full((len(rows), keep), -1, np.int32), np.zeros((len(rows), keep), np.float32))
    for place, row in enumerate(rows.tolist()):
        found = []
        for other in range(len(table)):
            common = ~np.isnan(table[row]) & ~np.isnan(table[other])
            support = int(common.sum())
            if other == row or support < min_support:
                continue
            value = _similarity(table[row, common], table[other, common], similarity) * support / (support + shrinkage)
            if value > 0:
                found.append((-value, other))
        for i, (value, other) in enumerate(sorted(found)[:keep]):
            near.indices[place, i], near.weights[place, i] = other, -value
    return near


def _similarity(x: NDArray[np.float64], y: NDArray[np.float64], kind: Similarity) -> float:
    if kind == "inverse-euclidean":
        return 1 / (1 + float(np.linalg.norm(x - y)))
    if kind == "pearson":
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            return 0.0
        x, y = x - x.mean(), y - y.mean()
    sizes = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / sizes if sizes > 0 else 0.0


def neighbour_weights(by_own: Rows, by_other: Rows, near: Near, k: int, penalty: float) -> NDArray[np.float32]:
    table = _dense(by_own, by_other.n_rows)
    weights = np.zeros(near.indices.shape, np.float32)
    for row, indices in enumerate(near.indices):
        there = indices[indices >= 0]
        columns = np.flatnonzero(~np.isnan(table[row]))
        said = table[there][:, columns].T
        heard = ~np.isnan(said)
        heard &= np.cumsum(heard, axis=1) <= k
        said = np.where(heard, said, 0.0)
        system = said.T @ said + penalty * np.eye(len(there))
        weights[row, : len(there)] = np.linalg.lstsq(system, said.T @ table[row, columns])[0]
    return weights


def neighbour_sums(
    by_other: Rows, near: Near, voices: Voices, rows: NDArray[np.int32], columns: NDArray[np.int32]
) -> NDArray[np.float32]:
    table = _dense(by_other, len(near.indices)).T
    sums = np.full(len(rows), np.nan, np.float32)
    for t, (row, column) in enumerate(zip(rows, columns, strict=True)):
        heard = [i for i, other in enumerate(near.indices[row]) if other >= 0 and not np.isnan(table[other, column])]
        heard = heard[: voices.k]
        if heard:
            entries = table[near.indices[row, heard], column]
            weights = near.weights[row, heard].astype(np.float64)
            weights = np.ones(len(heard)) if voices.weighing == "equal" else weights
            total = 1.0 if voices.weighing == "learned" else voices.penalty + weights.sum()
            sums[t] = weights @ entries / total
    return sums


def _dense(rows: Rows, n_columns: int) -> NDArray[np.float64]:
    table = np.full((rows.n_rows, n_columns), np.nan)
    table[rows.row_of_entry(), rows.indices] = rows.values
    return table
