"""The trial of a candidate on ratings kept aside: the error of its predictions, the quality of its lists."""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked, liked_entries, user_means_of
from rankfill.kernels import Rows
from rankfill.models.auto.candidates import Candidate, select_learned
from rankfill.models.auto.plan import Parts
from rankfill.models.base.choosing import find_lists
from rankfill.models.base.model import Model
from rankfill.models.base.seen import SeenItems
from rankfill.objectives.measures import rmse
from rankfill.objectives.ranking import find_hits, ndcg

LENGTH = 10
_MOST_USERS = 4000
"""The number of lists judged, those of users drawn at random."""


class Trial(NamedTuple):
    """A candidate, what it achieved, and a model that was fitted on the way."""

    candidate: Candidate
    error: float | None
    ndcg: float | None
    seconds: float
    model: Model | None
    lists: NDArray[np.float64] | None = None
    """The NDCG@10 of each list, in the same order for all candidates."""


class Jobs(NamedTuple):
    """The measures by which candidates are judged."""

    predict: bool
    recommend: bool
    liked: Liked


def try_out(candidate: Candidate, parts: Parts, jobs: Jobs, seed: int, *, stop: bool) -> Trial:
    """Fits the candidate to what is learned from in each part, and judges it on the rest of all of them.

    With `stop` the model is to be kept: what predicts ratings stops learning when the rest gains no more.
    """
    began = time.perf_counter()
    predicts = candidate.model.predicts_ratings
    predicted, quality = [], []
    for learned, rest in parts:
        known = select_learned(learned, candidate.learns, learned.mean())
        model = (
            candidate.for_trial(refitted=not stop).make(seed).fit(known, validation=rest if stop and predicts else None)
        )
        if jobs.predict and predicts:
            predicted.append(np.clip(model._predict_ratings(rest), *learned.scale()))
        if jobs.recommend:
            quality.append(list_quality(model, learned, rest, jobs.liked, seed))
    actual = np.concatenate([rest.values for _, rest in parts])
    found = np.concatenate(quality) if quality else np.empty(0)
    return Trial(
        candidate,
        rmse(actual, np.concatenate(predicted)) if predicted else None,
        (float(found.mean()) if len(found) else 0.0) if jobs.recommend else None,
        time.perf_counter() - began,
        model,
        found if jobs.recommend else None,
    )


def list_quality(model: Model, learned: Ratings, rest: Ratings, liked: Liked, seed: int) -> NDArray[np.float64]:
    """NDCG@10 of the lists of users who liked something of the rest, out of all items that they have not rated."""
    users = learned.users.index(rest.users.ids())
    means = np.where(users >= 0, user_means_of(learned)[users], np.nan)
    wanted = rest.select(liked_entries(rest, liked, learned.mean(), means))
    rows = np.flatnonzero(wanted.by_user.counts())
    rows = np.sort(np.random.default_rng(seed).permutation(rows)[:_MOST_USERS])
    asked, allowed = users[rows], np.bincount(learned.item_indices, minlength=learned.n_items) > 0
    view, seen = model._view(), SeenItems.of(learned.by_user).rows(asked)
    first, later = view._usual_items() if view.predicts_ratings else (allowed, None)
    found, _ = find_lists(
        lambda n, which: view._best_items(view._learned_users(asked), n, which, *seen),
        min(LENGTH, learned.n_items),
        first,
        later,
    )
    right = _of_users(wanted, rows)
    numbers = rest.items.index(learned.items.ids())
    return ndcg(find_hits(np.where(found >= 0, numbers[np.maximum(found, 0)], -1), right), right.counts())


def _of_users(ratings: Ratings, users: NDArray[np.integer]) -> Rows:
    """The ratings of some users, in rows without gaps."""
    chosen = np.isin(np.arange(ratings.n_users), users)[ratings.user_indices]
    indptr = np.concatenate([[0], np.cumsum(ratings.by_user.counts()[users])])
    return Rows.taking(indptr, ratings.item_indices[chosen], ratings.values[chosen])
