"""The NumPy twin of the conditional expectations of a Gaussian table: the same result to the bit."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.reference.lanes import dot

TASKS = 16


def fill_rows(values: NDArray[np.float64], precision: NDArray[np.float64]) -> NDArray[np.float64]:
    n_rows, n_columns = values.shape
    padding = (0, -n_columns % LANES)
    total = np.zeros(precision.shape)
    for task in range(TASKS):
        part = np.zeros(precision.shape)
        for row in range(n_rows * task // TASKS, n_rows * (task + 1) // TASKS):
            unknown = np.flatnonzero(np.isnan(values[row]))
            values[row, unknown] = 0.0
            known = np.pad(values[row], padding)
            sides = [-dot(np.pad(precision[column], padding), known) for column in unknown]
            solution, covariance = _sweep(precision[np.ix_(unknown, unknown)], np.array(sides))
            values[row, unknown] = solution
            part[np.ix_(unknown, unknown)] += covariance
        total += part
    return np.triu(total) + np.triu(total, 1).T


def _sweep(matrix: NDArray[np.float64], sides: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The solution and the inverse, by symmetric sweeps over the pivots; only the upper triangle counts."""
    order = len(matrix)
    system = np.column_stack([matrix, sides]) if order else np.zeros((0, 1))
    for k in range(order):
        pivot = np.concatenate([system[:k, k], system[k, k:]])
        inverse = 1.0 / pivot[k]
        factors = pivot[:order] * inverse
        system -= np.outer(factors, pivot)
        system[:k, k] = factors[:k]
        system[k, k:] = pivot[k:] * inverse
        system[k, k] = -inverse
    return system[:, order], -system[:, :order]
