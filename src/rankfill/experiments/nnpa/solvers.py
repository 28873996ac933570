"""NN-PA, Figure 1: three ways to solve the update of NN-PA-I, error against time for a small and a large C.

The paper: 4/5 of each user's ratings train, rank 30, P = 0 and Q random, five runs; "when C is small, the different
methods perform comparably"; when it is large "solving the sub-problem exactly is slower and does not reduce the error".
Bisection is the paper's Algorithm 2 (`root="published-bisection"`).
"""

from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result, mean_and_spread

Root = Literal["exact", "published-bisection", "approximate"]
ROOTS: dict[Root, str] = {"exact": "exact", "published-bisection": "bisection", "approximate": "approximate"}
CAPS = {"small": 0.01, "large": 1.0}
NOTES = """
Errors are as in the paper. In seconds the approximate update is ahead for the small C, too, by more than in the paper:
its rounds are alike, so that the rounds of several rows share the registers of the processor; a root is sought for one
row at a time, even where Lemma 3 ends the search at once.
"""


def run(asked: Asked) -> Result:
    material = asked.material()
    runs, passes = asked.choose(5, 2), asked.choose(10, 4)
    train, test = rf.split(material.ratings, test=0.2, by="user", seed=0)
    records: list[dict[str, Any]] = []
    for size, cap in CAPS.items():
        for root in ROOTS:
            for seed in range(runs):
                asked.say(f"C = {cap:g}, {root}, run {seed + 1}")
                settings: dict[str, Any] = {"recipe": "paper", "passes": passes, "tol": None, "clip": False}
                model = rf.PassiveAggressive(rank=30, C=cap, root=root, seed=seed, **settings)
                model.fit(train, validation=test, measure="nmae")
                records += [
                    {"C": size, "root": root, "run": seed, "pass": each.epoch}
                    | {"seconds": each.seconds, "error": each.validation}
                    for each in model.history_
                ]
    return Result(material.words, _lines(records, passes), {"curves": records}, {"figure-1": _draw(records)}, NOTES)


def _curve(records: Records, size: str, root: Root) -> tuple[Any, Any, list[float]]:
    """Mean seconds and errors after each pass, and the errors after the last."""
    own = [each for each in records if (each["C"], each["root"]) == (size, root)]
    by_pass = [[each for each in own if each["pass"] == epoch] for epoch in sorted({each["pass"] for each in own})]
    seconds, errors = (
        np.array([np.mean([each[key] for each in part]) for part in by_pass]) for key in ("seconds", "error")
    )
    return seconds, errors, [each["error"] for each in by_pass[-1]]


def _lines(records: Records, passes: int) -> list[Line]:
    words = {"small": "all three alike", "large": "exact and bisection no better, and slower"}
    lines = []
    for size, cap in CAPS.items():
        for root in ROOTS:
            seconds, _, last = _curve(records, size, root)
            ours = f"{mean_and_spread(last)} in {seconds[-1]:.2f} s"
            lines.append(Line(f"C = {cap:g}, {ROOTS[root]}, error after {passes} passes", words[size], ours))
    return lines


def _draw(records: Records) -> Figure:
    figure, axes = panels(2)
    for panel, (size, cap) in zip(axes, CAPS.items(), strict=True):
        for look, root in enumerate(ROOTS):
            seconds, errors, _ = _curve(records, size, root)
            line(panel, seconds, errors, look, ROOTS[root])
        name_axes(panel, f"{size} C = {cap:g}", "training time, seconds", "normalised absolute error, %", log="x")
    return figure
