"""Slides, cross-validation with SGD: V models in one stream beside classical V-fold, for the choice of a parameter.

The slides: "I don't load the full data in memory", so each record i belongs to fold i mod V, updates the models of
all other folds, and measures its own. Here that is done by i mod V and by a hash of user and item, over a grid of C
of `PassiveAggressive`, and the choice is compared with that of classical 5-fold cross-validation of the same passes.
"""

import time
from typing import Any

from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

FOLDS, PASSES = 5, 3
WAYS = {"V-fold": "classical", "place": "one stream, i mod V", "pair": "one stream, hash of the pair"}


def run(asked: Asked) -> Result:
    material = asked.material()
    ratings = material.ratings
    if len(ratings) > 150_000:
        ratings = rf.sample_submatrix(ratings, (1e5 / len(ratings)) ** 0.5, seed=0)
    caps = asked.choose((0.003, 0.01, 0.03, 0.1, 0.3, 1.0), (0.003, 0.03, 0.3))
    records: list[dict[str, Any]] = []
    for cap in caps:
        for way in WAYS:
            asked.say(f"C = {cap:g}, {WAYS[way]}")
            model, began = rf.PassiveAggressive(rank=8, C=cap, passes=PASSES, tol=None), time.process_time()
            if way == "V-fold":
                error = rf.cross_validate(model, ratings, folds=FOLDS, measure="mae").error
            else:
                by: Any = way
                error = rf.cross_validate_stream(model, ratings, folds=FOLDS, passes=PASSES, measure="mae", by=by).error
            records.append({"way": way, "C": cap, "error": error, "CPU seconds": time.process_time() - began})
    chosen = {way: min(_own(records, way), key=lambda each: float(each["error"])) for way in WAYS}
    seconds = {way: sum(each["CPU seconds"] for each in _own(records, way)) for way in WAYS}
    lines = [
        Line(
            f"{words}: C chosen",
            "" if way == "V-fold" else "the same",
            f"{chosen[way]['C']:g} (mae {chosen[way]['error']:.4f})",
            f"{seconds[way] / seconds['V-fold']:.2f} of the CPU time of classical V-fold",
        )
        for way, words in WAYS.items()
    ]
    words = f"{material.words}; here {len(ratings):,} of them"
    return Result(words, lines, {"errors": records}, {"errors": _draw(records)})


def _own(records: Records, way: str) -> list[dict[str, Any]]:
    return [each for each in records if each["way"] == way]


def _draw(records: Records) -> Figure:
    figure, (panel,) = panels(1, width=6)
    for look, (way, words) in enumerate(WAYS.items()):
        own = _own(records, way)
        line(panel, [each["C"] for each in own], [each["error"] for each in own], look, words)
    name_axes(panel, "The error that chooses C", "C", "mean absolute error", log="x")
    return figure
