"""Training and test part of a set of ratings."""

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.folds import shuffled_rows
from rankfill.data.ratings import Ratings
from rankfill.shown import shown

_AT_ONCE, _BINS = 1 << 20, 1 << 16

By = Literal["user", "entry", "time", "last", "cold-users", "cold-items"]


def split(ratings: RatingsLike, test: float = 0.2, by: By = "user", seed: int = 0) -> tuple[Ratings, Ratings]:
    """Splits ratings into a training part and a test part.

    Both parts keep all users and items, so that row numbers stay, and neither is ever empty. Ratings on disk stay
    there: parts of a `RatingStore` are views of it, with a mark for each rating in a temporary file.

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
    parts = ratings.divided(_marks(ratings, test, by, np.random.default_rng(seed)), 2)
    return parts.part(0), parts.part(1)


def _marks(ratings: Ratings, test: float, by: By, random: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Marks the test ratings, piece by piece."""
    if by == "cold-users":
        chosen = _some_rows(ratings.by_user.counts(), test, random, "users")
        return (chosen[first + rows.row_of_entry()] for first, rows in ratings.by_user.pieces())
    if by == "cold-items":
        chosen = _some_rows(ratings._item_counts(), test, random, "items")
        return (chosen[rows.indices] for _, rows in ratings.by_user.pieces())
    if by in ("time", "entry"):
        size = _size(test, len(ratings), "ratings")
        return _latest(ratings, size) if by == "time" else _any(ratings, size, random)
    return _of_each_user(ratings, test, by, random)


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
    """The number of n that are tested: at least one and not all of them."""
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


def _any(ratings: Ratings, size: int, random: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Marks so many ratings, whichever."""
    order = ratings._zeros(len(ratings), np.int32 if len(ratings) < 2**31 else np.int64)
    chosen, indptr = ratings._zeros(len(ratings), bool), ratings.by_user.indptr
    for begin in range(0, len(order), _AT_ONCE):
        order[begin : begin + _AT_ONCE] = np.arange(begin, min(begin + _AT_ONCE, len(order)))
    random.shuffle(order)
    chosen[order[:size]] = True
    for first, rows in ratings.by_user.pieces():
        yield np.array(chosen[indptr[first] : indptr[first + rows.n_rows]])


def _latest(ratings: Ratings, size: int) -> Iterator[NDArray[np.bool_]]:
    """Marks so many ratings: the latest, and of those of one time the last in the order by user, then item."""
    threshold, n_later, n_equal = _nth_latest(ratings, size)
    passed_over = n_equal - (size - n_later)
    for first, rows in ratings.by_user.pieces():
        times = ratings._times_of(first, first + rows.n_rows)
        assert times is not None
        equal = times == threshold
        yield (times > threshold) | (equal & (np.cumsum(equal) > passed_over))
        passed_over -= int(np.count_nonzero(equal))


def _nth_latest(ratings: Ratings, n: int) -> tuple[int, int, int]:
    """The time of the n-th latest rating, how many are later, and how many are of that time."""

    def times() -> Iterator[NDArray[np.int64]]:
        return (piece.timestamps for piece in ratings.pieces() if piece.timestamps is not None)

    low, high = min(int(some.min()) for some in times()), max(int(some.max()) for some in times())
    later = 0
    while True:
        width, counts = (high - low) // _BINS + 1, np.zeros(_BINS, np.int64)
        for some in times():
            inside = some[(some >= low) & (some <= high)].view(np.uint64) - np.uint64(low % 2**64)
            counts += np.bincount((inside // np.uint64(width)).astype(np.int64), minlength=_BINS)
        upto = later + np.cumsum(counts[::-1])
        place = int(np.searchsorted(upto, n))
        found = _BINS - 1 - place
        later = int(upto[place] - counts[found])
        low = low + found * width
        if width == 1:
            return low, later, int(counts[found])
        high = min(low + width - 1, high)


def _of_each_user(ratings: Ratings, test: float, by: By, random: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Marks in every row as many entries as its quota: the latest, or those with the smallest random numbers."""
    counts = ratings.by_user.counts()
    if test >= 1:
        quotas = np.minimum(counts - 1, int(test)).clip(min=0)
        if not quotas.any():
            raise ValueError(f"test={test} leaves each user one rating, but nobody has two; give a share, such as 0.2")
    else:
        quotas = _random_quotas(test * counts.astype(np.float64), _size(test, len(ratings), "ratings"), random)
    for first, rows in ratings.by_user.pieces():
        here = slice(first, first + rows.n_rows)
        n = len(rows.indices)
        if by == "last":
            times = ratings._times_of(here.start, here.stop)
            assert times is not None
            ranks = np.empty(n, dtype=np.int64)
            ranks[np.argsort(times, kind="stable")[::-1]] = np.arange(n)
        else:
            ranks = random.integers(2**32, size=n)
        in_order = shuffled_rows(rows, ranks)
        chosen = np.zeros(n, dtype=bool)
        place_in_row = np.arange(n) - np.repeat(rows.indptr[:-1], counts[here])
        chosen[in_order[place_in_row < np.repeat(quotas[here], counts[here])]] = True
        yield chosen


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
