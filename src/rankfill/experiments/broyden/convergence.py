"""Broyden updates, Figure 1: error of OMF-B and of SGMF against time, and against the columns seen.

Columns are drawn at random with replacement, as in Algorithm 1. A draw is a column of its own here, so that one pass
over n draws is n steps of the algorithm; C and the x of the pictures drawn are handed on, as the start of the next
pass. (For OMF-B x does not matter: it is found anew at every step.) The error is over all pixels, every picture with
its best x. The paper: "SGMF processes the data set in much less time, but we achieve a lower error in the same time",
and "our algorithm uses samples more efficiently".
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.faces import Holes, find_pictures
from rankfill.experiments.frame import Asked, Line, Records, Result

NOTES = """
The paper's first observation, that SGMF goes through the data in much less time, is not found here. Every round is a
fit of its own, of one pass, and for SGMF most of its time goes into getting 1.2 million pixels ready. The second is
found: OMF-B makes more of each column.
"""


def run(asked: Asked) -> Result:
    pictures, words = find_pictures(asked)
    holes = Holes.at_random(pictures, 0.25, seed=0)
    known = np.where(holes.known, holes.pictures, np.nan).T  # one row per picture: pictures are the users
    rank, rounds = asked.choose(30, 4), asked.choose(30, 10)
    records = []
    for name in ("OMF-B", "SGMF"):
        asked.say(name)
        records += _follow(name, known, holes.pictures.T, rank, rounds)
    last = {each["method"]: each for each in records}
    lines = [
        Line(
            f"{name}: error after {each['columns']:,} columns",
            "lower" if name == "OMF-B" else "higher, in less time",
            f"{each['error']:.4f} in {each['seconds']:.2f} s",
        )
        for name, each in last.items()
    ]
    return Result(words, lines, {"curves": records}, {"figure-1": _draw(records)}, NOTES)


def _follow(name: str, known: Any, whole: Any, rank: int, rounds: int) -> list[dict[str, Any]]:
    """Makes as many draws per round as there are pictures."""
    rng, n = np.random.default_rng(1), len(known)
    everything = rf.Ratings.from_dense(known)
    C = rng.random((known.shape[1], rank)) * np.sqrt(np.sqrt(np.nanmean(known**2)) / rank)
    X, records, seconds = np.zeros((n, rank)), [], 0.0
    for number in range(1, rounds + 1):
        drawn = rng.integers(n, size=n)
        settings: dict[str, Any] = {
            "rank": rank,
            "side": "users",
            "biases": False,
            "passes": 1,
            "tol": None,
            "clip": False,
        }
        model: Any = rf.Broyden(penalty=2.0, **settings) if name == "OMF-B" else _gradient(number, settings)
        model.fit(rf.Ratings.from_dense(known[drawn]), init=(X[drawn], C))
        X[drawn] = model.user_factors_
        C, seconds = model.item_factors_, seconds + model.history_[-1].seconds
        error = float(np.sqrt(np.mean((model.fold_in(everything) @ C.T - whole) ** 2)))
        records.append({"method": name, "columns": number * n, "seconds": seconds, "error": error})
    return records


def _gradient(number: int, settings: dict[str, Any]) -> rf.SGMF:
    return rf.SGMF(rate=0.5 / number**0.5, **settings)


def _draw(records: Records) -> Figure:
    figure, axes = panels(2)
    for panel, (key, words) in zip(
        axes, {"seconds": "seconds of learning", "columns": "columns seen"}.items(), strict=True
    ):
        for look, name in enumerate(("OMF-B", "SGMF")):
            own = [each for each in records if each["method"] == name]
            line(panel, [each[key] for each in own], [each["error"] for each in own], look, name)
        name_axes(panel, f"against {words}", words, "RMS error of the pixels", log="xy")
    return figure
