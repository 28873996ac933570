"""Training and test part of a set of ratings."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings import Ratings

By = Literal["user", "entry", "time"]


def split(ratings: Ratings, test: float = 0.2, by: By = "user", seed: int = 0) -> tuple[Ratings, Ratings]:
    """Splits into a training part and a test part, the share `test` of the ratings; both keep all users and items.

    "user": of the n ratings of each user, test·n go to the test part, chosen at random. Where test·n is no whole
    number it is rounded up or down at random such that the total is test·len(ratings), rounded: also users with one
    to three ratings give their share. "entry": any ratings, chosen at random. "time": the latest ratings.
    Neither part is ever empty.

    >>> ratings = Ratings.from_arrays(["ann"] * 4 + ["bob"] * 6, [1, 2, 3, 4, 1, 2, 3, 4, 5, 6], [5.0] * 10)
    >>> train, held_out = split(ratings, test=0.5)
    >>> held_out.by_user.counts()
    array([2, 3])
    """
    n_test = _checked_size(ratings, test, by)
    chosen = np.zeros(len(ratings), dtype=bool)
    random = np.random.default_rng(seed)
    if by == "time":
        chosen[ratings.stream_order()[len(ratings) - n_test :]] = True
    elif by == "entry":
        chosen[random.permutation(len(ratings))[:n_test]] = True
    else:
        chosen = _stratified(ratings.by_user.indptr, test, n_test, random)
    return ratings.select(~chosen), ratings.select(chosen)


def _checked_size(ratings: Ratings, test: float, by: str) -> int:
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, found {by!r}")
    if not 0 < test < 1:
        raise ValueError(f"test must be a share between 0 and 1, found {test}; 0.2 holds out every fifth rating")
    if by == "time" and ratings.timestamps is None:
        raise ValueError(
            'by="time" needs timestamps, these ratings have none; give them, or split by="user" or "entry"'
        )
    if len(ratings) < 2:
        raise ValueError(f"a split needs at least 2 ratings, one for either part; found {len(ratings)}")
    return min(max(round(test * len(ratings)), 1), len(ratings) - 1)


def _stratified(indptr: NDArray[np.int64], test: float, n_test: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Marks in every row the entries with the smallest random numbers, as many as the row's quota."""
    counts = np.diff(indptr)
    quotas = _random_quotas(test * counts, n_test, random)
    rows = np.repeat(np.arange(len(counts)), counts)
    # Row in the high bits, chance in the low ones: sorting shuffles within rows only.
    shuffled = np.argsort((rows << 32) | random.integers(2**32, size=len(rows)), kind="stable")
    chosen = np.zeros(len(rows), dtype=bool)
    place_in_row = np.arange(len(rows)) - np.repeat(indptr[:-1], counts)
    chosen[shuffled[place_in_row < np.repeat(quotas, counts)]] = True
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
