"""The NumPy twin of `lazy_linear.hpp`, one step at a time, in the order of the kernel."""

import math

import numpy as np

from rankfill.kernels.linear import LazyRule, LazyState
from rankfill.kernels.reference.row_order import GOLDEN, WORD, mix
from rankfill.kernels.rows import Rows

SMALLEST_SCALE = 1e-30


def row_of(seed: int, step: int, n: int) -> int:
    """The row of a step, drawn with replacement."""
    return (mix((seed + GOLDEN * (step + 1)) & WORD) >> 32) * n >> 32


def slope(rule: LazyRule, margin: float, target: float) -> float:
    """ℓ' at a margin."""
    return margin - target if rule.loss == "squared" else -target / (1.0 + math.exp(target * margin))


def lazy_steps(
    state: LazyState, rows: Rows, values: np.ndarray, targets: np.ndarray, rule: LazyRule, n_steps: int
) -> int:
    """`LazyState.run` in Python."""
    visits, n = 0, rows.n_rows
    for step in range(state.steps, state.steps + n_steps):
        row = row_of(rule.seed, step, n)
        visits += _step(state, rows, values, float(targets[row]), rule, row, step)
    state.steps += n_steps
    return visits


def _step(state: LazyState, rows: Rows, values: np.ndarray, target: float, rule: LazyRule, row: int, step: int) -> int:
    coordinates, n = state.coordinates, rows.n_rows
    scale, total, intercept, second = state.shared.tolist()
    begin, end = rows.indptr[row : row + 2].tolist()
    entries = [(int(rows.indices[k]), float(values[k])) for k in range(begin, end)]
    reduced = rule.method in ("sag", "saga", "svrg")
    sums = [0.0] * 4
    for k, (j, x) in enumerate(entries):
        if reduced:
            coordinates[j, 0] -= coordinates[j, 1] * (total - coordinates[j, 2])
        elif rule.method == "asgd":
            coordinates[j, 1] += coordinates[j, 0] * (total - coordinates[j, 2])
            coordinates[j, 2] = total
        sums[k & 3] += float(coordinates[j, 0]) * x
    found = slope(rule, scale * ((sums[0] + sums[1]) + (sums[2] + sums[3])) + intercept, target)
    change = found - float(state.slopes[row])
    eta = rule.step
    if not reduced:
        shrunk = 1.0 + rule.step * rule.decay * float(step)
        eta = rule.step / (shrunk if rule.power == 1.0 else math.pow(shrunk, rule.power))
    scale *= 1.0 - eta * rule.decay
    move = rule.step / scale if reduced else eta * found / scale
    if reduced:
        total += move
    for j, x in entries:
        beta, mean, _ = coordinates[j].tolist()
        part = change * x
        if not reduced:
            coordinates[j, 0] = beta - move * x
            continue
        if rule.method == "sag":
            mean += part * (1.0 / n)
            beta -= move * mean
        else:
            beta -= move * (part + mean)
            mean += part * (1.0 / n) if rule.method == "saga" else 0.0
        coordinates[j] = beta, mean, total
    if rule.intercept:
        if rule.method == "sag":
            second += change * (1.0 / n)
            intercept -= rule.step * second
        elif reduced:
            intercept -= rule.step * (change + second)
            second += change * (1.0 / n) if rule.method == "saga" else 0.0
        else:
            intercept -= eta * found
    if rule.method == "asgd":
        total += scale
        second += intercept
    if rule.method in ("sag", "saga"):
        state.slopes[row] = found
    state.shared[:] = scale, total, intercept, second
    return len(entries) + (_rescale(state, rule) if scale < SMALLEST_SCALE else 0)


def _rescale(state: LazyState, rule: LazyRule) -> int:
    beta, second, last = state.coordinates.T
    missed = state.shared[1] - last
    if rule.method == "asgd":
        second += beta * missed
    elif rule.method != "sgd":
        beta -= second * missed
    beta *= state.shared[0]
    last[:] = 0.0
    state.shared[:2] = 1.0, 0.0
    return len(beta)
