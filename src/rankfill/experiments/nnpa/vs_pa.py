"""NN-PA, Figure 2: PA-I beside NN-PA-I over the regularisation C, both from the same non-negative starts.

The paper: five passes, five starts; "PA-I and NN-PA-I perform comparably when using the optimal C. However, NN-PA-I is
more robust with respect to the choice of C".
"""

from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

METHODS: dict[str, Literal["both", "none"]] = {"NN-PA-I": "both", "PA-I": "none"}
RANK, PASSES = 30, 5


def run(asked: Asked) -> Result:
    material = asked.material()
    caps = 10.0 ** np.arange(-4, 1.1, asked.choose(0.5, 1.0))
    train, test = rf.split(material.ratings, test=0.2, by="user", seed=0)
    records: list[dict[str, Any]] = []
    for seed in range(asked.choose(5, 2)):
        start = np.zeros((train.n_users, RANK)), np.random.default_rng(seed).random((train.n_items, RANK))
        for cap in caps:
            for method, nonnegative in METHODS.items():
                asked.say(f"start {seed + 1}, C = {cap:.3g}, {method}")
                settings: dict[str, Any] = {
                    "rank": RANK,
                    "recipe": "paper",
                    "passes": PASSES,
                    "tol": None,
                    "clip": False,
                }
                model = rf.PassiveAggressive(C=float(cap), nonnegative=nonnegative, seed=seed, **settings)
                error = rf.evaluate(model.fit(train, init=start), test)["nmae"]
                records.append({"method": method, "C": float(cap), "run": seed, "error": error})
    means = {method: [_mean(records, method, cap) for cap in caps] for method in METHODS}
    lines = [
        *(Line(f"{method}, best over C", "alike", f"{min(means[method]):.2f}") for method in METHODS),
        *(
            Line(f"{method}, worst over C above the best one's", words, f"{_worst_above(means[method]):.2f}")
            for method, words in {"NN-PA-I": "more robust", "PA-I": "less robust"}.items()
        ),
    ]
    return Result(material.words, lines, {"errors": records}, {"figure-2": _draw(records, caps, means)})


def _mean(records: Records, method: str, cap: float) -> float:
    return float(np.mean([each["error"] for each in records if (each["method"], each["C"]) == (method, cap)]))


def _worst_above(errors: list[float]) -> float:
    """The largest error for a C above the best one: what being too bold costs."""
    return max(errors[int(np.argmin(errors)) :])


def _draw(records: Records, caps: Any, means: dict[str, list[float]]) -> Figure:
    figure, (panel,) = panels(1, width=6)
    for look, method in enumerate(METHODS):
        own = [[each["error"] for each in records if (each["method"], each["C"]) == (method, cap)] for cap in caps]
        line(panel, caps, means[method], look, method, spread=np.std(own, axis=1))
    name_axes(panel, "PA-I and NN-PA-I, five passes", "C", "normalised absolute error, %", log="x")
    return figure
