"""NumPy twins of the row gradient kernels. They compute in the dtype of the rows, so that float64 can be asked for."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.gradients import GradientRule, LossName, RoundSums
from rankfill.kernels.reference import dot, row_order
from rankfill.kernels.reference_gradients import slope, value
from rankfill.kernels.row_gradients import Reduction
from rankfill.kernels.rows import Rows


def variance_reduced_pass(
    rows: Rows,
    moving: NDArray[Any],
    fixed: NDArray[Any],
    memory: NDArray[Any],
    method: Reduction,
    penalty: float,
    shrinkage: float,
    step: float,
    inner: int,
    still: int,
    seed: int,
) -> None:
    real = moving.dtype.type
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        w, e, x = moving[row], memory[begin:end], fixed[rows.indices[begin:end]]
        n, targets = int(end - begin), rows.values[begin:end].astype(real)
        if n == 0:
            continue
        held = real(np.float32(penalty)) + real(np.float32(shrinkage)) / real(n)
        lipschitz = max(dot(each, each) for each in x) + held
        if not lipschitz > 0:
            continue
        share, eta = real(1) / real(n), real(np.float32(step)) / lipschitz
        keep = real(1) - eta * held
        for turn in range(inner):
            mean = np.zeros_like(w)
            for k in range(n):
                if method == "svrg":
                    e[k] = targets[k] - dot(w, x[k])
                mean += share * e[k] * x[k]
            for k in row_order(seed + turn, row, n):
                now = targets[k] - dot(w, x[k])
                change = now - e[k]
                w *= keep
                if method == "sag":
                    mean += share * change * x[k]
                    w += eta * mean
                else:
                    w += eta * change * x[k]
                    w += eta * mean
                if method == "saga":
                    mean += share * change * x[k]
                if method != "svrg":
                    e[k] = now
                if still >= 0:
                    w[still] = 1


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
    rule = GradientRule(rank=1, loss=loss, width=width)
    total = [0.0, 0.0, 0.0]
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        w, sums = moving[row], [0.0, 0.0, 0.0]
        gradient[row] = 0
        for k in range(begin, end):
            x, target = fixed[rows.indices[k]], rows.values[k]
            e = target - dot(w, x)
            terms = value(rule, target, e), float(e) * float(e), abs(float(e))
            sums = [a + b for a, b in zip(sums, terms, strict=True)]
            gradient[row] += -slope(rule, target, e) * x
        gradient[row] += (np.float32(penalty) * np.float32(end - begin) + np.float32(shrinkage)) * w
        total = [a + b for a, b in zip(total, sums, strict=True)]
    return RoundSums(*total)
