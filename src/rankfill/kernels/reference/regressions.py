"""NumPy twins of the regressions of items: the same signatures, the same numbers up to rounding."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rankfill.kernels.rows import Rows


def few_input_regressions(
    by_item: Rows,
    by_user: Rows,
    gram: NDArray[np.float32],
    places: NDArray[np.int32],
    penalty: float,
    keep: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32], float]:
    columns, inputs = _dense(by_item, by_user.n_rows).T, _dense(by_user, len(gram))
    lower = np.tril(gram).astype(np.float64)
    whole = lower + np.tril(lower, -1).T
    norms = np.sqrt(np.diagonal(whole))
    shape = by_item.n_rows, keep
    sources, weights = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    explained = 0.0
    for item, place in enumerate(places):
        together = inputs.T @ columns[:, item]
        if place >= 0:
            together[place] = 0
        some = np.flatnonzero(together)
        strength = np.abs(together[some]) / norms[some]
        chosen = np.sort(some[np.argsort(-strength, kind="stable")[:keep]])
        found = np.linalg.solve(whole[np.ix_(chosen, chosen)] + penalty * np.eye(len(chosen)), together[chosen])
        sources[item, : len(chosen)], weights[item, : len(chosen)] = chosen, found
        explained += float(found @ together[chosen])
    return sources, weights, explained


def rater_regressions(
    by_item: Rows,
    by_user: Rows,
    features: NDArray[np.float32],
    penalty: float,
    effect_penalty: float,
    *,
    logistic: bool,
    everyone: bool,
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    n_items, n_features = by_item.n_rows, features.shape[1]
    inputs = np.hstack([_dense(by_user, n_items), features.astype(np.float64)])
    weights, effects = np.zeros((n_items, n_items), np.float32), np.zeros((n_items, n_features), np.float32)
    held = np.repeat([penalty, effect_penalty], [n_items, n_features])
    total = 0.0
    for item in range(n_items):
        own = slice(by_item.indptr[item], by_item.indptr[item + 1])
        users, targets = by_item.indices[own], by_item.values[own].astype(np.float64)
        if everyone:
            all_targets = np.full(by_user.n_rows, -1.0)
            all_targets[users] = targets
            users, targets = np.arange(by_user.n_rows, dtype=np.int32), all_targets
        rows = inputs[users].copy()
        rows[:, item] = 0

        def value(
            point: NDArray[np.float64], rows: NDArray[np.float64] = rows, targets: NDArray[np.float64] = targets
        ) -> tuple[float, NDArray[np.float64]]:
            if not logistic:
                misses = rows @ point - targets
                return float(0.5 * misses @ misses + 0.5 * held @ point**2), rows.T @ misses + held * point
            margins = targets * (rows @ point)
            slopes = -targets / (1 + np.exp(margins))
            return np.logaddexp(0, -margins).sum() + 0.5 * held @ point**2, rows.T @ slopes + held * point

        found = minimize(value, np.zeros(len(held)), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-8})
        weights[:, item], effects[item] = found.x[:n_items], found.x[n_items:]
        total += float(found.fun)
    return weights, effects, total


def _dense(rows: Rows, n_columns: int) -> NDArray[np.float64]:
    matrix = np.zeros((rows.n_rows, n_columns))
    matrix[rows.row_of_entry(), rows.indices] = rows.values
    return matrix
