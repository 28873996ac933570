"""Measures of a ranking, one value a user, as functions of arrays alone.

A list of n items in which the places j = 1 … n hold hits h_j ∈ {0, 1}, for a user with m relevant items:

    precision = Σ_j h_j / n        recall = Σ_j h_j / m

    ndcg = Σ_j h_j / log₂(j + 1)  /  Σ_{j ≤ min(n, m)} 1 / log₂(j + 1)

Recall and ndcg are NaN for a user with nothing relevant.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from rankfill.kernels import Rows


def find_hits(recommended: NDArray[np.integer], relevant: Rows) -> NDArray[np.bool_]:
    """Which recommended items, a row a user, are among the relevant ones of the same row; −1 never is.

    >>> relevant = Rows(np.array([0, 2, 3]), np.array([1, 4, 1], np.int32), np.ones(3, np.float32))
    >>> find_hits(np.array([[4, 2], [-1, 1]]), relevant)
    array([[ True, False],
           [False,  True]])
    """
    if len(relevant.indices) == 0:
        return np.zeros(recommended.shape, dtype=bool)
    width = max(int(recommended.max(initial=0)), int(relevant.indices.max())) + 1
    # Entries ascend by row and, within it, by item, so the keys are sorted already.
    keys = relevant.row_of_entry().astype(np.int64) * width + relevant.indices
    asked = np.arange(len(recommended))[:, None] * width + recommended
    places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.asarray((keys[places] == asked) & (recommended >= 0))


def precision(hits: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of the list that is relevant; places left empty count as misses."""
    return np.asarray(hits.mean(axis=1, dtype=np.float64))


def recall(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The share of what is relevant that the list holds."""
    return _ratio(hits.sum(axis=1), n_relevant)


def ndcg(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The discounted gain of the list over that of the best list of its length.

    >>> ndcg(np.array([[True, False], [False, True]]), np.array([1, 1])).round(3)
    array([1.   , 0.631])
    """
    discounts = 1 / np.log2(np.arange(hits.shape[1]) + 2)
    best = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_relevant, hits.shape[1])]
    return _ratio(hits @ discounts, best)


def top_share(
    indptr: NDArray[np.integer], ratings: NDArray[np.floating], predictions: NDArray[np.floating], k: int = 5
) -> NDArray[np.float64]:
    """The share of each user's k best rated entries found among the k best predicted; NaN with fewer than k.

    User u has the entries indptr[u] … indptr[u + 1] − 1; their order has no influence. Entries rated like the
    k-th are as good as it: any of them may fill the places it leaves, so perfect predictions always reach 1.
    Entries predicted like the k-th predicted are drawn at random for the places left, and the mean over all
    draws counts, so that a constant prediction scores as a blind guess.

    >>> top_share(np.array([0, 4]), np.array([5, 3, 3, 1]), np.array([4.5, 4.0, 3.0, 4.2]), k=2)
    array([0.5])
    """
    counts = np.diff(indptr)
    enough = counts >= k
    shares = np.full(len(counts), np.nan)
    if not enough.any():
        return shares
    kept = np.repeat(enough, counts)
    starts = np.concatenate([[0], np.cumsum(counts[enough])[:-1]])
    users = np.repeat(np.arange(len(starts)), counts[enough])

    def count(entries: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.add.reduceat(entries, starts, dtype=np.int64)

    best, level = _cut(ratings[kept], users, starts, k)
    chosen, drawable = _cut(predictions[kept], users, starts, k)
    places, draws, urn = k - count(best), k - count(chosen), count(drawable)
    found_best = count(best & chosen) + count(best & drawable) * draws / urn
    found_level = _mean_capped_draw(count(level & chosen), places, urn, count(level & drawable), draws)
    shares[enough] = (found_best + found_level) / k
    return shares


def _cut(
    values: NDArray[np.floating], users: NDArray[np.integer], starts: NDArray[np.integer], k: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which entries are above the k-th largest of their user, and which equal it."""
    descending = np.lexsort((-values, users))
    last = values[descending[starts + (k - 1)]][users]
    return values > last, values == last


def _mean_capped_draw(
    sure: NDArray[np.int64],
    cap: NDArray[np.int64],
    urn: NDArray[np.int64],
    marked: NDArray[np.int64],
    draws: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The mean of min(sure + X, cap), X the marked ones among `draws` from the urn (hypergeometric)."""
    mean = np.zeros(len(sure))
    for found in range(int(draws.max()) + 1):
        ways = comb(marked, found) * comb(urn - marked, draws - found)
        mean += ways / comb(urn, draws) * np.minimum(sure + found, cap)
    return mean


def _ratio(part: NDArray[np.number], whole: NDArray[np.number]) -> NDArray[np.float64]:
    ratio = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio
