"""Ratings from arrays, frames and matrices."""

from typing import Any, Self, get_args

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from rankfill.data.checks import finite_float32, whole_seconds
from rankfill.data.duplicates import Duplicates, event_values, merge_duplicates
from rankfill.data.frames import columns_of
from rankfill.data.ordering import arrival_of, sort_pairs
from rankfill.data.ratings.entries import Entries
from rankfill.data.vocabulary import Vocabulary
from rankfill.shown import shown


class Making(Entries):
    """The ``from_…`` methods of `Ratings`."""

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        values: ArrayLike | None = None,
        timestamps: ArrayLike | None = None,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Makes ratings from arrays of the same length: users, items and, where there are any, values.

        Parameters
        ----------
        users, items : array-like of int or str
            Ids: whole numbers of 64 bits, or strings. What comes in as a number goes out as int, what comes in as a
            string goes out as str, to the letter. Floats that are whole numbers count as such: pandas makes 3.0 of a
            3 in a column where another id is missing. A missing id (NaN, None) is an error that names the row.
        values : array-like of float, optional
            Finite numbers. Left out where there are only positives, such as what was bought or heard: each is a
            rating of 1.
        timestamps : array-like, optional
            Whole seconds, datetime64 or ISO dates.
        duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
            What to do with a pair that comes more than once. ``"error"`` refuses it. ``"last"`` and ``"first"`` keep
            one rating, by time where there are timestamps, else as given. ``"mean"`` keeps the mean of the values.
            The others make ratings of the events of a log: ``"sum"`` adds the values, ``"count"`` counts the events
            whatever their values, and ``"decay"`` adds the values, each halved for every 90 days that it lies before
            the last event of all, which needs timestamps. (For another half-life multiply the values before, and use
            ``"sum"``.) All but ``"first"`` keep the last timestamp.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_arrays([1, 1], [7, 7], [2.0, 4.0], duplicates="mean").values
        array([3.], dtype=float32)
        >>> rf.Ratings.from_arrays(["ann", "bob", "ann"], ["tea", "tea", "tea"], duplicates="count").values
        array([2., 1.], dtype=float32)
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
        values: ArrayLike | None = None,
        timestamps: ArrayLike | None = None,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Makes ratings from row numbers in given vocabularies instead of ids.

        Parameters
        ----------
        users, items : Vocabulary
            The ids.
        user_indices, item_indices : ndarray of int32
            Row numbers in them, one per rating.
        values : array-like of float, optional
            Finite numbers; 1 where they are left out.
        timestamps : array-like, optional
            As in `from_arrays`.
        duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
            As in `from_arrays`.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> people, drinks = rf.Vocabulary(["ann", "bob"]), rf.Vocabulary(["tea"])
        >>> rows = np.array([1], dtype=np.int32), np.array([0], dtype=np.int32)
        >>> rf.Ratings.from_indices(people, drinks, *rows, [4.0])
        Ratings(1 ratings, 2 users, 1 items, values 4 to 4)
        """
        if duplicates not in get_args(Duplicates):
            raise ValueError(f"duplicates must be one of {', '.join(get_args(Duplicates))}, found {shown(duplicates)}")
        if values is None:
            values = np.ones(len(user_indices), dtype=np.float32)
        lengths = {len(user_indices), len(item_indices), np.size(values)}
        if len(lengths) > 1:
            raise ValueError(
                "users, items and values must have the same length, "
                f"found {len(user_indices)}, {len(item_indices)} and {np.size(values)}"
            )
        _check_rows(user_indices, len(users), "user")
        _check_rows(item_indices, len(items), "item")
        checked = finite_float32(values)
        times = None if timestamps is None else whole_seconds(timestamps, len(checked))
        checked = event_values(checked, times, duplicates)
        by_user, order = sort_pairs(user_indices, item_indices, checked, len(users), len(items))
        by_user, order = merge_duplicates(users, items, by_user, order, times, duplicates)
        if times is not None:
            return cls._class()(users, items, by_user, times[order])
        return cls._class()(users, items, by_user, arrival=arrival_of(order))

    @classmethod
    def from_sparse(cls, matrix: Any, duplicates: Duplicates = "error") -> Self:
        """Makes ratings from a SciPy sparse matrix of users by items.

        Parameters
        ----------
        matrix : sparse array or matrix
            Stored zeros are ratings of zero, absent entries are unknown. Ids are the row and column numbers.
        duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
            What to do with entries that are stored twice, as in `from_arrays`.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_sparse(scipy.sparse.csr_array([[5, 0], [3, 4]]))
        Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
        """
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
    def from_dense(cls, array: ArrayLike) -> Self:
        """Makes ratings from a full matrix of users by items.

        Parameters
        ----------
        array : array-like of shape (n_users, n_items)
            NaN or None is unknown. Ids are the row and column numbers.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]])
        Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
        """
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
    ) -> Self:
        """Makes ratings from a pandas, polars or pyarrow frame.

        Parameters
        ----------
        frame : DataFrame, LazyFrame or Table
            One rating per row. Of a lazy frame only the columns needed are collected.
        columns : tuple of str, optional
            The columns of users, items, ratings and, where there are any, timestamps. Two columns are positives alone,
            each a rating of 1; a third with a usual name of times, such as timestamp or date, goes with them. By
            default they are found by their usual names: user, userId, user_id and so on; count, plays, clicks or
            quantity for a rating.
        duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
            What to do with a pair that comes more than once, as in `from_arrays`.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import polars as pl
        >>> import rankfill as rf
        >>> rf.Ratings.from_frame(pl.DataFrame({"user": ["ann"], "item": ["tea"], "rating": [5.0]}))
        Ratings(1 ratings, 1 users, 1 items, values 5 to 5)
        """
        found = columns_of(frame, columns)
        return cls.from_arrays(
            found["user"], found["item"], found.get("rating"), found.get("timestamp"), duplicates=duplicates
        )


def _check_rows(indices: NDArray[np.int32], n: int, side: str) -> None:
    """Refuses row numbers that the vocabulary does not have."""
    if not len(indices) or (indices.min() >= 0 and indices.max() < n):
        return
    position = int(np.argmax((indices < 0) | (indices >= n)))
    raise ValueError(
        f"{side}_indices must be row numbers of the {n} {side}s, 0 to {n - 1}, "
        f"found {indices[position]} at position {position}; make them with {side}s.index or {side}s.add"
    )
