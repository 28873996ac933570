"""Whatever can be taken for ratings: frames, matrices, files, arrays and lists."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.data.duplicates import Duplicates
from rankfill.data.frames import is_frame
from rankfill.data.ratings import Ratings
from rankfill.data.readers import read_ratings
from rankfill.shown import shown

RatingsLike: TypeAlias = Ratings | str | os.PathLike[str] | Sequence[Sequence[Any]] | NDArray[Any] | Any
"""What `as_ratings` accepts; frames and sparse matrices are of libraries that need not be installed."""


def as_ratings(data: RatingsLike, columns: tuple[str, ...] | None = None, duplicates: Duplicates = "error") -> Ratings:
    """Makes ratings of whatever can be taken for some; models, `evaluate` and `split` take the same.

    Parameters
    ----------
    data : Ratings, frame, sparse matrix, path, array or list
        - `Ratings` are returned as they are.
        - A data frame of pandas, polars (lazy, too) or pyarrow has one rating per row: `Ratings.from_frame`.
        - A SciPy sparse matrix, CSR, COO or any other, has a row per user and a column per item; what it does not store
          is unknown: `Ratings.from_sparse`.
        - A path, or ``"-"`` for standard input, is a file of ratings: `read_ratings`; the folder of a store is opened:
          `open_store`.
        - A NumPy array of two to four columns, or a list of tuples as long, has one rating per row: user, item and
          perhaps rating and timestamp. Without a rating each row is a rating of 1. (A full matrix of users by items is
          for `Ratings.from_dense`.)
    columns : tuple of str, optional
        The columns of user, item and perhaps rating and timestamp, of a frame or a file.
    duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
        What to do with a pair that comes more than once, as in `Ratings.from_arrays`.

    Returns
    -------
    Ratings

    Raises
    ------
    TypeError
        If it is none of these.

    Examples
    --------
    >>> import rankfill as rf
    >>> rf.as_ratings([("ann", "tea", 5), ("ann", "milk", 3), ("bob", "tea", 4)])
    Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
    >>> rf.as_ratings(np.array([[1, 7], [1, 8], [2, 7]]))
    Ratings(3 ratings, 2 users, 2 items, values 1 to 1)
    """
    if isinstance(data, Ratings):
        return data
    if isinstance(data, str | os.PathLike):
        return read_ratings(Path(data), columns, duplicates)
    if is_frame(data):
        return Ratings.from_frame(data, columns, duplicates)
    if columns is not None:
        raise ValueError(f"columns are for frames and files, which have names; found a {type(data).__name__}")
    if scipy.sparse.issparse(data):
        return Ratings.from_sparse(data, duplicates)
    if isinstance(data, np.ndarray | list | tuple):
        found = _columns_of_array(data) if isinstance(data, np.ndarray) else _columns_of_list(data)
        values, times = (*found[2:], None, None)[:2]
        return Ratings.from_arrays(found[0], found[1], values, times, duplicates)
    raise TypeError(
        f"ratings are Ratings, a data frame, a sparse matrix, the path of a file, or an array or list of user, item "
        f"and rating; found {type(data).__name__}"
    )


def _columns_of_array(array: NDArray[Any]) -> list[NDArray[Any]]:
    if array.ndim != 2 or not 2 <= array.shape[1] <= 4:
        raise ValueError(
            f"an array of ratings has two to four columns (user, item, rating, timestamp), found shape {array.shape}; "
            "a full matrix of users by items goes through Ratings.from_dense"
        )
    if array.dtype.kind == "O":
        return [_column(column.tolist()) for column in array.T]
    return list(array.T)


def _columns_of_list(rows: Sequence[Any]) -> list[NDArray[Any]]:
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in rows]
    expected = lengths[0] if lengths else 2
    for place, length in enumerate(lengths):
        if length != expected or not 2 <= length <= 4:
            raise TypeError(
                f"a list of ratings holds tuples of user, item and perhaps rating and timestamp, all of one length; "
                f"found {shown(rows[place])} at position {place}"
            )
    return [_column(list(column)) for column in zip(*rows, strict=True)] or [np.zeros(0, np.int64)] * 2


def _column(values: list[Any]) -> NDArray[Any]:
    """An array in which strings beside numbers stay what they are, so that ids are never converted in silence."""
    return np.array(values, dtype=object if any(isinstance(value, str) for value in values) else None)
