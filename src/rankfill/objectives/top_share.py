"""The share of a user's best rated items among those predicted best, with ties counted fairly."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb


def top_share(
    indptr: NDArray[np.integer], ratings: NDArray[np.floating], predictions: NDArray[np.floating], k: int = 5
) -> NDArray[np.float64]:
    """The share of each user's k best rated entries that are among the k best predicted; NaN with fewer than k entries.

    Entries rated like the k-th are as good as it: any of them may fill the places it leaves, so perfect predictions
    always reach 1. Entries predicted like the k-th predicted are drawn at random for the places left, and the mean
    over all draws counts, so that a constant prediction scores as a blind guess.

    Parameters
    ----------
    indptr : ndarray of int, shape (n_users + 1,)
        User u has the entries indptr[u] … indptr[u + 1] − 1; their order has no influence.
    ratings : ndarray of float
        The rating of each entry.
    predictions : ndarray of float
        The prediction for each entry.
    k : int, default=5
        How many of the best to compare.

    Examples
    --------
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

    best, level = _mark_top(ratings[kept], users, starts, k)
    chosen, drawable = _mark_top(predictions[kept], users, starts, k)
    places, draws, urn = k - count(best), k - count(chosen), count(drawable)
    found_best = count(best & chosen) + count(best & drawable) * draws / urn
    found_level = _mean_capped_draw(count(level & chosen), places, urn, count(level & drawable), draws)
    shares[enough] = (found_best + found_level) / k
    return shares


def _mark_top(
    values: NDArray[np.floating], users: NDArray[np.integer], starts: NDArray[np.integer], k: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Marks the entries above the k-th largest of their user, and those equal to it."""
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
