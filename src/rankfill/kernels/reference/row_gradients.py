"""NumPy twins of the row gradient kernels. They compute in the dtype of the rows, so that float64 can be asked for."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.gradients import GradientRule, LossName, RoundSums
from rankfill.kernels.reference.gradients import slope, value
from rankfill.kernels.reference.lanes import dot
from rankfill.kernels.reference.row_draws import row_draws
from rankfill.kernels.row_gradients import Reduction
from rankfill.kernels.rows import Rows


def variance_reduced_pass(
    rows: Rows,
    moving: NDArray[Any],
    fixed: NDArray[Any],
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
    real = moving.dtype.type
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        w, x = moving[row], fixed[rows.indices[begin:end]]
        n, targets = int(end - begin), rows.values[begin:end].astype(real)
        if n == 0:
            continue
        held = real(np.float32(penalty)) + real(np.float32(shrinkage)) / real(n)
        lipschitz = max(dot(each, each) for each in x) + held
        if not lipschitz > 0:
            continue
        share, eta = real(1) / real(n), real(np.float32(step)) / lipschitz
        pull = np.full_like(w, held)
        if bias >= 0:
            pull[bias] = real(np.float32(bias_share)) * held
        keep = real(1) - eta * pull
        e, mean, less, met = np.empty(n, real), np.empty_like(w), np.zeros_like(w), np.zeros(n, bool)
        for t, k in enumerate(row_draws(seed, row, n, inner * n)):
            if t == 0 or (method == "svrg" and t % n == 0):
                mean[:] = 0
                for j in range(n):
                    e[j] = targets[j] - dot(w, x[j])
                    mean += share * e[j] * x[j]
                if method == "sag":
                    less[:], mean[:] = mean - pull * w, pull * w
            now = targets[k] - dot(w, x[k])
            change = now - e[k]
            w *= keep
            if method == "sag":
                mean += share * change * x[k]
                if not met[k]:
                    mean += share * less
                met[k] = True
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
