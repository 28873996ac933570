"""Slides: gradient descent, SGD, ASGD, SAG, SAGA and SVRG, suboptimality against passes (Le Roux et al. 2012).

Ridge and ridge-logistic regression on sparse features, λ = 1/n. The slides state the rates: linear for full gradients
and for SAG, SAGA and SVRG, at a cost of one row per step for the latter; O(1/t) at best for SGD, with ASGD the
steadier. A pass is n steps; a full gradient is one pass. Each point is a fit of its own with so many passes.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

SOLVERS = ("gd", "sgd", "asgd", "sag", "saga", "svrg")
EXPECTED = {"gd": "linear, slow", "sgd": "1/t", "asgd": "1/t, steadier"}
LEAST = 1e-13


def run(asked: Asked) -> Result:
    n, d = asked.choose((5000, 500), (800, 60))
    passes = asked.choose((1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60), (1, 3, 10, 30))
    records: list[dict[str, Any]] = []
    for problem in ("ridge", "logistic"):
        X, y = _data(n, d, problem)
        best = _objective(problem, X, y, _fit(problem, "exact", X, y, 1).coef_)
        start = _objective(problem, X, y, np.zeros(d))
        for solver in SOLVERS:
            asked.say(f"{problem}, {solver}")
            for count in passes:
                found = _descent(problem, X, y, count) if solver == "gd" else _fit(problem, solver, X, y, count).coef_
                distance = (_objective(problem, X, y, found) - best) / (start - best)
                records.append({"problem": problem, "solver": solver, "passes": count, "suboptimality": distance})
    lines = [
        Line(
            f"{each['problem']}, {each['solver']}: share of the first distance left after {each['passes']} passes",
            EXPECTED.get(each["solver"], "linear, fast"),
            f"{max(each['suboptimality'], LEAST):.1e}",
        )
        for each in records
        if each["passes"] == passes[-1]
    ]
    words = f"synthetic: {n:,} rows of {d} sparse features"
    return Result(words, lines, {"rates": records}, {"rates": _draw(records)})


def _data(n: int, d: int, problem: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(n, d, density=min(1.0, 20 / d), format="csr", random_state=0, data_rvs=rng.standard_normal)
    X = X @ scipy.sparse.diags(1 / np.sqrt(1 + np.arange(d)))  # some directions count much more than others
    X = scipy.sparse.csr_matrix(X.multiply(1 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-12)))
    margins = X @ (3 * rng.standard_normal(d))
    if problem == "ridge":
        return X, margins + rng.standard_normal(n)
    return X, np.where(rng.random(n) < scipy.special.expit(margins), 1, -1)


def _fit(problem: str, solver: Any, X: Any, y: Any, passes: int) -> Any:
    estimator = rf.linear.SparseRegression if problem == "ridge" else rf.linear.SparseClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few passes are not enough, which is what is to be seen
        return estimator(penalty=1.0, solver=solver, fit_intercept=False, passes=passes, tol=1e-15).fit(X, y)


def _objective(problem: str, X: Any, y: Any, coefficients: Any) -> float:
    theta = np.ravel(coefficients)
    margins = X @ theta
    losses = 0.5 * (y - margins) ** 2 if problem == "ridge" else np.logaddexp(0, -y * margins)
    return float(losses.sum() + 0.5 * theta @ theta)


def _descent(problem: str, X: Any, y: Any, steps: int) -> Any:
    """Full gradient descent with the step 1/L, L the largest curvature."""
    largest = scipy.sparse.linalg.svds(X, 1, return_singular_vectors=False, random_state=0)[0] ** 2
    theta, step = np.zeros(X.shape[1]), 1 / ((1 if problem == "ridge" else 0.25) * largest + 1)
    for _ in range(steps):
        margins = X @ theta
        slopes = margins - y if problem == "ridge" else -y * scipy.special.expit(-y * margins)
        theta = theta - step * (X.T @ slopes + theta)
    return theta


def _draw(records: Records) -> Figure:
    figure, axes = panels(2, width=4.8, height=3.6)
    for panel, problem in zip(axes, ("ridge", "logistic"), strict=True):
        for look, solver in enumerate(SOLVERS):
            own = [each for each in records if (each["problem"], each["solver"]) == (problem, solver)]
            heights = [max(each["suboptimality"], LEAST) for each in own]
            line(panel, [each["passes"] for each in own], heights, look, solver.upper())
        name_axes(panel, problem, "passes over the data", "f − f*, relative to the start", log="y")
    return figure
