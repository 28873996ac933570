"""Rows on disk: mapped into memory, and handed to the kernels a block at a time.

A block is a run of whole rows with about four million entries. Its indices stay where they are mapped; its ratings, if
they are kept as codes, are decoded into an array that all blocks share. While the kernels work on a block, the system
is already told to read the next one. A block is checked as any `Rows`, so no file can lead a kernel out of bounds.
"""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Block, Rows, decode, row_bounds

BLOCK = 1 << 22
"""About how many entries are in a block."""


class StoredRows(Rows):
    """Rows whose arrays are mapped from files. `values` may be codes of a scale of 256 values.

    Whatever asks for `values` or `pattern` of all rows gets them, in memory: `blocks`, `pieces` and `part` are for what
    has to get by with less.
    """

    __slots__ = ("_codes", "_n_columns", "_pattern", "_scale")

    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | NDArray[np.uint8],
        scale: NDArray[np.float32] | None,
        n_columns: int,
    ) -> None:
        self.indptr, self.indices = indptr, indices
        self._codes, self._scale, self._n_columns = values, scale, n_columns
        self._pattern: Any = None

    @property
    def values(self) -> NDArray[np.float32]:  # type: ignore[override]
        return self.decode(slice(0, len(self._codes)))

    @property
    def pattern(self) -> Any:  # type: ignore[override]
        if self._pattern is None:
            self._pattern = self._checked(
                Rows(self.indptr, self.indices, np.broadcast_to(np.float32(0), self.indices.shape))
            ).pattern
        return self._pattern

    @property
    def n_columns(self) -> int:
        return self._n_columns

    def blocks(self) -> Iterator[Block]:
        bounds = row_bounds(self.indptr, BLOCK)
        largest = max(int(self.indptr[last] - self.indptr[first]) for first, last in bounds)
        scratch = None if self._scale is None else np.empty(largest, np.float32)
        for first, last in self.announce(bounds):
            yield Block(first, self.part(first, last, scratch))

    def pieces(self) -> Iterator[Block]:
        for first, last in self.announce(self.piece_bounds()):
            yield Block(first, self.part(first, last))

    def announce(self, bounds: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The same runs of rows; the system reads one while whoever goes through them is at the one before."""
        for here, following in zip(bounds, [*bounds[1:], None], strict=True):
            if following is not None:
                self.will_need(*following)
            yield here

    def part(self, first: int, last: int, scratch: NDArray[np.float32] | None = None) -> Rows:
        """Rows `first` … `last` − 1; their values are in `scratch` until that is used again."""
        here = slice(int(self.indptr[first]), int(self.indptr[last]))
        indptr = np.asarray(self.indptr[first : last + 1]) - here.start
        return self._checked(Rows(indptr, self.indices[here], self.decode(here, scratch)))

    def of_rows(self, rows: NDArray[np.integer]) -> Rows:
        places = self.file_places_of(rows)
        taken = Rows.taking(self._offsets_of(rows), np.array(self.indices[places]), self.values_at(places))
        return self._checked(taken)

    def _checked(self, rows: Rows) -> Rows:
        check_column(rows.n_columns - 1, self._n_columns)
        return rows

    def file_places_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Where in the files the entries of some rows are, row after row; row −1 is empty."""
        return self.places_of(rows)

    def file_places(self, entries: NDArray[np.integer]) -> NDArray[np.integer]:
        """Where in the files some entries are."""
        return entries

    def value_at(self, entry: int) -> float:
        """One value."""
        code = self._codes[entry]
        return float(code if self._scale is None else self._scale[code])

    def values_at(self, entries: NDArray[np.integer]) -> NDArray[np.float32]:
        """Some values."""
        codes: Any = self._codes[entries]
        values: NDArray[np.float32] = codes if self._scale is None else self._scale[codes]
        return values

    def decode(self, here: slice, scratch: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The values of a stretch of the file."""
        codes: Any = self._codes[here]
        return codes if self._scale is None else decode(codes, self._scale, scratch)

    def will_need(self, first: int, last: int) -> None:
        """Tells the system which rows come next."""
        for array in (self.indices, self._codes):
            advise(array, int(self.indptr[first]), int(self.indptr[last]))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, tuple(self)


def check_column(index: int, n_columns: int) -> None:
    """Refuses an index that is not of any column: the file is damaged. An empty row has −1 as its largest."""
    if not -1 <= index < n_columns:
        raise ValueError(
            f"the ratings on disk are damaged: row number {index} where there are 0 to {n_columns - 1}; convert their "
            "source anew"
        )


def advise(array: NDArray[Any], first: int, last: int) -> None:
    """Tells the system that these numbers of a mapped array are about to be read."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.base
    if base is None or last <= first:
        return
    begin = first * array.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
    base.madvise(mmap.MADV_WILLNEED, begin, min(last * array.itemsize, len(base)) - begin)
