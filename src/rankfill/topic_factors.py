"""Topics found in ratings: non-negative factors of who has rated what.

    min ‖V − P Qᵀ‖²  over P, Q ≥ 0,      v_ui = log(n_users / n_i) / √n_u where u has rated i, 0 elsewhere

What people choose to rate says more about its kind than how they rate it. Only where they have rated most of what there
is, a rating counts if it is no lower than the user's own mean. The logarithm keeps bestsellers, which everybody knows,
from leading every topic (tf–idf), and the root keeps the busiest users from having topics to themselves. Items with
fewer ratings than the mean item are left out, unless most pairs are rated: a topic of what a handful of people know is
nobody else's. One column at a time is solved exactly (HALS; Cichocki and Phan 2009), from a start by singular vectors
(NNDSVD; Boutsidis and Gallopoulos 2008).

**How many topics.** Users are dealt into two halves, and the topics of one are matched with those of the other. A topic
holds up if the cosine between it and its partner is at least `ALIKE`. Of the numbers tried, the one counts at which the
topics that hold up outnumber the others by most.
"""

from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries

NUMBERS = 2, 3, 4, 5, 6, 8, 10, 12, 16, 20
ALIKE = 0.7
DENSE = 0.5
"""Share of rated pairs from which on it matters how something was rated."""
TO_CHOOSE = 100_000
"""Ratings in either half, at most: more do not change the number."""
AT_MOST = 5_000_000
"""Ratings that topics are found in."""
PASSES, ENOUGH = 100, 1e-5

Floats = NDArray[np.float64]


class Factors(NamedTuple):
    """The mean row of the users, and one row per item; none is negative, and the strongest item of a topic has 1."""

    typical_user: Floats
    items: Floats


def find_factors(ratings: Ratings, n_topics: int | None, seed: int) -> Factors:
    """Factors of so many topics, or of the number at which most hold up."""
    matrix, listed = weigh(ratings)
    users = np.random.default_rng(seed).permutation(np.flatnonzero(np.diff(matrix.indptr)))
    if n_topics is None:
        n_topics = choose_number(*(_some(matrix, half, TO_CHOOSE) for half in (users[::2], users[1::2])))
    user_factors, item_factors = factorise(_some(matrix, users, AT_MOST), n_topics)
    largest = item_factors.max(axis=0, initial=0)
    largest[largest == 0] = 1
    items = np.zeros((ratings.n_items, item_factors.shape[1]))
    items[listed] = item_factors / largest
    return Factors(user_factors.mean(axis=0) * largest, items)


def weigh(ratings: Ratings) -> tuple[scipy.sparse.csr_array, NDArray[np.intp]]:
    """The matrix V with the columns of some items, and their row numbers."""
    counts = ratings.by_item.counts()
    n_users, n_items = int((ratings.by_user.counts() > 0).sum()), int((counts > 0).sum())
    entries, least = np.ones(len(ratings), bool), len(ratings) / max(n_items, 1)
    if len(ratings) > DENSE * n_users * n_items:
        entries, least = liked_entries(ratings, "above-user-mean"), 1
        counts = np.bincount(ratings.item_indices[entries], minlength=ratings.n_items)
    listed = np.flatnonzero(counts >= least)
    weights = np.log((n_users + 1) / np.maximum(counts, 1))
    values = np.where(entries, weights[ratings.item_indices], 0)
    rows = scipy.sparse.csr_array((values, ratings.item_indices, ratings.by_user.indptr), ratings.shape)
    busy = np.sqrt(np.maximum(ratings.by_user.counts(), 1))
    matrix = scipy.sparse.csr_array((rows / busy[:, None]).tocsc()[:, listed])
    matrix.eliminate_zeros()
    return matrix, listed


def choose_number(one: scipy.sparse.csr_array, other: scipy.sparse.csr_array) -> int:
    """The number at which most topics hold up between two halves of the users."""
    most = min(*one.shape, *other.shape)
    best, chosen = -np.inf, 1
    for number in NUMBERS:
        if number < most and (lead := _lead(one, other, number)) >= best:
            best, chosen = lead, number
    return chosen


def _lead(one: scipy.sparse.csr_array, other: scipy.sparse.csr_array, number: int) -> int:
    """The number of topics that hold up, less the number of others."""
    first, second = (_unit_columns(factorise(half, number)[1]) for half in (one, other))
    cosines = first.T @ second
    matched = cosines[scipy.optimize.linear_sum_assignment(cosines, maximize=True)]
    return int(2 * (matched >= ALIKE).sum()) - number


def factorise(matrix: scipy.sparse.csr_array, rank: int) -> tuple[Floats, Floats]:
    """P and Q, none negative; fewer columns than asked for where the matrix has fewer rows or columns."""
    rank = min(rank, *matrix.shape)
    left, right = _start(matrix, rank)
    turned, total, before = scipy.sparse.csr_array(matrix.T), float((matrix.data**2).sum()), np.inf
    for _ in range(PASSES):
        _solve_columns(matrix @ right, right.T @ right, left)
        products, gram = turned @ left, left.T @ left
        _solve_columns(products, gram, right)
        error = total - 2 * float((products * right).sum()) + float((gram * (right.T @ right)).sum())
        if before - error <= ENOUGH * total:
            break
        before = error
    return left, right


def _solve_columns(products: Floats, gram: Floats, factors: Floats) -> None:
    """Each column in its turn as is best while the others stay."""
    for k in range(factors.shape[1]):
        if gram[k, k] > 0:
            factors[:, k] = np.maximum(factors[:, k] + (products[:, k] - factors @ gram[:, k]) / gram[k, k], 0)


def _start(matrix: scipy.sparse.csr_array, rank: int) -> tuple[Floats, Floats]:
    """The heavier half, by sign, of each pair of singular vectors; a little instead of zeros, which would stay."""
    shorter = min(matrix.shape)
    if rank < shorter // 2:
        first = np.full(shorter, shorter**-0.5)
        u, s, vt = scipy.sparse.linalg.svds(matrix, rank, v0=first, tol=1e-3)
    else:
        u, s, vt = np.linalg.svd(matrix.toarray(), full_matrices=False)
    little = 0.1 * np.sqrt(matrix.sum() / max(matrix.shape[0] * matrix.shape[1], 1) / max(rank, 1))
    left, right = np.full((matrix.shape[0], rank), little), np.full((matrix.shape[1], rank), little)
    for k, column in enumerate(np.argsort(-s)[:rank]):
        halves = [(np.maximum(sign * u[:, column], 0), np.maximum(sign * vt[column], 0)) for sign in (1, -1)]
        a, b = max(halves, key=lambda half: np.linalg.norm(half[0]) * np.linalg.norm(half[1]))
        sizes = np.linalg.norm(a), np.linalg.norm(b)
        if min(sizes) > 0:
            scale = np.sqrt(s[column] * sizes[0] * sizes[1])
            left[:, k] = np.maximum(scale * a / sizes[0], little)
            right[:, k] = np.maximum(scale * b / sizes[1], little)
    return left, right


def _some(matrix: scipy.sparse.csr_array, users: NDArray[np.intp], most: int) -> scipy.sparse.csr_array:
    """The rows of these users, in their order, until there are enough ratings."""
    ends = np.cumsum(np.diff(matrix.indptr)[users])
    return matrix[users[: np.searchsorted(ends, most) + 1]]


def _unit_columns(factors: Floats) -> Floats:
    norms = np.linalg.norm(factors, axis=0)
    return factors / np.where(norms > 0, norms, 1)
