"""The value of any measure for a fitted model on ratings: errors of predictions and measures of lists."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked
from rankfill.models.base.lists import chunks, list_scores, mean_of
from rankfill.objectives.measures import MEASURES
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
    predictions = model._predicted(test)
    values = {}
    for score in wanted:
        if score.name in MEASURES:
            values[score] = MEASURES[score.name](test.values, predictions)
        else:
            values[score] = _top5(test, predictions)
    return values


def _top5(test: Ratings, predictions: NDArray[np.float32]) -> float:
    shares = []
    for users, entries in chunks(test):
        rows = test.by_user.block(users)
        shares.append(top_share(rows.indptr, rows.values, predictions[entries]))
    return mean_of(shares)
