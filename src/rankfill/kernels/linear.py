"""Stochastic steps of a linear model on sparse rows, each at the cost of the entries of one row."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import instruction_set

Method = Literal["sgd", "asgd", "sag", "saga", "svrg"]
Loss = Literal["squared", "logistic"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LazyRule:
    """How to step: see `lazy_linear.hpp`."""

    method: Method
    loss: Loss
    step: float
    decay: float
    power: float = 1.0
    intercept: bool = True
    seed: int = 0


class LazyState:
    """The coordinates of a linear model in the middle of its steps, and the θ and b they stand for."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.coordinates: Floats = np.zeros((n_features, 3))
        self.shared: Floats = np.array([1.0, 0.0, 0.0, 0.0])
        self.slopes: Floats = np.zeros(n_rows)
        self.steps = self.started = 0

    def run(self, rows: Rows, values: Floats, targets: Floats, rule: LazyRule, n_steps: int) -> int:
        """Makes so many steps more; returns how many coordinates they visited."""
        first, self.steps = self.steps, self.steps + n_steps
        return _native.lazy_steps(
            rows.pattern,
            values,
            targets,
            self.coordinates,
            self.shared,
            self.slopes,
            first,
            self.steps,
            rule.method,
            rule.loss,
            rule.step,
            rule.decay,
            rule.power,
            rule.intercept,
            rule.seed,
            instruction_set(),
        )

    def iterate(self, method: Method) -> tuple[Floats, float]:
        """θ and b after the last step."""
        beta, second, last = self.coordinates.T
        scale, total, intercept, _ = self.shared
        if method in ("sag", "saga", "svrg"):
            beta = beta - second * (total - last)
        return scale * beta, float(intercept)

    def mean_iterate(self) -> tuple[Floats, float]:
        """The means of θ and b over the steps of the averaging method."""
        beta, second, last = self.coordinates.T
        n = max(self.steps - self.started, 1)
        return (second + beta * (self.shared[1] - last)) / n, float(self.shared[3]) / n

    def restart(self, coefficients: Floats, intercept: float) -> None:
        """Forgets all but θ, b and how many steps were made, by which rows are drawn and steps fall."""
        self.coordinates[:] = 0.0
        self.coordinates[:, 0] = coefficients
        self.shared[:] = 1.0, 0.0, intercept, 0.0
        self.slopes[:] = 0.0
        self.started = self.steps
