"""Primal–dual, Figures 1 and 2: the primal–dual method beside Jaggi and Sulovský's, against time and against rank.

The paper: MovieLens 10M, ten test ratings per user (split r_b), λ = 50, only the newest term moved, and for
Jaggi–Sulovský t = 30786, twice the trace norm of the optimum. Here λ = 50 for sets as large and 20 for smaller ones,
and the bound is again that of the optimum at the same λ, found by `TraceTradeoff`. "The test error of PD decreases
much faster than JS"; its objective and training error are "consistently lower".
"""

from typing import Any

from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels, whole_numbers
from rankfill.experiments.frame import Asked, Line, Records, Result
from rankfill.experiments.primal_dual._curves import follow, trace_norm

PD, JS = "PD, newest term", "JS"
LARGE = 5e6
NOTES = """
As in the paper, moving the newest term alone leaves the objective above the optimum for good, and Jaggi–Sulovský end
above it for long: their steps shrink all that was there before. `PrimalDual()` with nothing set moves all terms and
reaches the optimum. The paper shows curves and no figures, so that order and distance are all there is to compare.
"""
PANELS = (
    ("Figure 1a", "seconds", "test RMSE"),
    ("Figure 1b", "rank", "test RMSE"),
    ("Figure 2a", "seconds", "J"),
    ("Figure 2b", "seconds", "train RMSE"),
)


def run(asked: Asked) -> Result:
    material = asked.material()
    train, test = rf.split(material.ratings, test=10, by="user", seed=0)
    penalty, most = asked.choose(50.0 if len(train) > LARGE else 20.0, 8.0), asked.choose(60, 12)
    asked.say("the optimum")
    solved = rf.TraceTradeoff(penalty=penalty, offset="none", tol=1e-4, passes=50, clip=False).fit(train)
    bound = trace_norm(solved)
    common: dict[str, Any] = {"offset": "none", "tol": None, "passes": most, "clip": False}
    asked.say("primal–dual")
    records = follow(PD, rf.PrimalDual(penalty=penalty, schedule="newest", **common), train, test, most, penalty)
    asked.say("Jaggi–Sulovský")
    records += follow(JS, rf.JaggiSulovsky(trace=bound, **common), train, test, most, penalty)
    best = solved.history_[-1].objective
    middle = most // 4
    lines = [Line("trace norm of the optimum", "30786 / 2 (λ = 50, 10M)", f"{bound:.0f} (λ = {penalty:g})")]
    for rank in (middle, most):
        for name, words in ((PD, "lower"), (JS, "higher")):
            reached = [each for each in records if each["method"] == name and each["rank"] <= rank][-1]
            lines.append(Line(f"{name}, test RMSE at rank {rank}", words, f"{reached['test RMSE']:.4f}"))
    for name, words in ((PD, "lower"), (JS, "higher")):
        last = [each for each in records if each["method"] == name][-1]
        ours = f"{last['J'] / best:.4f} of the optimum after {last['seconds']:.1f} s"
        lines.append(Line(f"{name}, J at the end", words, ours))
    return Result(material.words, lines, {"curves": records}, {"figures-1-and-2": _draw(records)}, NOTES)


def _draw(records: Records) -> Figure:
    figure, axes = panels(2, 2)
    for panel, (title, below, left) in zip(axes, PANELS, strict=True):
        for look, name in enumerate((PD, JS)):
            own = [each for each in records if each["method"] == name]
            unit = 1000 if left == "J" else 1
            line(panel, [each[below] for each in own], [each[left] / unit for each in own], look, name)
        words = {"J": "objective J(W), thousands"}.get(left, left)
        name_axes(panel, title, "training time, seconds" if below == "seconds" else below, words)
        if below == "rank":
            whole_numbers(panel)
    return figure
