"""Pairs of user and item that come more than once."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.data.checks import finite_float32
from rankfill.data.vocabulary import Id, Vocabulary
from rankfill.kernels import Rows
from rankfill.shown import shown

Duplicates = Literal["error", "last", "mean", "first", "sum", "count", "decay"]
TIMED = ("last", "first", "decay")
"""The rules for which it matters when a rating was given."""

HALF_LIFE = 90 * 24 * 60 * 60
"""Seconds in which an event comes to count half with duplicates="decay"."""


class DuplicatePairError(ValueError):
    """A user rates an item twice and nothing says which rating counts; `rows` are the two input rows."""

    def __init__(self, user: Id, item: Id, rows: tuple[int, int], place: str = "") -> None:
        super().__init__(
            f"user {shown(user)} rates item {shown(item)} twice, {place or f'at rows {rows[0]} and {rows[1]}'}; "
            'say which to keep: duplicates="last", "first" or "mean"; or add up events: "sum", "count" or "decay"'
        )
        self.user, self.item, self.rows = user, item, rows

    def at(self, place: str) -> "DuplicatePairError":
        """The same error naming another place, for callers who know where the rows came from."""
        return DuplicatePairError(self.user, self.item, self.rows, place)


def event_values(
    values: NDArray[np.float32], times: NDArray[np.int64] | None, duplicates: Duplicates
) -> NDArray[np.float32]:
    """The amount that each event adds to its pair: 1 to a count, less the older it is with decay, else its value."""
    if duplicates == "count":
        return np.ones_like(values)
    if duplicates != "decay":
        return values
    if times is None:
        raise ValueError(
            'duplicates="decay" needs timestamps, these ratings have none; give them, or use "sum" or "count"'
        )
    age = (times.max() if len(times) else 0) - times.astype(np.float64)
    return (values * np.exp2(-age / HALF_LIFE)).astype(np.float32)


def merge_duplicates(
    users: Vocabulary,
    items: Vocabulary,
    by_user: Rows,
    order: NDArray[np.int64],
    times: NDArray[np.int64] | None,
    duplicates: Duplicates,
) -> tuple[Rows, NDArray[np.int64]]:
    """One entry per pair. `order[k]` is the input row of entry k; for merged entries, of the one kept or the last."""
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
    if duplicates in ("first", "last"):
        merged = values[kept]
    else:
        sums = np.add.reduceat(values, first, dtype=np.float64)
        merged = finite_float32(sums / (last - first + 1) if duplicates == "mean" else sums)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=by_user.n_rows))])
    return Rows.taking(indptr, by_user.indices[first], merged), order[kept]
