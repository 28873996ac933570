"""Evaluates a fitted model on ratings by any measure: errors of predictions and measures of lists."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked
from rankfill.models.base.lists import chunks, list_scores, mean_of
from rankfill.objectives.measures import MEASURES, ErrorSums, Measure
from rankfill.objectives.scores import PREDICTION, Score, parse_score
from rankfill.objectives.top_share import top_share

if TYPE_CHECKING:
    from rankfill.models.base.model import Model


def error_of(model: "Model", test: Ratings, measure: str, liked: Liked) -> float:
    """The value of any measure on ratings that the model has not learned from."""
    if measure == model.measure:
        return model._error(test)
    score = parse_score(measure)
    return scores_of(model, test, [score], liked)[score]


def scores_of(
    model: "Model", test: Ratings, wanted: Sequence[Score], liked: Liked, learned: NDArray[np.bool_] | None = None
) -> dict[Score, float]:
    """The value of each measure; `learned` tells which test ratings the model has learned from, by default none."""
    view = model._view()
    predicted = [score for score in wanted if score.name in PREDICTION]
    listed = [score for score in wanted if score.name not in PREDICTION]
    values = _prediction_scores(view, test, predicted) if predicted else {}
    if listed:
        known = np.zeros(len(test), dtype=bool) if learned is None else learned
        values |= list_scores(view, test, listed, liked, known)
    return values


def _prediction_scores(model: "Model", test: Ratings, wanted: Sequence[Score]) -> dict[Score, float]:
    if len(test) == 0:
        return dict.fromkeys(wanted, math.nan)
    sums: dict[Score, ErrorSums] = {score: ErrorSums() for score in wanted}
    shares: list[NDArray[np.float64]] = []
    of_top5 = [score for score in wanted if score.name not in MEASURES]
    for piece in test.pieces():
        predictions = model._predict_ratings(piece)
        for score in wanted:
            if score not in of_top5:
                sums[score] = sums[score].plus(ErrorSums.of(score.name, piece.values, predictions))  # type: ignore[arg-type]
        shares += top_shares(piece, predictions) if of_top5 else []
    values = {score: each.error(score.name) for score, each in sums.items() if score not in of_top5}  # type: ignore[arg-type]
    return values | {score: mean_of(shares) for score in of_top5}


def prediction_errors(model: "Model", ratings: Ratings, measures: Sequence[Measure]) -> list[float]:
    """Errors of predictions, summed over one piece of the ratings at a time."""
    values = _prediction_scores(model, ratings, [Score(measure) for measure in measures])
    return list(values.values())


def top_shares(test: Ratings, predictions: NDArray[np.float32]) -> list[NDArray[np.float64]]:
    """The share of each user that "top5" is the mean of."""
    shares = []
    for users, entries in chunks(test):
        rows = test.by_user.block(users)
        shares.append(top_share(rows.indptr, rows.values, predictions[entries]))
    return shares
