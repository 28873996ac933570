"""The best items of each user, from a matrix of scores."""

import numpy as np
from numpy.typing import NDArray


def best_of(
    scores: NDArray[np.float32],
    n: int,
    allowed: NDArray[np.bool_],
    seen_indptr: NDArray[np.int64],
    seen_items: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The n best items of each row: score down, then index up; padded with item −1 and score NaN.

    Row r never gets an item of row r of `seen` nor one that is not `allowed`. The scores of these are overwritten.

    >>> best_of(np.array([[1, 3, 3]], np.float32), 2, np.ones(3, bool), np.array([0, 0]), np.empty(0, np.int32))
    (array([[1, 2]], dtype=int32), array([[3., 3.]], dtype=float32))
    """
    n_rows, n_items = scores.shape
    scores[:, ~allowed] = -np.inf
    scores[np.repeat(np.arange(n_rows), np.diff(seen_indptr)), seen_items] = -np.inf
    items, best = np.full((n_rows, n), -1, np.int32), np.full((n_rows, n), np.nan, np.float32)
    last = np.partition(scores, n_items - n, axis=1)[:, n_items - n]
    rows, columns = np.nonzero((scores >= last[:, None]) & (scores > -np.inf))
    found = scores[rows, columns]
    order = np.lexsort((columns, -found, rows))
    rows, columns, found = rows[order], columns[order], found[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, np.arange(n_rows))[rows]
    kept = places < n
    items[rows[kept], places[kept]] = columns[kept]
    best[rows[kept], places[kept]] = found[kept]
    return items, best
