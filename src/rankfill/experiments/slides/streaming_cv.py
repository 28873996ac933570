"""Slides, cross-validation with SGD: V models in one stream beside classical V-fold, for the choice of λ.

The slides: "I don't load the full data in memory", so record i belongs to fold i mod V, updates the models of all
other folds, and measures its own. Here that is done by i mod V and by a hash of user and item. The classical way has
the same models learn by the same rounds, one fold after another, and measures each at its end on ratings kept from it:
the data go by V times as often.
"""

import time
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import clone

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

FOLDS, PASSES = 5, 3
WAYS = {"V-fold": "classical", "place": "one stream, i mod V", "pair": "one stream, hash of the pair"}


NOTES = """
Small λ differ by a ten-thousandth here, less than two ways to make folds do, so that the choice among them is one of
chance; a λ too large is told alike by all. One stream reads the data five times less often. It takes more CPU time:
models that learn batch by batch count, number and copy rows for every batch. It is for data that are slow to read or go
by only once, not for those that fit into memory.
"""


def run(asked: Asked) -> Result:
    material = asked.material()
    ratings = material.ratings
    if len(ratings) > 150_000:
        ratings = rf.sample_submatrix(ratings, (1e5 / len(ratings)) ** 0.5, seed=0)
    penalties = asked.choose((0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (0.03, 0.3, 3.0))
    records: list[dict[str, Any]] = []
    for penalty in penalties:
        for way in WAYS:
            asked.say(f"λ = {penalty:g}, {WAYS[way]}")
            model, began = rf.SGD(rank=8, penalty=penalty, shrinkage=0.0), time.process_time()
            error = _classical(model, ratings) if way == "V-fold" else _stream(model, ratings, way)
            records.append({"way": way, "λ": penalty, "error": error, "CPU seconds": time.process_time() - began})
    chosen = {way: min(_own(records, way), key=lambda each: float(each["error"])) for way in WAYS}
    seconds = {way: sum(each["CPU seconds"] for each in _own(records, way)) for way in WAYS}
    lines = [_line(records, way, chosen, seconds) for way in WAYS]
    words = f"{material.words}; here {len(ratings):,} of them"
    return Result(words, lines, {"errors": records}, {"errors": _draw(records)}, NOTES)


def _classical(model: rf.SGD, ratings: rf.Ratings) -> float:
    """One fold after another, each by a model that learns as the stream's do."""
    fold = np.random.default_rng(0).permutation(len(ratings)) % FOLDS
    errors = []
    for number in range(FOLDS):
        learner, train = clone(model), ratings.select(fold != number)
        for _ in range(PASSES):
            learner.partial_fit(train)
        errors.append(rf.evaluate(learner, ratings.select(fold == number), scores=["rmse"])["rmse"])
    return float(np.mean(errors))


def _stream(model: rf.SGD, ratings: rf.Ratings, by: Any) -> float:
    return rf.cross_validate_stream(model, ratings, folds=FOLDS, passes=PASSES, measure="rmse", by=by).error


def _line(records: Records, way: str, chosen: dict[str, Any], seconds: dict[str, float]) -> Line:
    """Adds the error that the classical way finds for the λ that was chosen."""
    penalty, error = chosen[way]["λ"], chosen[way]["error"]
    if way == "V-fold":
        return Line(f"{WAYS[way]}: λ chosen", "", f"{penalty:g} (RMSE {error:.4f})", f"{PASSES * FOLDS} readings per λ")
    there = next(each["error"] for each in _own(records, "V-fold") if each["λ"] == penalty)
    ours = f"{penalty:g} (RMSE {error:.4f}; {there:.4f} by the classical way)"
    cost = f"{PASSES} readings per λ, {seconds[way] / seconds['V-fold']:.2f} of the classical CPU time"
    return Line(f"{WAYS[way]}: λ chosen", "the same", ours, cost)


def _own(records: Records, way: str) -> list[dict[str, Any]]:
    return [each for each in records if each["way"] == way]


def _draw(records: Records) -> Figure:
    figure, (panel,) = panels(1, width=6)
    for look, (way, words) in enumerate(WAYS.items()):
        own = _own(records, way)
        line(panel, [each["λ"] for each in own], [each["error"] for each in own], look, words)
    name_axes(panel, "The error that chooses λ", "λ", "RMSE", log="x")
    return figure
