"""The ratings as they are stored: immutable, by user and by item, unknown entries absent.

16 bytes a rating for both orientations, plus 8 for timestamps where there are any, or else 4 for the order of
arrival where that differs from the order by user.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.scale import scale_of
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import PIECE, Rows


class Entries:
    """The data of `Ratings` and simple properties; see there for the attributes."""

    def __init__(
        self,
        users: Vocabulary,
        items: Vocabulary,
        by_user: Rows,
        timestamps: NDArray[np.int64] | None = None,
        arrival: NDArray[np.integer] | None = None,
    ) -> None:
        """Trusts its arguments: `by_user` has ascending items in every row; use a `from_…` method instead."""
        self.users = users
        self.items = items
        self.by_user = by_user
        self.timestamps = timestamps
        self._arrival = arrival
        for array in (*by_user, timestamps, arrival):
            if array is not None:
                array.flags.writeable = False

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_users, self.n_items

    def __len__(self) -> int:
        return len(self.by_user.values)

    def __repr__(self) -> str:
        span = f", values {self.values.min():g} to {self.values.max():g}" if len(self) else ""
        return f"Ratings({len(self):,} ratings, {self.n_users:,} users, {self.n_items:,} items{span})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entries):
            return NotImplemented
        mine, theirs = self.by_user, other.by_user
        same_times = (self.timestamps is None) == (other.timestamps is None) and (
            self.timestamps is None or np.array_equal(self.timestamps, other.timestamps)  # type: ignore[arg-type]
        )
        return (
            same_times
            and self.users == other.users
            and self.items == other.items
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
            and np.array_equal(mine.values, theirs.values)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def by_item(self) -> Rows:
        """The ratings of each item, users ascending."""
        rows = self.by_user.transposed(self.n_items)
        for array in rows:
            array.flags.writeable = False
        return rows

    @property
    def user_indices(self) -> NDArray[np.int32]:
        """The user's row number of every rating, in order by user, then item; made anew on each call."""
        return self.by_user.row_of_entry()

    @property
    def item_indices(self) -> NDArray[np.int32]:
        """The item's row number of every rating, in the same order."""
        return self.by_user.indices

    @property
    def values(self) -> NDArray[np.float32]:
        """Every rating, in the same order."""
        return self.by_user.values

    def mean(self) -> float:
        """The mean rating; 0 when there is none.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]]).mean()
        4.0
        """
        return float(self.values.mean(dtype=np.float64)) if len(self) else 0.0

    def scale(self) -> tuple[float, float]:
        """The least and the greatest rating, without the few that stand far apart from all others.

        One 50 among ratings of 1 to 5 is a mistake and no reason to predict 50. At each end at most one rating in a
        thousand is left out, and only if it is farther from the rest than the rest is wide.

        Returns
        -------
        low, high : float
            Zero and zero when there is no rating.

        Examples
        --------
        >>> import numpy as np
        >>> values = np.append(np.tile([1.0, 2, 3, 4, 5], 40), 50)
        >>> import rankfill as rf
        >>> rf.Ratings.from_arrays(np.arange(201), np.arange(201), values).scale()
        (1.0, 5.0)
        """
        return scale_of(self.values)

    def pieces(self) -> Iterator[Self]:
        """Goes through the ratings about a million at a time, with the same ids; no piece is empty.

        Where a piece ends depends on how many ratings each user has, not on where the ratings are kept.

        Yields
        ------
        Ratings
            All ratings of some users that follow each other.

        Examples
        --------
        >>> import rankfill as rf
        >>> [len(piece) for piece in rf.Ratings.from_dense([[5, None], [3, 1]]).pieces()]
        [3]
        """
        if 0 < len(self) <= PIECE and type(self.by_user) is Rows:
            yield self
            return
        begin = 0
        for first, rows in self.by_user.pieces():
            end = begin + len(rows.indices)
            if end > begin:
                indptr = np.zeros(self.n_users + 1, np.int64)
                indptr[first : first + rows.n_rows + 1] = rows.indptr
                indptr[first + rows.n_rows + 1 :] = end - begin
                times = self._times_of(first, first + rows.n_rows)
                yield self._class()(self.users, self.items, Rows(indptr, rows.indices, rows.values), times)
            begin = end

    def _item_counts(self) -> NDArray[np.int64]:
        """How many ratings each item has."""
        return np.bincount(self.item_indices, minlength=self.n_items)

    def _times_of(self, first: int, last: int) -> NDArray[np.int64] | None:
        """The timestamps of the ratings by users `first` … `last` − 1."""
        begin, end = (int(self.by_user.indptr[row]) for row in (first, last))
        return None if self.timestamps is None else self.timestamps[begin:end]

    @classmethod
    def _class(cls) -> type[Self]:
        """Takes some entries; selections and batches are made by this."""
        return cls

    def stream_order(self) -> NDArray[np.integer]:
        """The positions of the ratings in the order of their timestamps, or without any in the order they came in.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_arrays([2, 1], [7, 7], [3.0, 4.0]).stream_order().tolist()
        [1, 0]
        """
        if self.timestamps is not None:
            return np.argsort(self.timestamps, kind="stable")
        return np.arange(len(self)) if self._arrival is None else self._arrival
