"""The ratings matrix: immutable, by user and by item, unknown entries absent.

16 bytes a rating for both orientations, plus 8 for timestamps where there are any, or else 4 for the order of
arrival where that differs from the order by user.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, get_args

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from rankfill.data.checks import finite_float32, whole_seconds
from rankfill.data.duplicates import Duplicates, merge_duplicates
from rankfill.data.ordering import arrival_of, compact, sort_pairs
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows


class Ratings:
    """Who rated what, how, and perhaps when. Make one with a `from_…` method or `read_ratings`.

    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
    >>> ratings
    Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
    >>> ratings.by_item.values  # milk: ann; tea: ann, bob
    array([3., 5., 4.], dtype=float32)
    """

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

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        values: ArrayLike,
        timestamps: ArrayLike | None = None,
        duplicates: Duplicates = "error",
    ) -> "Ratings":
        """From one id of a user, one of an item and one value a rating.

        A pair that comes twice is an error unless `duplicates` says which to keep: "last" or "first" (by time
        where there are timestamps, else as given) or the "mean" of the values (with the last timestamp).
        """
        user_vocabulary, user_indices = Vocabulary.numbered(users)
        item_vocabulary, item_indices = Vocabulary.numbered(items)
        return cls.from_indices(
            user_vocabulary, item_vocabulary, user_indices, item_indices, values, timestamps, duplicates
        )

    @classmethod
    def from_indices(
        cls,
        users: Vocabulary,
        items: Vocabulary,
        user_indices: NDArray[np.int32],
        item_indices: NDArray[np.int32],
        values: ArrayLike,
        timestamps: ArrayLike | None = None,
        duplicates: Duplicates = "error",
    ) -> "Ratings":
        """Like `from_arrays`, with row numbers of given vocabularies instead of ids."""
        if duplicates not in get_args(Duplicates):
            raise ValueError(f"duplicates must be one of {', '.join(get_args(Duplicates))}, found {duplicates!r}")
        lengths = {len(user_indices), len(item_indices), np.size(values)}
        if len(lengths) > 1:
            raise ValueError(
                "users, items and values must have the same length, "
                f"found {len(user_indices)}, {len(item_indices)} and {np.size(values)}"
            )
        checked = finite_float32(values)
        times = None if timestamps is None else whole_seconds(timestamps, len(checked))
        by_user, order = sort_pairs(user_indices, item_indices, checked, len(users), len(items))
        by_user, order = merge_duplicates(users, items, by_user, order, times, duplicates)
        if times is not None:
            return cls(users, items, by_user, times[order])
        return cls(users, items, by_user, arrival=arrival_of(order))

    @classmethod
    def from_sparse(cls, matrix: Any, duplicates: Duplicates = "error") -> "Ratings":
        """From a SciPy sparse matrix, users by items; stored zeros are observations, absent entries unknown."""
        coordinates = scipy.sparse.coo_array(matrix)
        rows, columns = coordinates.coords
        return cls.from_indices(
            Vocabulary.of_range(coordinates.shape[0]),
            Vocabulary.of_range(coordinates.shape[1]),
            np.ascontiguousarray(rows, dtype=np.int32),
            np.ascontiguousarray(columns, dtype=np.int32),
            coordinates.data,
            duplicates=duplicates,
        )

    @classmethod
    def from_dense(cls, array: ArrayLike) -> "Ratings":
        """From a matrix of users by items in which NaN is unknown."""
        dense = np.asarray(array, dtype=np.float64)
        if dense.ndim != 2:
            raise ValueError(f"a dense matrix has two dimensions, found {dense.ndim}")
        rows, columns = np.nonzero(~np.isnan(dense))
        return cls.from_indices(
            Vocabulary.of_range(dense.shape[0]),
            Vocabulary.of_range(dense.shape[1]),
            rows.astype(np.int32),
            columns.astype(np.int32),
            dense[rows, columns],
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        columns: tuple[str, ...] | None = None,
        duplicates: Duplicates = "error",
    ) -> "Ratings":
        """From a pandas, polars or pyarrow frame.

        `columns` names the columns of users, items, ratings and, where there are any, timestamps; without it
        they are found by their usual names (user, userId, user_id, … as in `read_ratings`).
        """
        import narwhals as nw

        from rankfill.data.columns import match_columns

        table = nw.from_native(frame, eager_only=True)
        chosen = match_columns(table.columns, columns)
        users, items, values, *times = (table[name].to_numpy() for name in chosen)
        return cls.from_arrays(users, items, values, times[0] if times else None, duplicates)

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
        if not isinstance(other, Ratings):
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
        """The mean rating; 0 when there is none."""
        return float(self.values.mean(dtype=np.float64)) if len(self) else 0.0

    def stream_order(self) -> NDArray[np.integer]:
        """Positions of the ratings in the order of their timestamps, or without any in the order they came in."""
        if self.timestamps is not None:
            return np.argsort(self.timestamps, kind="stable")
        return np.arange(len(self)) if self._arrival is None else self._arrival

    def select(self, keep: NDArray[np.bool_]) -> "Ratings":
        """The ratings at which `keep` is true, with the same vocabularies, so that row numbers stay."""
        if keep.dtype != np.bool_ or keep.shape != (len(self),):
            raise ValueError(
                f"select needs one bool a rating ({len(self)}), found {keep.dtype} of shape {keep.shape}; "
                "make one from positions: keep = np.zeros(len(ratings), dtype=bool); keep[positions] = True"
            )
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.by_user.indptr]
        by_user = Rows(indptr, self.item_indices[keep], self.values[keep])
        times = None if self.timestamps is None else self.timestamps[keep]
        arrival = None
        if self._arrival is not None:
            new_position = np.cumsum(keep) - 1
            arrival = compact(new_position[self._arrival[keep[self._arrival]]])
        return Ratings(self.users, self.items, by_user, times, arrival)

    def with_values(self, transform: Callable[[NDArray[np.float32]], ArrayLike]) -> "Ratings":
        """The same pairs with other values."""
        values = finite_float32(transform(self.values))
        if len(values) != len(self):
            raise ValueError(f"transform must return one value a rating ({len(self)}), found {len(values)}")
        return Ratings(self.users, self.items, self.by_user._replace(values=values), self.timestamps, self._arrival)

    def shifted(self, offset: float | None = None) -> "Ratings":
        """Every rating plus `offset`; by default what brings the smallest to zero, for non-negative models."""
        amount = -float(self.values.min(initial=np.inf)) if offset is None else offset
        return self.with_values(lambda values: values + np.float32(amount)) if len(self) else self

    def to_scipy(self) -> scipy.sparse.csr_array:
        """A SciPy CSR array of users by items; observed zeros are stored."""
        return scipy.sparse.csr_array((self.values, self.item_indices, self.by_user.indptr), shape=self.shape)


__all__ = ["Duplicates", "Ratings"]
