"""Slides, link with PCA: with every entry observed and λ = 0, the best factors are the truncated SVD.

"Solution is given by the SVD": every model that minimises the squared error over factors of a rank must come to the
same matrix, U_r Σ_r V_rᵀ, however it gets there. Told as ‖W − W_r‖/‖W_r‖.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import dots, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

RANK = 4


def models(passes: int) -> dict[str, Callable[[], Any]]:
    """No penalty, no biases, nothing clipped."""
    common: dict[str, Any] = {"rank": RANK, "passes": passes, "tol": None, "clip": False, "seed": 0}
    free: dict[str, Any] = {"penalty": 0.0, "biases": False}
    held: dict[str, Any] = {"penalty": 0.0, "shrinkage": 0.0, "biases": False}
    return {
        "ALS": lambda: rf.ALS(**free, **common),
        "CoordinateDescent": lambda: rf.CoordinateDescent(**free, **common),
        "GradientDescent": lambda: rf.GradientDescent(**held, **common),
        "SGD": lambda: rf.SGD(step="power", power=0.75, rate=0.1, **held, **common),
        "VarianceReduced": lambda: rf.VarianceReduced(**held, **common),
        "GECO": lambda: rf.GECO(rank=RANK, penalty=1e-6, offset="none", clip=False),
        "FAVA": lambda: rf.FAVA(variances=[1e4] * RANK, offset="none", passes=passes, tol=None, clip=False),
    }


def run(asked: Asked) -> Result:
    n, m = asked.choose((300, 200), (60, 40))
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((n, RANK)) @ np.diag([4.0, 3.0, 2.0, 1.0]) @ rng.standard_normal((RANK, m))
    whole = signal + 0.3 * rng.standard_normal((n, m))
    u, s, vt = np.linalg.svd(whole, full_matrices=False)
    truncated = (u[:, :RANK] * s[:RANK]) @ vt[:RANK]
    ratings = rf.Ratings.from_dense(whole)
    records = []
    for name, make in models(asked.choose(400, 150)).items():
        asked.say(name)
        model = make().fit(ratings)
        found = model.user_factors_.astype(np.float64) @ model.item_factors_.T
        distance = float(np.linalg.norm(found - truncated) / np.linalg.norm(truncated))
        records.append({"model": name, "distance": distance, "passes": len(model.history_)})
    lines = [
        Line(f"{each['model']}: distance to the truncated SVD", "0", f"{each['distance']:.1e}") for each in records
    ]
    words = f"synthetic: {n} × {m}, every entry observed, rank {RANK} and noise"
    return Result(words, lines, {"distances": records}, {"distances": _draw(records)})


def _draw(records: Records) -> Figure:
    figure, (panel,) = panels(1, width=6)
    dots(panel, {each["model"]: each["distance"] for each in records}, [0] * len(records), "{:.0e}")
    name_axes(panel, "How far from the truncated SVD", r"$\|W - W_r\| / \|W_r\|$", "", log="x", legend=False)
    return figure
