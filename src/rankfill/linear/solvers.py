"""Solvers of linear models on sparse features; a solver knows a problem, not an estimator.

    minimise over θ, b:  Σ_i ℓ(y_i, θ·x_i + b) + (penalty/2) ‖θ‖²

ℓ is ½(y − m)², or log(1 + exp(−y m)) for y = ±1. The intercept b is not penalised. With n rows, λ = penalty/n and L the
largest curvature of a row, c (‖x_i‖² + 1) + λ with c = 1 or, for the logistic loss, 1/4:

    exact   ridge regression by Cholesky or conjugate gradients; for the logistic loss Newton's method, each step of
            which is a ridge regression, halved until the objective falls
    sgd     steps η/(1 + ηλt), η = 1/L
    asgd    the mean of the iterates of sgd with steps η/(1 + ηλt)^¾ (Polyak, Ruppert), after one pass of sgd
    sag     steps 1/(16 L) after one pass of sgd (Le Roux, Schmidt, Bach 2012)
    saga    steps 1/(3 L), or 1/(2 (L + nλ)) where that is longer (Defazio, Bach, Lacoste-Julien 2014)
    svrg    steps 1/(10 L), 2 n of them after each full gradient (Johnson, Zhang 2013)

Rows are drawn uniformly with replacement: in a fixed order sag diverges on rows that are nearly parallel. Every step
costs as much as its row has entries (`lazy_linear.hpp`). The last three converge at a linear rate, and end when the
norm of the gradient is `tol` times that at zero; sgd and asgd make all the passes they are allowed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.special
from numpy.typing import NDArray

from rankfill.kernels import Rows
from rankfill.kernels.linear import LazyRule, LazyState, Loss
from rankfill.linalg.ridge import RidgePath

Solver = Literal["exact", "sgd", "asgd", "sag", "saga", "svrg"]
Floats = NDArray[np.float64]

_NEWTON_STEPS, _HALVINGS = 100, 40


@dataclass(frozen=True)
class Solution:
    """θ, b, how many passes over the rows they took, and the norm of the gradient there as a share of that at zero.

    Where sag and saga have not converged the norm is that of the gradient they remember, an estimate.
    """

    coefficients: Floats
    intercept: float
    n_passes: int
    gradient: float


class Problem:
    """Sparse rows, a target for each, a loss and a penalty."""

    def __init__(self, features: Any, targets: Floats, loss: Loss, penalty: float, intercept: bool = True) -> None:
        self.features = features  # CSR of float64, sorted
        self.targets = np.ascontiguousarray(targets, dtype=np.float64)
        self.loss: Loss = loss
        self.penalty = float(penalty)
        self.intercept = intercept
        self.n_rows, self.n_features = (int(n) for n in features.shape)

    def objective(self, coefficients: Floats, intercept: float) -> float:
        margins = self.features @ coefficients + intercept
        if self.loss == "squared":
            total = 0.5 * float(np.square(self.targets - margins).sum())
        else:
            total = float(np.logaddexp(0.0, -self.targets * margins).sum())
        return total + 0.5 * self.penalty * float(coefficients @ coefficients)

    def slopes(self, coefficients: Floats, intercept: float) -> Floats:
        """ℓ' of every row."""
        margins: Floats = self.features @ coefficients + intercept
        if self.loss == "squared":
            return margins - self.targets
        found: Floats = -self.targets * scipy.special.expit(-self.targets * margins)
        return found

    def gradient(self, coefficients: Floats, intercept: float) -> tuple[Floats, float]:
        slopes = self.slopes(coefficients, intercept)
        return self.features.T @ slopes + self.penalty * coefficients, float(slopes.sum()) * self.intercept

    def size(self, gradient: tuple[Floats, float]) -> float:
        return float(np.hypot(np.linalg.norm(gradient[0]), gradient[1]))

    def curvature(self) -> float:
        """L, of the mean objective."""
        matrix = self.features
        squares = type(matrix)((matrix.data**2, matrix.indices, matrix.indptr), shape=matrix.shape) @ np.ones(
            self.n_features
        )
        share = 1.0 if self.loss == "squared" else 0.25
        largest = float(np.max(squares, initial=0.0))
        return share * (largest + self.intercept) + self.penalty / self.n_rows


def solve(problem: Problem, solver: Solver, *, passes: int = 1000, tol: float = 1e-6, seed: int = 0) -> Solution:
    """The minimum, or what the solver has found of it after so many passes."""
    zero = problem.size(problem.gradient(np.zeros(problem.n_features), 0.0)) or 1.0
    size: float | None = None
    if solver == "exact":
        made, coefficients, intercept = _ridge(problem) if problem.loss == "squared" else _newton(problem, tol * zero)
    else:
        iterates, made = _iterates(problem, solver, tol * zero, seed), 0
        while made < passes and (size is None or size > tol * zero):
            made, coefficients, intercept, size = next(iterates)
    if size is None:
        size = problem.size(problem.gradient(coefficients, intercept))
    return Solution(coefficients, intercept, made, size / zero)


Iterate = tuple[int, Floats, float, float | None]


def _iterates(problem: Problem, solver: Solver, enough: float, seed: int) -> Iterator[Iterate]:
    """Passes made, θ, b and the norm of the gradient where that is known, again and again."""
    assert solver in get_args(Solver)
    run = _Run(problem, seed)
    if solver == "sgd":
        return run.descend("sgd")
    if solver == "asgd":
        return run.average()
    if solver == "svrg":
        return run.snapshots()
    return run.reduce(solver, enough)  # type: ignore[arg-type]


class _Run:
    """The stochastic solvers, which go on from one state."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.n = problem.n_rows
        self.decay = problem.penalty / self.n
        self.curvature = problem.curvature()
        matrix = problem.features
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
        self.values = np.ascontiguousarray(matrix.data, dtype=np.float64)
        self.rows = Rows(indptr, indices, np.broadcast_to(np.float32(0), indices.shape))  # only the pattern is read
        self.state = LazyState(self.n, problem.n_features)

    def run(self, rule: LazyRule, n_steps: int) -> int:
        return self.state.run(self.rows, self.values, self.problem.targets, rule, n_steps)

    def rule(self, method: Any, step: float, power: float = 1.0) -> LazyRule:
        step = min(step, 0.5 / self.decay) if self.decay else step
        return LazyRule(method, self.problem.loss, step, self.decay, power, self.problem.intercept, self.seed)

    def descend(self, method: Any) -> Iterator[Iterate]:
        rule = self.rule(method, 1.0 / self.curvature)
        for made in range(1, 2**31):
            self.run(rule, self.n)
            yield made, *self.state.iterate(method), None

    def average(self) -> Iterator[Iterate]:
        first = next(self.descend("sgd"))
        yield first
        self.state.restart(first[1], first[2])
        rule = self.rule("asgd", 1.0 / self.curvature, 0.75)
        for made in range(2, 2**31):
            self.run(rule, self.n)
            yield made, *self.state.mean_iterate(), None

    def reduce(self, method: Literal["sag", "saga"], enough: float) -> Iterator[Iterate]:
        made = 0
        step = max(1.0 / (3.0 * self.curvature), 0.5 / (self.curvature + self.n * self.decay))
        if method == "sag":
            step = 1.0 / (16.0 * self.curvature)
            made, coefficients, intercept, _ = next(self.descend("sgd"))
            self.state.restart(coefficients, intercept)
            self.take_gradient(coefficients, intercept)
            made += 1
        rule = self.rule(method, step)
        while True:
            self.run(rule, self.n)
            made += 1
            coefficients, intercept = self.state.iterate(method)
            # What the solver remembers tells the gradient without a pass; a pass confirms it.
            guess = self.n * (self.state.coordinates[:, 1] + self.decay * coefficients)
            size = self.problem.size((guess, self.n * self.state.shared[3] * self.problem.intercept))
            if size <= enough:
                made += 1
                size = self.problem.size(self.problem.gradient(coefficients, intercept))
            yield made, coefficients, intercept, size

    def snapshots(self) -> Iterator[Iterate]:
        made = 0
        rule = self.rule("svrg", 1.0 / (10.0 * self.curvature))
        coefficients, intercept = np.zeros(self.problem.n_features), 0.0
        while True:
            self.state.restart(coefficients, intercept)
            size = self.take_gradient(coefficients, intercept)
            made += 1
            yield made, coefficients, intercept, size
            self.run(rule, 2 * self.n)
            made += 2
            coefficients, intercept = self.state.iterate("svrg")

    def take_gradient(self, coefficients: Floats, intercept: float) -> float:
        """Remembers the slopes at a point and their mean gradient; returns the norm of the whole gradient there."""
        slopes = self.problem.slopes(coefficients, intercept)
        total: Floats = self.problem.features.T @ slopes
        self.state.slopes[:] = slopes
        self.state.coordinates[:, 1] = total / self.n
        self.state.shared[3] = slopes.mean() * self.problem.intercept
        of_intercept = float(slopes.sum()) * self.problem.intercept
        return self.problem.size((total + self.problem.penalty * coefficients, of_intercept))


def _ridge(problem: Problem) -> tuple[int, Floats, float]:
    found = _weighted_ridge(problem, problem.targets, None)
    return 1, *found


def _newton(problem: Problem, enough: float) -> tuple[int, Floats, float]:
    """Each step is the ridge regression of m + (y' − p) / p (1 − p), with weights p (1 − p)."""
    coefficients, intercept = np.zeros(problem.n_features), 0.0
    objective = problem.objective(coefficients, intercept)
    made, fallen = 0, np.inf
    while made < _NEWTON_STEPS and fallen > 1e-15 * abs(objective):
        made += 1
        margins = problem.features @ coefficients + intercept
        chance = scipy.special.expit(margins)
        weights = np.maximum(chance * (1.0 - chance), 1e-10)
        response = margins - problem.slopes(coefficients, intercept) / weights
        aim = _weighted_ridge(problem, response, weights)
        for halving in range(_HALVINGS):
            share = 0.5**halving
            tried = coefficients + share * (aim[0] - coefficients), intercept + share * (aim[1] - intercept)
            if (found := problem.objective(*tried)) <= objective:
                break
        fallen, (coefficients, intercept), objective = objective - found, tried, found
        if problem.size(problem.gradient(coefficients, intercept)) <= enough:
            break
    return made, coefficients, intercept


def _weighted_ridge(problem: Problem, targets: Floats, weights: Floats | None) -> tuple[Floats, float]:
    path = RidgePath(problem.features, targets[:, None], weights, intercept=problem.intercept)
    coefficients, intercept = path.solve(problem.penalty)
    return coefficients[:, 0], float(intercept[0])
