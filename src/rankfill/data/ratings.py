"""The ratings matrix: immutable, by user and by item, unknown entries absent.

16 bytes a rating for both orientations, plus 8 for timestamps where there are any, or else 4 for the order of
arrival where that differs from the order by user.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows, sort_into_rows

Duplicates = Literal["error", "last", "mean", "first"]


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
        checked = _finite_float32(values)
        times = None if timestamps is None else _checked_timestamps(timestamps, len(checked))
        by_item, order = sort_into_rows(item_indices, user_indices, checked, len(items), with_order=True)
        by_user, order_within = sort_into_rows(
            by_item.indices, by_item.row_of_entry(), by_item.values, len(users), with_order=True
        )
        order = order[order_within]
        return cls._merged(users, items, by_user, order, times, duplicates)

    @classmethod
    def _merged(
        cls,
        users: Vocabulary,
        items: Vocabulary,
        by_user: Rows,
        order: NDArray[np.int64],
        times: NDArray[np.int64] | None,
        duplicates: Duplicates,
    ) -> "Ratings":
        """Deals with repeated pairs, then fixes the order of arrival; `order[k]` is the input row of entry k."""
        rows = by_user.row_of_entry()
        starts = np.ones(len(order), dtype=bool)
        starts[1:] = (rows[1:] != rows[:-1]) | (by_user.indices[1:] != by_user.indices[:-1])
        values = by_user.values
        if not starts.all():
            if duplicates == "error":
                again = int(np.flatnonzero(~starts)[0])
                raise ValueError(
                    f"user {users.ids([rows[again]])[0]!r} rates item {items.ids([by_user.indices[again]])[0]!r} twice, "
                    f"at rows {order[again - 1]} and {order[again]}; "
                    'say which to keep: duplicates="last", "first" or "mean"'
                )
            first = np.flatnonzero(starts)
            last = np.append(first[1:], len(order)) - 1
            if times is not None:  # within a pair, order by time; ties keep the order given
                group = np.cumsum(starts)
                within = np.lexsort((times[order], group))
                order, values = order[within], values[within]
            if duplicates == "mean":
                values = (np.add.reduceat(values, first, dtype=np.float64) / (last - first + 1)).astype(np.float32)
            else:
                values = values[first if duplicates == "first" else last]
            order = order[first if duplicates == "first" else last]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=len(users)))])
            by_user = Rows(indptr, by_user.indices[first], values)
        if times is not None:
            return cls(users, items, by_user, np.ascontiguousarray(times[order]))
        in_order = len(order) == 0 or bool((order[1:] > order[:-1]).all())
        return cls(users, items, by_user, arrival=None if in_order else _inverse(order))

    @classmethod
    def from_sparse(cls, matrix: Any) -> "Ratings":
        """From a SciPy sparse matrix, users by items; stored zeros are observations, absent entries unknown."""
        coordinates = scipy.sparse.coo_array(matrix)
        rows, columns = coordinates.coords
        return cls.from_indices(
            Vocabulary.of_range(coordinates.shape[0]),
            Vocabulary.of_range(coordinates.shape[1]),
            np.ascontiguousarray(rows, dtype=np.int32),
            np.ascontiguousarray(columns, dtype=np.int32),
            coordinates.data,
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
        arrays = [table[name].to_numpy() for name in chosen]
        return cls.from_arrays(*arrays, duplicates=duplicates)

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
        same_times = (self.timestamps is None) == (other.timestamps is None) and (
            self.timestamps is None or np.array_equal(self.timestamps, other.timestamps)  # type: ignore[arg-type]
        )
        return (
            same_times
            and self.users == other.users
            and self.items == other.items
            and all(map(np.array_equal, self.by_user, other.by_user))
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
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.by_user.indptr]
        by_user = Rows(indptr, self.item_indices[keep], self.values[keep])
        times = None if self.timestamps is None else self.timestamps[keep]
        arrival = None
        if self._arrival is not None:
            new_position = np.cumsum(keep) - 1
            arrival = _compact(new_position[self._arrival[keep[self._arrival]]])
        return Ratings(self.users, self.items, by_user, times, arrival)

    def with_values(self, transform: Callable[[NDArray[np.float32]], ArrayLike]) -> "Ratings":
        """The same pairs with other values."""
        rows = self.by_user._replace(values=_finite_float32(transform(self.values)))
        return Ratings(self.users, self.items, rows, self.timestamps, self._arrival)

    def shifted(self, offset: float | None = None) -> "Ratings":
        """Every rating plus `offset`; by default what brings the smallest to zero, for non-negative models."""
        amount = -float(self.values.min(initial=np.inf)) if offset is None else offset
        return self.with_values(lambda values: values + np.float32(amount)) if len(self) else self

    def to_scipy(self) -> scipy.sparse.csr_array:
        """A SciPy CSR array of users by items; observed zeros are stored."""
        return scipy.sparse.csr_array((self.values, self.item_indices, self.by_user.indptr), shape=self.shape)


def _finite_float32(values: ArrayLike) -> NDArray[np.float32]:
    array = np.asarray(values)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"ratings must be numbers, found dtype {array.dtype}")
    with np.errstate(over="ignore"):
        converted = np.array(array, dtype=np.float32).reshape(-1)
    finite = np.isfinite(converted)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"ratings must be finite numbers, found {array.reshape(-1)[bad]} at row {bad}; "
            "drop the row, or leave the entry out if it is unknown"
        )
    return converted


def _checked_timestamps(timestamps: ArrayLike, n: int) -> NDArray[np.int64]:
    array = np.asarray(timestamps)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[s]")
    if array.shape != (n,):
        raise ValueError(f"timestamps must have one value a rating ({n}), found shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"timestamps must be whole numbers, found {array[bad]} at row {bad}")
    return array.astype(np.int64)


def _inverse(order: NDArray[np.int64]) -> NDArray[np.integer]:
    """The positions of `order` sorted by its distinct values, in linear time."""
    position = np.full(int(order.max()) + 1, -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    return _compact(position[position >= 0])


def _compact(positions: NDArray[np.integer]) -> NDArray[np.integer]:
    return positions.astype(np.uint32) if len(positions) < 2**32 else positions
