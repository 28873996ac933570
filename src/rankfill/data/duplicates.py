"""Pairs of user and item that come more than once."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.data.vocabulary import Id, Vocabulary
from rankfill.kernels import Rows

Duplicates = Literal["error", "last", "mean", "first"]


class DuplicatePairError(ValueError):
    """A user rates an item twice and nothing says which rating counts; `rows` are the two input rows."""

    def __init__(self, user: Id, item: Id, rows: tuple[int, int], place: str = "") -> None:
        super().__init__(
            f"user {user!r} rates item {item!r} twice, {place or f'at rows {rows[0]} and {rows[1]}'}; "
            'say which to keep: duplicates="last", "first" or "mean"'
        )
        self.user, self.item, self.rows = user, item, rows

    def at(self, place: str) -> "DuplicatePairError":
        """The same in the words of whoever knows where the rows came from."""
        return DuplicatePairError(self.user, self.item, self.rows, place)


def merge_duplicates(
    users: Vocabulary,
    items: Vocabulary,
    by_user: Rows,
    order: NDArray[np.int64],
    times: NDArray[np.int64] | None,
    duplicates: Duplicates,
) -> tuple[Rows, NDArray[np.int64]]:
    """One entry a pair. `order[k]` is the input row of entry k; of merged entries, that of the one kept or the last."""
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = by_user.indices[1:] != by_user.indices[:-1]
    begins[by_user.indptr[:-1][by_user.counts() > 0]] = True
    if begins.all():
        return by_user, order
    rows = by_user.row_of_entry()
    if duplicates == "error":
        again = int(np.argmin(begins))
        user, item = users.ids([rows[again]]).item(), items.ids([by_user.indices[again]]).item()
        raise DuplicatePairError(user, item, (int(order[again - 1]), int(order[again])))
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(order)) - 1
    values = by_user.values
    if times is not None:  # within a pair, order by time; ties keep the order given
        within = np.lexsort((times[order], np.cumsum(begins)))
        order, values = order[within], values[within]
    kept = first if duplicates == "first" else last
    if duplicates == "mean":
        merged = (np.add.reduceat(values, first, dtype=np.float64) / (last - first + 1)).astype(np.float32)
    else:
        merged = values[kept]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=by_user.n_rows))])
    return Rows(indptr, by_user.indices[first], merged), order[kept]
