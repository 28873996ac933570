"""Chooses a setting by trial: learn from some of the ratings, measure the error on others, take the best.

    choose_held_out   fits each candidate to one part of the ratings and scores it on the rest
    keep_aside        only makes the parts, for a caller whose single fit tries all candidates
    search            only runs the loop, for a caller with an error of its own (cross-validation, warm starts)

The part kept aside depends on the ids and the seed alone (`hashed_folds`), so a rating that comes twice is on one side.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.folds import hashed_folds
from rankfill.data.submatrix import some_users
from rankfill.models.base.training import ended_by_interruption
from rankfill.objectives.measures import MEASURES, Measure

Predict = Callable[[Ratings], NDArray[np.floating]]
"""Predictions for the pairs of some ratings: `model._predict_ratings` of a fitted model."""

Until = Literal["worse", "good"]


class Search(NamedTuple):
    """The candidates that were tried with their errors, in order; `best` is the place of the least error."""

    values: list[float]
    errors: list[float]
    best: int


def choose_held_out(
    ratings: Ratings,
    candidates: Iterable[float],
    learn: Callable[[float, Ratings], Predict],
    *,
    baseline: Callable[[Ratings], Predict] | None = None,
    measures: tuple[Measure, ...] = ("rmse",),
    until: Until = "worse",
    sample: int = 500_000,
    aside: int = 5,
    scored: int = 1,
    seed: int = 0,
) -> float | None:
    """The candidate that predicts ratings kept aside best; None where there are too few ratings to keep any aside.

    Parameters
    ----------
    ratings : Ratings
        What the model is about to learn from.
    candidates : iterable of float
        The values to try, in order of preference.
    learn : callable
        ``learn(value, part)`` learns from a part of the ratings and returns the predictions.
    baseline : callable, optional
        ``baseline(part)`` does the same for what a candidate has to beat. Errors are relative to its error.
    measures : tuple of names of measures, default=("rmse",)
        What is measured; of several relative errors the largest counts.
    until : {"worse", "good"}, default="worse"
        "worse" ends the search at the first candidate that does worse than the best, once the baseline is beaten.
        "good" ends it at the first candidate that does not lose to the baseline.
    sample : int, default=500_000
        At most so many ratings are used, all ratings of users drawn at random.
    aside : int, default=5
        One rating in so many is kept aside.
    scored : int, default=1
        Where fewer ratings than this are kept aside, others are kept aside in further trials, up to every one once.
    seed : int, default=0
        Draws the users and the ratings kept aside.
    """
    parts = keep_aside(ratings, sample=sample, aside=aside, scored=scored, seed=seed)
    if not parts:
        return None
    kept_aside = np.concatenate([rest.values for _, rest in parts])

    def errors(learn_from: Callable[[Ratings], Predict]) -> list[float]:
        predicted = np.concatenate([learn_from(learned)(rest) for learned, rest in parts])
        return [MEASURES[measure](kept_aside, predicted) for measure in measures]

    with ended_by_interruption():
        to_beat = errors(baseline) if baseline is not None else []

        def relative_error(value: float) -> float:
            found = errors(partial(learn, value))
            if baseline is None:
                return max(found)
            return max(_ratio(*pair) for pair in zip(found, to_beat, strict=True))

        goal = math.inf if baseline is None else 1.0
        result = search(candidates, relative_error, good=goal if until == "good" else -math.inf, goal=goal)
    return result.values[result.best]


def keep_aside(
    ratings: Ratings, *, sample: int = 500_000, aside: int = 5, scored: int = 1, seed: int = 0
) -> list[tuple[Ratings, Ratings]]:
    """Makes pairs (learned from, kept aside); parameters mean what they do in `choose_held_out`.

    There are none where one part of the first pair would be empty.
    """
    some = some_users(ratings, sample, seed)
    fold, parts, total = hashed_folds(some, aside, seed), [], 0
    for each in range(aside):
        learned, rest = some.select(fold != each), some.select(fold == each)
        if min(len(learned), len(rest)) == 0:
            break
        parts.append((learned, rest))
        total += len(rest)
        if total >= scored:
            break
    return parts


def search(
    candidates: Iterable[float],
    error: Callable[[float], float],
    *,
    patience: int = 1,
    good: float = -math.inf,
    goal: float = math.inf,
) -> Search:
    """Tries candidates in order until no better one can be expected.

    It ends at an error of at most `good`; otherwise after `patience` candidates in a row that did worse than the best,
    once the best is below `goal`. An error that is not a number counts as infinite.
    """
    values: list[float] = []
    errors: list[float] = []
    best = 0
    for value in candidates:
        found = error(value)
        values.append(value)
        errors.append(math.inf if math.isnan(found) else found)
        best = len(errors) - 1 if errors[-1] < errors[best] else best
        if errors[-1] <= good or (errors[best] < goal and len(errors) - 1 - best >= patience):
            break
    return Search(values, errors, best)


def _ratio(error: float, before: float) -> float:
    return error / before if before > 0 else float(error > 0)
