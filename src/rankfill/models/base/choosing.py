"""The rules of recommendation lists: candidates, the fewest ratings an item needs, variety.

**The automatic minimum.** A model that predicts ratings guesses the ratings of rarely rated items most freely, so that
the top of a list is where its luckiest guesses gather. `fewest_ratings` says below how many ratings an item comes after
all others.

**Variety** is maximal marginal relevance (Carbonell and Goldstein 1998). With s the scores of the candidates on a scale
from 0 to 1, each place after the first goes to the candidate i with the largest

    (1 − diversify) · s_i − diversify · max over the items j listed so far of cos(q_i, q_j)
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

MinRatings = int | Literal["auto"]

Found = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Row numbers of items and their scores, one row per user, padded with −1 and NaN."""

LEFT_OUT = 0.05
"""The items below the automatic minimum have at most this share of all ratings."""

ENOUGH = 30
"""An item with this many ratings is never below the automatic minimum."""

POOL = 10
"""A list of n items with variety is chosen from this times n best items."""

_NUMBERS_AT_ONCE = 2**24
_LAST = -1e9  # the merit of an empty place, below that of every item


def fewest_ratings(counts: NDArray[np.int64], left_out: float = LEFT_OUT) -> int:
    """Computes the automatic minimum from the number of ratings of each item.

    >>> fewest_ratings(np.array([100, 90, 80, 3, 1]))
    30
    >>> fewest_ratings(np.array([2, 1, 2]))
    1
    """
    n_items = np.bincount(np.minimum(counts, ENOUGH), minlength=ENOUGH + 1)
    ratings_below = np.cumsum(n_items[:ENOUGH] * np.arange(ENOUGH))
    return max(1, int(np.searchsorted(ratings_below, left_out * counts.sum(), side="right")))


def find_lists(find: Callable[[int, NDArray[np.bool_]], Found], n: int, first: Any, later: Any) -> Found:
    """The n best of the items allowed `first`; where they do not fill a list, those allowed `later` follow."""
    indices, scores = find(n, first)
    if later is None or not (indices[:, -1:] < 0).any():
        return indices, scores
    more_indices, more_scores = find(n, later)
    indices = np.concatenate([indices, more_indices], axis=1)
    scores = np.concatenate([scores, more_scores], axis=1)
    order = np.argsort(indices < 0, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(scores, order, axis=1)


def pick_varied(found: Found, n: int, diversify: float, vectors: Callable[[NDArray[np.int32]], NDArray[Any]]) -> Found:
    """Picks n items of each list by maximal marginal relevance, in its order."""
    indices, scores = found
    distinct, places = np.unique(indices, return_inverse=True)
    rows = vectors(distinct[distinct >= 0]).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    if distinct[:1].tolist() == [-1]:
        rows = np.concatenate([np.zeros_like(rows, shape=(1, rows.shape[1])), rows])
    places = places.reshape(indices.shape)
    chosen = np.empty((len(indices), min(n, indices.shape[1])), np.intp)
    at_once = max(1, _NUMBERS_AT_ONCE // max(indices.shape[1] * rows.shape[1], 1))
    for start in range(0, len(indices), at_once):
        block = slice(start, start + at_once)
        chosen[block] = _pick(rows[places[block]], scores[block], chosen.shape[1], diversify)
    return np.take_along_axis(indices, chosen, axis=1), np.take_along_axis(scores, chosen, axis=1)


def _pick(vectors: NDArray[np.float32], scores: NDArray[np.float32], n: int, diversify: float) -> NDArray[np.intp]:
    """Places of the items picked, by user; `vectors` has one row of length 1 per user and candidate."""
    users = np.arange(len(scores))
    merit = np.where(np.isnan(scores), _LAST, (1 - diversify) * _from_0_to_1(scores))
    closest = np.full(scores.shape, -1, np.float32)
    chosen = np.zeros((len(scores), n), np.intp)
    for place in range(n):
        if place:
            chosen[:, place] = np.argmax(merit - diversify * closest, axis=1)
        latest = chosen[:, place]
        merit[users, latest] = -np.inf
        np.maximum(closest, np.einsum("uik,uk->ui", vectors, vectors[users, latest]), out=closest)
    return chosen


def _from_0_to_1(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Scales the scores of each row so that the worst is 0 and the best 1; NaN stays, equal scores become zeros."""
    worst = np.fmin.reduce(scores, axis=1, keepdims=True)
    spread = np.fmax.reduce(scores, axis=1, keepdims=True) - worst
    return np.asarray((scores - worst) / np.where(spread > 0, spread, 1), np.float64)
