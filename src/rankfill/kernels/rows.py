"""A sparse matrix by rows, and the counting sort that makes one."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.threads import get_threads

PIECE = 1 << 20
"""About how many entries are in a piece."""


class Block(NamedTuple):
    """Some rows that follow each other, and the number of the first of them."""

    first: int
    rows: "Rows"


class Rows:
    """Row r holds the entries `indptr[r]` … `indptr[r + 1] - 1` of `indices` (columns) and `values`.

    Where the entries are is checked once, here, and kept in arrays that nobody else can write to: a kernel follows the
    indices of a `Rows` without looking at them again.

    >>> rows = Rows(np.array([0, 2, 3]), np.array([1, 4, 1], np.int32), np.ones(3, np.float32))
    >>> rows.n_rows, rows.n_columns
    (2, 5)
    """

    __slots__ = ("indices", "indptr", "pattern", "values")

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    def __init__(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        _check_flat(indptr, "indptr", np.int64)
        _check_flat(indices, "indices", np.int32)
        self._take(indptr.copy(), indices.copy(), values)

    @classmethod
    def taking(cls, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float32]) -> "Rows":
        """Makes rows without copies, from arrays that the caller hands over."""
        _check_flat(indptr, "indptr", np.int64)
        _check_flat(indices, "indices", np.int32)
        return cls.__new__(cls)._take(indptr, indices, values)

    @classmethod
    def of_one(cls, index: int, values: NDArray[np.float32]) -> "Rows":
        """One row with one entry, without what there is to check in many."""
        if index < 0:
            raise ValueError(f"an index must be zero or more, found {index}")
        indices = own_and_read_only(np.array([index], np.int32))
        return cls.__new__(cls)._set(
            _native.Pattern.trusted(_ONE_ENTRY, indices, index + 1), _ONE_ENTRY, indices, values
        )

    def _take(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float32]) -> "Rows":
        indptr, indices = own_and_read_only(indptr), own_and_read_only(indices)
        return self._set(_native.Pattern(indptr, indices), indptr, indices, values)

    def _set(
        self,
        pattern: _native.Pattern,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32],
    ) -> "Rows":
        if values.shape != indices.shape:
            raise ValueError(f"there must be one value for each of the {len(indices)} indices, found {values.shape}")
        self.pattern = pattern  # what the kernels take for the first two arrays
        self.indptr, self.indices, self.values = indptr, indices, values
        return self

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.indptr, self.indices, self.values))

    def __reduce__(self) -> tuple[Callable[..., "Rows"], tuple[NDArray[Any], ...]]:
        return Rows.taking, tuple(self)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_columns(self) -> int:
        """The least number of columns: one more than the largest index."""
        return self.pattern.n_columns

    @property
    def some_indices(self) -> Any:
        """The indices for whoever asks for some of them, by a slice or by places: they need not be in memory."""
        return self.indices

    def counts(self) -> NDArray[np.int64]:
        """The number of entries of each row."""
        return np.diff(self.indptr)

    def row_of_entry(self) -> NDArray[np.int32]:
        """The row number of every entry."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), self.counts())

    def blocks(self) -> Iterator[Block]:
        """All rows in turn, as many at a time as memory has room for: here all at once.

        A kernel that moves every row by itself goes through the blocks. Rows on disk come in many (`data/store`).
        """
        yield Block(0, self)

    def blocks_with(self, moving: NDArray[np.float32]) -> Iterator[tuple[Block, NDArray[np.float32]]]:
        """The blocks, each with the part of `moving` that has a row for each of its rows."""
        for block in self.blocks():
            whole = block.rows.n_rows == self.n_rows  # then the kernel sees what else may be wrong
            if not whole and len(moving) != self.n_rows:
                raise ValueError(f"moving must have one row for each of the {self.n_rows} rows, has {len(moving)}")
            yield block, moving if whole else moving[block.first : block.first + block.rows.n_rows]

    def pieces(self) -> Iterator[Block]:
        """All rows in turn, about a million entries at a time.

        Where a piece ends depends on `indptr` alone: sums that are made piece by piece have the same bits for rows in
        memory and on disk.
        """
        for first, last in self.piece_bounds():
            yield Block(first, self.part(first, last))

    def piece_bounds(self) -> list[tuple[int, int]]:
        """The first row of each piece, and the one after its last."""
        return row_bounds(self.indptr, PIECE)

    def part(self, first: int, last: int) -> "Rows":
        """Rows `first` … `last` − 1, not copied."""
        if (first, last) == (0, self.n_rows):
            return self
        here = slice(int(self.indptr[first]), int(self.indptr[last]))
        indptr, indices = own_and_read_only(self.indptr[first : last + 1] - here.start), self.indices[here]
        pattern = _native.Pattern.trusted(indptr, indices, self.n_columns)
        return Rows.__new__(Rows)._set(pattern, indptr, indices, self.values[here])

    def of_rows(self, rows: NDArray[np.integer]) -> "Rows":
        """Some rows, in the order given; row −1 is empty."""
        places = self.places_of(rows)
        return Rows.taking(self._offsets_of(rows), self.indices[places], self.values[places])

    def places_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The places of the entries of some rows, row after row; row −1 is empty."""
        indptr = self._offsets_of(rows)
        return np.repeat(self.indptr[rows] - indptr[:-1], np.diff(indptr)) + np.arange(indptr[-1])

    def _offsets_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        counts = np.where(rows < 0, 0, self.indptr[rows + 1] - self.indptr[rows])
        return np.concatenate([[0], np.cumsum(counts)])

    def block(self, rows: slice) -> "Rows":
        """Rows that follow each other."""
        return self.part(rows.start, rows.stop)

    def _replace(self, *, values: NDArray[np.float32]) -> "Rows":
        """The same pattern, not checked again, with other values."""
        return Rows.__new__(Rows)._set(self.pattern, self.indptr, self.indices, values)

    def in_units(self, exponent: int) -> "Rows":
        """The same entries, their values divided by 2 to the power of that number; infinite where that is too much."""
        if exponent == 0:
            return self
        with np.errstate(over="ignore"):
            return self._replace(values=np.ldexp(self.values, -exponent))

    def transposed(self, n_columns: int) -> "Rows":
        """The same entries by column; within a column, rows ascend."""
        indptr, indices, values = _native.transpose(self.pattern, self.values, n_columns, get_threads())
        pattern = _native.Pattern.trusted(indptr, indices, self.n_rows)
        return Rows.__new__(Rows)._set(pattern, own_and_read_only(indptr), own_and_read_only(indices), values)


def row_bounds(indptr: NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    """First and last row of runs of whole rows with about `size` entries each; at least one run.

    >>> row_bounds(np.array([0, 3, 3, 4, 9]), 4)
    [(0, 3), (3, 4)]
    """
    inner = np.searchsorted(indptr, np.arange(size, int(indptr[-1]), size))
    return list(pairwise(np.unique([0, *inner.tolist(), len(indptr) - 1]).tolist())) or [(0, 0)]


def sort_into_rows(
    keys: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_keys: int,
    *,
    with_order: bool = False,
) -> tuple[Rows, NDArray[np.int64]]:
    """Stable counting sort by key. The second result says where each entry came from (empty unless asked for)."""
    sorted_rows = _native.counting_sort(keys, indices, values, n_keys, with_order, get_threads())
    return Rows.taking(*sorted_rows[:3]), sorted_rows[3]


def own_and_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view, in one piece, of an array that nobody else has a hold of: it cannot be written to from here on."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array.view()


_ONE_ENTRY = own_and_read_only(np.array([0, 1], np.int64))


def _check_flat(array: NDArray[Any], name: str, dtype: type[np.integer[Any]]) -> None:
    if array.ndim != 1 or array.dtype != dtype:
        raise ValueError(
            f"{name} must be a vector of {np.dtype(dtype)}, found {array.dtype} in {array.ndim} dimensions; "
            f"convert it: {name}.astype(np.{np.dtype(dtype)})"
        )
