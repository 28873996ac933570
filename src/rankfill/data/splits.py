"""Training and test part of a set of ratings."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.ratings import Ratings
from rankfill.shown import shown

By = Literal["user", "entry", "time", "last", "cold-users", "cold-items"]


def split(ratings: RatingsLike, test: float = 0.2, by: By = "user", seed: int = 0) -> tuple[Ratings, Ratings]:
    """Splits ratings into a training part and a test part.

    Both parts keep all users and items, so that row numbers stay, and neither is ever empty.

    Parameters
    ----------
    ratings : Ratings, or whatever `as_ratings` makes some of
        What to split.
    test : float or int, default=0.2
        The size of the test part: a share between 0 and 1, or a whole number from 1. A whole number counts ratings
        of each user with ``by="user"`` (leave n out) and ``by="last"`` (leave the last n out), where everybody keeps
        at least one rating for training; ratings in all with ``"entry"`` and ``"time"``; users or items with
        ``"cold-users"`` and ``"cold-items"``.
    by : {"user", "entry", "time", "last", "cold-users", "cold-items"}, default="user"
        Which ratings are tested. ``"user"``: the same share of each user's, at random; a share that is no whole
        number is rounded up or down at random, so that users with one to three ratings give theirs, too. ``"last"``:
        as many, but the latest of each user. ``"entry"``: any, at random. ``"time"``: the latest of all.
        ``"cold-users"``: all ratings of some users, who are chosen at random and unknown in training.
        ``"cold-items"``: all ratings of some items, likewise.
    seed : int, default=0
        Decides all that is random.

    Returns
    -------
    train, test : Ratings

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann"] * 4 + ["bob"] * 6, [1, 2, 3, 4, 1, 2, 3, 4, 5, 6], [5.0] * 10)
    >>> train, held_out = split(ratings, test=0.5)
    >>> held_out.by_user.counts()
    array([2, 3])
    >>> train, held_out = split(ratings, test=1, by="cold-users")
    >>> held_out.by_user.counts()
    array([4, 0])
    """
    ratings = as_ratings(ratings)
    _check(ratings, test, by)
    random = np.random.default_rng(seed)
    if by == "cold-users":
        chosen = _some_rows(ratings.by_user.counts(), test, random, "users")[ratings.user_indices]
    elif by == "cold-items":
        counts = np.bincount(ratings.item_indices, minlength=ratings.n_items)
        chosen = _some_rows(counts, test, random, "items")[ratings.item_indices]
    elif by in ("time", "entry"):
        order = ratings.stream_order() if by == "time" else random.permutation(len(ratings))[::-1]
        chosen = np.zeros(len(ratings), dtype=bool)
        chosen[order[len(ratings) - _size(test, len(ratings), "ratings") :]] = True
    else:
        chosen = _of_each_user(ratings, test, by, random)
    return ratings.select(~chosen), ratings.select(chosen)


def _check(ratings: Ratings, test: float, by: str) -> None:
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, found {shown(by)}")
    whole = isinstance(test, int | np.integer) and not isinstance(test, bool) and test >= 1
    if not (whole or 0 < test < 1):
        raise ValueError(
            f"test must be a share between 0 and 1 or a whole number of at least 1, found {shown(test)}; "
            "0.2 holds out every fifth rating"
        )
    if by in ("time", "last") and ratings.timestamps is None:
        raise ValueError(
            f'by="{by}" needs timestamps, these ratings have none; give them, or split by="user" or "entry"'
        )
    if len(ratings) < 2:
        raise ValueError(f"a split needs at least 2 ratings, one for either part; found {len(ratings)}")


def _size(test: float, n: int, what: str) -> int:
    """How many of n are tested: at least one and not all of them."""
    if test >= 1:
        if test >= n:
            raise ValueError(f"cannot hold out {test} {what} of {n}, for none would be left; give a smaller number")
        return int(test)
    return min(max(round(test * n), 1), n - 1)


def _some_rows(counts: NDArray[np.integer], test: float, random: np.random.Generator, what: str) -> NDArray[np.bool_]:
    """Marks some of the rows that have ratings."""
    rated = np.flatnonzero(counts)
    if len(rated) < 2:
        raise ValueError(f"cold {what} need at least 2 {what} with ratings, found {len(rated)}; split by another way")
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[random.permutation(rated)[: _size(test, len(rated), what)]] = True
    return chosen


def _of_each_user(ratings: Ratings, test: float, by: By, random: np.random.Generator) -> NDArray[np.bool_]:
    """Marks in every row as many entries as its quota: the latest, or those with the smallest random numbers."""
    counts, indptr = ratings.by_user.counts(), ratings.by_user.indptr
    if test >= 1:
        quotas = np.minimum(counts - 1, int(test)).clip(min=0)
        if not quotas.any():
            raise ValueError(f"test={test} leaves each user one rating, but nobody has two; give a share, such as 0.2")
    else:
        quotas = _random_quotas(test * counts.astype(np.float64), _size(test, len(ratings), "ratings"), random)
    rows = ratings.user_indices.astype(np.int64)
    if by == "last":
        ranks = np.empty(len(rows), dtype=np.int64)
        ranks[ratings.stream_order()[::-1]] = np.arange(len(rows))
    else:
        ranks = random.integers(2**32, size=len(rows))
    # Row in the high bits, rank in the low ones: sorting changes the order within rows only.
    in_order = np.argsort((rows << 32) | ranks, kind="stable")
    chosen = np.zeros(len(rows), dtype=bool)
    place_in_row = np.arange(len(rows)) - np.repeat(indptr[:-1], counts)
    chosen[in_order[place_in_row < np.repeat(quotas, counts)]] = True
    return chosen


def _random_quotas(expected: NDArray[np.float64], total: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers of the given total, each its expectation rounded up or down; a greater fraction goes up more often.

    Systematic sampling: the fractions lie end to end, in random order, on a line with marks one apart; whoever covers
    a mark is rounded up. None covers two, for fractions are smaller than one.
    """
    quotas = np.floor(expected).astype(np.int64)
    order = random.permutation(len(expected))
    line = np.cumsum((expected - quotas)[order])
    n_marks = total - int(quotas.sum())
    slack = float(line[-1]) - n_marks
    first = random.uniform(max(0.0, slack), min(1.0, slack + 1.0))  # so that exactly n_marks fall on the line
    covering = np.searchsorted(line, first + np.arange(n_marks), side="right").clip(max=len(order) - 1)
    quotas[order[covering]] += 1
    return quotas
