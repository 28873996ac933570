"""Folds of ratings: every rating belongs to one of V parts.

`hashed_folds` depend on the ids of user and item and the seed alone: neither on the order of the ratings, nor on how
ids are numbered, nor on what else is in the data, nor on whether an id is the number 7 or the text "7". A rating
therefore keeps its fold when a file is read again, in batches, or after it has grown.
`placed_folds` are by the place in a stream, as a textbook has them.
`stratified_folds` give every fold an equal share of each user's ratings; for that they have to see all of them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data.ratings import Ratings
from rankfill.data.vocabulary import as_keys
from rankfill.kernels import Rows
from rankfill.kernels.hashing import Arrays
from rankfill.shown import shown

_MULTIPLIER = 0x9E3779B97F4A7C15
_LONGEST_NUMBER = 20
_AT_ONCE = 1 << 16


def fold_of(users: ArrayLike, items: ArrayLike, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold, 0 … folds − 1, of each pair of the ids of a user and an item, one pair a position.

    >>> fold_of(["ann", "ann", "bob"], [1, 2, 1], folds=5)
    array([2, 1, 2])
    >>> fold_of(["bob"], ["1"], folds=5)
    array([2])
    """
    check_folds(folds)
    return _pair(_hashes(as_keys(users)), _hashes(as_keys(items)), folds, seed)


def hashed_folds(ratings: Ratings, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each rating, in the order of `ratings.values`, by `fold_of`."""
    check_folds(folds)
    users, items = (_hashes(vocabulary.keys) for vocabulary in (ratings.users, ratings.items))
    return _pair(users[ratings.user_indices], items[ratings.item_indices], folds, seed)


def placed_folds(ratings: Ratings, folds: int, first: int = 0) -> NDArray[np.int64]:
    """The fold of each rating: its place in the stream modulo `folds`, the earliest one being number `first`.

    >>> ratings = Ratings.from_arrays([1, 2, 3], [1, 1, 1], [5.0] * 3, timestamps=[30, 10, 20])
    >>> placed_folds(ratings, folds=2, first=4)
    array([0, 0, 1])
    """
    check_folds(folds)
    placed = np.empty(len(ratings), dtype=np.int64)
    placed[ratings.stream_order()] = (first + np.arange(len(ratings))) % folds
    return placed


def stratified_folds(ratings: Ratings, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each rating: the sizes of the folds differ by at most one, for each user and in all.

    >>> ratings = Ratings.from_arrays(["ann"] * 4 + ["bob"] * 3, [1, 2, 3, 4, 1, 2, 3], [5.0] * 7)
    >>> stratified_folds(ratings, folds=2)
    array([1, 0, 0, 1, 1, 0, 0])
    """
    return np.concatenate(list(stratified_pieces(ratings, folds, seed)))


def stratified_pieces(ratings: Ratings, folds: int, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """The same, piece by piece of `ratings.by_user`: rows in random order, each shuffled, are dealt like cards."""
    check_folds(folds)
    random = np.random.default_rng(seed)
    order, counts = np.argsort(random.permutation(ratings.n_users)), ratings.by_user.counts()
    dealt_before = np.empty_like(counts)
    dealt_before[order] = np.cumsum(counts[order]) - counts[order]
    for first, rows in ratings.by_user.pieces():
        here, n = slice(first, first + rows.n_rows), len(rows.indices)
        dealt = np.empty(n, dtype=np.int64)
        in_order = shuffled_rows(rows, random.integers(2**32, size=n))
        dealt[in_order] = (np.arange(n) + np.repeat(dealt_before[here] - rows.indptr[:-1], counts[here])) % folds
        yield dealt


def shuffled_rows(rows: Rows, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all entries in the order by row, then rank; ranks are below 2³²."""
    return np.argsort(rows.row_of_entry().astype(np.int64) << 32 | ranks, kind="stable")


def check_folds(folds: int) -> None:
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise ValueError(f"folds must be a whole number of at least 2, found {shown(folds)}; 5 is usual")


def _pair(users: NDArray[np.uint64], items: NDArray[np.uint64], folds: int, seed: int) -> NDArray[np.int64]:
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return (_mix(_mix(users ^ start) + items) % np.uint64(folds)).astype(np.int64)


def _hashes(keys: Arrays) -> NDArray[np.uint64]:
    """Σ_k (byte_k + 1) M^(k+1) over the text of each id, modulo 2⁶⁴, mixed; a number is hashed as its digits."""
    if len(keys) == 1 and len(keys[0]) > _AT_ONCE:
        parts = range(0, len(keys[0]), _AT_ONCE)
        return np.concatenate([_hashes((keys[0][begin : begin + _AT_ONCE],)) for begin in parts])
    if len(keys) == 1:
        texts = keys[0].astype(f"S{_LONGEST_NUMBER}").view(np.uint8).reshape(-1, _LONGEST_NUMBER)
        terms = (texts.astype(np.uint64) + np.uint64(1)) * _powers(_LONGEST_NUMBER)
        return _mix(terms.sum(axis=1, where=texts > 0))
    data, offsets = keys
    lengths = np.diff(offsets)
    places = np.arange(len(data)) - np.repeat(offsets[:-1], lengths)
    terms = (data.astype(np.uint64) + np.uint64(1)) * _powers(int(lengths.max(initial=0)))[places]
    sums = np.append(np.uint64(0), np.cumsum(terms))  # wraps around, and so do the differences
    return _mix(sums[offsets[1:]] - sums[offsets[:-1]])


def _powers(n: int) -> NDArray[np.uint64]:
    return np.cumprod(np.full(n, _MULTIPLIER, dtype=np.uint64), dtype=np.uint64)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of the number: the finaliser of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
