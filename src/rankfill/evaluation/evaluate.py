"""Every measure of a fitted model on test ratings, in one table."""

import math
from collections.abc import Collection, Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.evaluation.metrics import find_hits, ndcg, precision, recall, top_share
from rankfill.kernels import Rows
from rankfill.models import Model
from rankfill.objectives.measures import MEASURES

PredictionScore = Literal["rmse", "mae", "nmae", "top5"]
RecommendationScore = Literal["ndcg", "precision", "recall", "coverage"]
Score = PredictionScore | RecommendationScore
SCORES: tuple[Score, ...] = get_args(PredictionScore) + get_args(RecommendationScore)

USERS_AT_A_TIME = 4096


def evaluate(
    model: Model,
    test: Ratings,
    *,
    n: int = 10,
    threshold: float | None = None,
    scores: Collection[Score] | None = None,
) -> dict[str, float]:
    """How well a fitted model predicts and ranks the test ratings, by name of the measure; NaN where none qualifies.

    - rmse, mae, nmae: how far predictions are from ratings, over all test ratings (`objectives.measures`).
    - top5: the share of a user's five best rated test items that are among the five predicted best of all test
      items of this user; mean over the users with at least five. Of exactly five the share is always 1. Equal
      ratings are as good as each other, equal predictions count with the mean over their orders
      (`metrics.top_share`).
    - ndcg, precision, recall: of the n items recommended to a user out of all items with a rating in training
      that this user has not rated there. Relevant are the test items rated `threshold` or more, by default
      the mean rating in training. The gain is 1 for a relevant item at place j, divided by log₂(j + 1), and the
      ideal has all places up to min(n, number of relevant items) relevant. Precision divides the hits by n, recall
      by the number of relevant items. Mean over the users with at least one relevant test item.
    - coverage: the share of the items with a rating in training that are in at least one of these lists.

    Users and items the model has not learned get its cold-start answer and count like any other. Relevant items
    that cannot be recommended, being new or rated by the same user in training, count as missed; so does a
    place that stays empty as fewer than n items are left. `scores` picks some of the measures: without those
    of recommendation, most of the time is saved.

    >>> import rankfill as rf
    >>> train = rf.Ratings.from_arrays(["ann", "ann", "bob", "cat"], ["tea", "milk", "tea", "beer"], [5, 3, 5, 1])
    >>> test = rf.Ratings.from_arrays(["bob", "cat", "dan"], ["milk", "tea", "tea"], [4, 4, 5])
    >>> result = evaluate(rf.Bias(shrinkage=0).fit(train), test, n=1)
    >>> {name: round(value, 2) for name, value in result.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'rmse': 0.82, 'mae': 0.67, 'nmae': 15.38, 'top5': nan, 'ndcg': 1.0, 'precision': 1.0, 'recall': 1.0,
     'coverage': 0.67}
    """
    wanted = _checked(model, test, n, threshold, scores)
    results: dict[str, float] = {}
    if not wanted.isdisjoint(get_args(PredictionScore)):
        results |= _prediction_scores(model, test)
    if not wanted.isdisjoint(get_args(RecommendationScore)):
        results |= _recommendation_scores(model, test, int(n), float(model.mean_ if threshold is None else threshold))
    return {name: value for name, value in results.items() if name in wanted}


def _checked(
    model: Model, test: Ratings, n: int, threshold: float | None, scores: Collection[Score] | None
) -> set[str]:
    """The names of the measures asked for."""
    if not isinstance(model, Model):
        raise TypeError(f"evaluate needs a rankfill model, found {type(model).__name__}")
    if not isinstance(test, Ratings):
        raise TypeError(f"a model is evaluated on Ratings, found {type(test).__name__}; use Ratings.from_…")
    model._check_fitted()
    if int(n) != n or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, found {n}")
    if threshold is not None and math.isnan(threshold):
        raise ValueError("threshold must be a number, found NaN; leave it out for the mean rating in training")
    for score in scores or ():
        if score not in SCORES:
            raise ValueError(f"scores are {', '.join(SCORES)}, found {score!r}")
    return set(SCORES if scores is None else scores)


def _prediction_scores(model: Model, test: Ratings) -> dict[str, float]:
    if len(test) == 0:
        return dict.fromkeys(get_args(PredictionScore), math.nan)
    predictions = np.empty(len(test), dtype=np.float32)
    user_ids, item_ids = test.users.ids(), test.items.ids()
    shares = []
    for users, entries in _chunks(test):
        rows = _part(test.by_user, users, entries)
        predictions[entries] = model.predict(np.repeat(user_ids[users], rows.counts()), item_ids[rows.indices])
        shares.append(top_share(rows.indptr, rows.values, predictions[entries]))
    errors = {name: measure(test.values, predictions) for name, measure in MEASURES.items()}
    return errors | {"top5": _mean(shares)}


def _recommendation_scores(model: Model, test: Ratings, n: int, least: float) -> dict[str, float]:
    by_user: dict[str, list[NDArray[np.float64]]] = {"ndcg": [], "precision": [], "recall": []}
    shown = np.zeros(len(model.items_), dtype=bool)
    for users, entries in _chunks(test):
        relevant, asked = _relevant(_part(test.by_user, users, entries), least)
        if len(asked):
            hits = _hits(model, test, users.start + asked, relevant, n, shown)
            by_user["ndcg"].append(ndcg(hits, relevant.counts()))
            by_user["precision"].append(precision(hits))
            by_user["recall"].append(recall(hits, relevant.counts()))
    rated = model._learned_items(np.arange(len(shown), dtype=np.int32)) >= 0
    coverage = float(shown.sum() / rated.sum()) if by_user["ndcg"] and rated.any() else math.nan
    return {name: _mean(values) for name, values in by_user.items()} | {"coverage": coverage}


def _chunks(test: Ratings) -> Iterator[tuple[slice, slice]]:
    """Users in order, some thousand at a time, and their entries; chunks without a rating are left out."""
    for first in range(0, test.n_users, USERS_AT_A_TIME):
        last = min(first + USERS_AT_A_TIME, test.n_users)
        begin, end = (int(test.by_user.indptr[user]) for user in (first, last))
        if end > begin:
            yield slice(first, last), slice(begin, end)


def _part(rows: Rows, users: slice, entries: slice) -> Rows:
    indptr = rows.indptr[users.start : users.stop + 1] - entries.start
    return Rows(indptr, rows.indices[entries], rows.values[entries])


def _relevant(rows: Rows, least: float) -> tuple[Rows, NDArray[np.intp]]:
    """The entries of at least that value, in rows without gaps, and the former numbers of these rows."""
    with np.errstate(over="ignore"):  # compared as float32, like the ratings
        keep = rows.values >= least
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    asked = np.flatnonzero(np.diff(ends))
    return Rows(np.append(ends[asked], ends[-1]), rows.indices[keep], rows.values[keep]), asked


def _hits(
    model: Model, test: Ratings, users: NDArray[np.intp], relevant: Rows, n: int, shown: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which recommendations are relevant; also ticks off in `shown` what was recommended."""
    items, scores = model.recommend(test.users.ids(users), n)
    filled = ~np.isnan(scores)
    shown[model.items_.index(items[filled])] = True
    recommended = np.full(items.shape, -1, dtype=np.int32)
    recommended[filled] = test.items.index(items[filled])
    return find_hits(recommended, relevant)


def _mean(values: list[NDArray[np.float64]]) -> float:
    """Over all users that have a value."""
    all_values = np.concatenate([*values, np.empty(0)])
    defined = all_values[~np.isnan(all_values)]
    return float(defined.mean()) if len(defined) else math.nan
