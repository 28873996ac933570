"""Measures of a ranking, as functions of arrays alone: most give one value per user.

A list of k items in which the places j = 1 … k hold hits h_j ∈ {0, 1}, for a user with m relevant items:

    precision        = Σ_j h_j / k
    capped_precision = Σ_j h_j / min(k, m)
    recall           = Σ_j h_j / m
    ndcg             = Σ_j h_j / log₂(j + 1)  /  Σ_{j ≤ min(k, m)} 1 / log₂(j + 1)
    map              = Σ_j h_j (h_1 + … + h_j) / j  /  min(k, m)
    mrr              = 1 / (place of the first hit), 0 without one
    hit_rate         = 1 with a hit, 0 without
    auc              = share of the m · (c − r) pairs of a relevant and another candidate in which the relevant one
                       comes first, with c candidates of which r are relevant

An empty place is a miss. What is beyond the list counts for `auc` as being in random order, so that a list of all
candidates gives the area under the ROC curve exactly; a relevant item that is no candidate comes last. All but
precision are NaN for a user with nothing relevant.

Of what is on the lists, whether relevant or not, where item i has n_i ratings in training by n users:

    novelty    = mean of −log₂(n_i / n) over the places of a list
    rare_share = share of the places of a list that hold an item with n_i ≤ 20
    coverage   = share of the items with n_i > 0 that are on at least one list
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows

RARE = 20
"""Most ratings of an item that is rarely rated."""


def find_hits(recommended: NDArray[np.integer], relevant: Rows) -> NDArray[np.bool_]:
    """Tells which recommended items are relevant.

    Parameters
    ----------
    recommended : ndarray of int, shape (n_users, n)
        Row numbers of the items recommended to each user; −1 marks an empty place and is never a hit.
    relevant : Rows
        Row numbers of the items that are relevant to the same users.

    Returns
    -------
    ndarray of bool, shape (n_users, n)

    Examples
    --------
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


def precision(hits: NDArray[np.bool_], k: int | None = None) -> NDArray[np.float64]:
    """The share of each list that is relevant; places left empty count as misses.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them.
    k : int, optional
        The length of a list, where columns that are empty for everybody were left out of `hits`.

    Examples
    --------
    >>> precision(np.array([[True, False], [True, True]]))
    array([0.5, 1. ])
    """
    return np.asarray(hits.sum(axis=1) / (hits.shape[1] if k is None else k))


def recall(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The share of what is relevant to each user that the list holds; NaN where nothing is.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, n)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> recall(np.array([[True, False], [True, True]]), np.array([4, 2]))
    array([0.25, 1.  ])
    """
    return _ratio(hits.sum(axis=1), n_relevant)


def ndcg(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The discounted gain of each list over that of the best list of its length; NaN where nothing is relevant.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, n)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> ndcg(np.array([[True, False], [False, True]]), np.array([1, 1])).round(3)
    array([1.   , 0.631])
    """
    discounts = 1 / np.log2(np.arange(hits.shape[1]) + 2)
    best = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_relevant, hits.shape[1])]
    return _ratio(hits @ discounts, best)


def capped_precision(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The share of the hits that a list of its length can have; NaN where nothing is relevant.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> capped_precision(np.array([[True, False], [True, False]]), np.array([4, 1]))
    array([0.5, 1. ])
    """
    return _ratio(hits.sum(axis=1), np.minimum(n_relevant, hits.shape[1]))


def average_precision(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """The mean precision at the places of the hits, of as many as there could be; its mean over users is `map`.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> average_precision(np.array([[True, False, True], [False, True, False]]), np.array([2, 1])).round(3)
    array([0.833, 0.5  ])
    """
    precisions = np.cumsum(hits, axis=1) / (np.arange(hits.shape[1]) + 1)
    return _ratio((precisions * hits).sum(axis=1), np.minimum(n_relevant, hits.shape[1]))


def reciprocal_rank(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """One over the place of the first hit, 0 without one; NaN where nothing is relevant. Its mean is `mrr`.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> reciprocal_rank(np.array([[False, True], [False, False]]), np.array([2, 1]))
    array([0.5, 0. ])
    """
    return np.where(n_relevant > 0, hits.any(axis=1) / (hits.argmax(axis=1) + 1), np.nan)


def hit_rate(hits: NDArray[np.bool_], n_relevant: NDArray[np.integer]) -> NDArray[np.float64]:
    """1 for a list with a hit and 0 for one without; NaN where nothing is relevant.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.

    Examples
    --------
    >>> hit_rate(np.array([[False, True], [False, False]]), np.array([2, 1]))
    array([1., 0.])
    """
    return np.where(n_relevant > 0, hits.any(axis=1), np.nan)


def auc(
    hits: NDArray[np.bool_],
    n_relevant: NDArray[np.integer],
    n_reachable: NDArray[np.integer],
    n_candidates: NDArray[np.integer],
) -> NDArray[np.float64]:
    """The share of pairs of a relevant item and another candidate in which the relevant one comes first.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_users, k)
        As `find_hits` returns them, for lists that are full as long as there are candidates.
    n_relevant : ndarray of int, shape (n_users,)
        How many items are relevant to each user.
    n_reachable : ndarray of int, shape (n_users,)
        How many of these are candidates; the others come after all candidates.
    n_candidates : ndarray of int, shape (n_users,)
        From how many items each list was made. NaN where all of them, or none, are relevant.

    Examples
    --------
    >>> auc(np.array([[True, False]]), np.array([2]), np.array([2]), np.array([4]))
    array([0.625])
    """
    others = n_candidates - n_reachable
    filled = np.arange(hits.shape[1]) < n_candidates[:, None]
    misses = filled & ~hits
    listed = (np.cumsum(hits, axis=1) * misses).sum(axis=1)
    beyond = (others - misses.sum(axis=1)) * (hits.sum(axis=1) + n_reachable) / 2
    return _ratio(listed + beyond, n_relevant * others)


def novelty(recommended: NDArray[np.integer], n_ratings: NDArray[np.integer], n_users: int) -> NDArray[np.float64]:
    """The novelty of the items of each list: the mean of −log₂ of the share of users who rated them.

    Parameters
    ----------
    recommended : ndarray of int, shape (n_lists, k)
        Row numbers of items with at least one rating; −1 marks an empty place.
    n_ratings : ndarray of int, shape (n_items,)
        Number of ratings of each item in training.
    n_users : int
        Number of users with ratings in training.

    Examples
    --------
    >>> novelty(np.array([[0, 1], [1, -1]]), np.array([8, 2]), n_users=8)
    array([1., 2.])
    """
    surprise = np.log2(n_users / np.maximum(n_ratings, 1))
    return _mean_of_places(surprise, recommended)


def rare_share(recommended: NDArray[np.integer], n_ratings: NDArray[np.integer]) -> NDArray[np.float64]:
    """The share of each list that goes to items with at most 20 ratings in training.

    Parameters
    ----------
    recommended : ndarray of int, shape (n_lists, k)
        Row numbers of items; −1 marks an empty place, which does not count.
    n_ratings : ndarray of int, shape (n_items,)
        Number of ratings of each item in training.

    Examples
    --------
    >>> rare_share(np.array([[0, 1], [1, -1]]), np.array([21, 20]))
    array([0.5, 1. ])
    """
    return _mean_of_places((n_ratings <= RARE).astype(np.float64), recommended)


def coverage(is_listed: NDArray[np.bool_], n_ratings: NDArray[np.integer]) -> float:
    """The share of the items with ratings that are on a list; NaN where no item has any.

    Parameters
    ----------
    is_listed : ndarray of bool, shape (n_items,)
        Which items are on at least one list.
    n_ratings : ndarray of int, shape (n_items,)
        Number of ratings of each item in training.

    Examples
    --------
    >>> coverage(np.array([True, False, False]), np.array([3, 1, 0]))
    0.5
    """
    rated = np.count_nonzero(n_ratings)
    return float(np.count_nonzero(is_listed) / rated) if rated else float("nan")


def _mean_of_places(values: NDArray[np.float64], recommended: NDArray[np.integer]) -> NDArray[np.float64]:
    """The mean value of the items on each list; NaN for an empty one."""
    filled = recommended >= 0
    return _ratio((values[np.maximum(recommended, 0)] * filled).sum(axis=1), filled.sum(axis=1))


def _ratio(part: NDArray[np.number], whole: NDArray[np.number]) -> NDArray[np.float64]:
    ratio = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio
