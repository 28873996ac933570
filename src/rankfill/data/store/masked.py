"""Some entries of rows on disk: those whose label says so. The files stay as they are, and entries are picked as blocks
are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data.store import rows as stored
from rankfill.data.store.rows import StoredRows, advise
from rankfill.kernels import Block, Rows, row_bounds


@dataclass(frozen=True)
class Mask:
    """Which entries of a file are meant: those with a label or, with `others`, those with another but `outside`."""

    labels: NDArray[np.unsignedinteger]
    label: int
    others: bool
    outside: int

    def of(self, labels: NDArray[np.unsignedinteger]) -> "Mask":
        """The same of a file with other labels."""
        return Mask(labels, self.label, self.others, self.outside)

    def at(self, here: slice | NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether the entries at some places are meant."""
        labels = self.labels[here]
        kept: NDArray[np.bool_] = labels == self.label
        return ~kept & (labels != self.outside) if self.others else kept


class MaskedRows(StoredRows):
    """The entries of stored rows that a mask means; whatever asks for all indices or values has them made in memory."""

    __slots__ = ("_mask", "_of")

    def __init__(self, of: StoredRows, mask: Mask) -> None:
        self._of, self._mask, self._pattern = of, mask, None
        self._n_columns = of.n_columns
        counts = np.empty(of.n_rows, np.int64)
        for first, last in row_bounds(of.indptr, stored.BLOCK):
            begin = int(of.indptr[first])
            kept = np.cumsum(mask.at(slice(begin, int(of.indptr[last]))))
            counts[first:last] = np.diff(np.append(0, kept)[of.indptr[first : last + 1] - begin])
        self.indptr = np.concatenate([[0], np.cumsum(counts)])

    @property
    def indices(self) -> NDArray[np.int32]:  # type: ignore[override]
        return self.part(0, self.n_rows).indices

    @property
    def values(self) -> NDArray[np.float32]:  # type: ignore[override]
        return self.part(0, self.n_rows).values

    @property
    def pattern(self) -> Any:  # type: ignore[override]
        if self._pattern is None:
            self._pattern = self.part(0, self.n_rows).pattern
        return self._pattern

    @property
    def some_indices(self) -> "MaskedIndices":
        return MaskedIndices(self)

    def blocks(self) -> Iterator[Block]:
        for first, last in self.announce(row_bounds(self._of.indptr, stored.BLOCK)):
            yield Block(first, self.part(first, last))

    def part(self, first: int, last: int, scratch: NDArray[np.float32] | None = None) -> Rows:
        begin, end = (int(self._of.indptr[row]) for row in (first, last))
        indptr = self.indptr[first : last + 1] - self.indptr[first]
        indices, values = np.empty(int(indptr[-1]), np.int32), np.empty(int(indptr[-1]), np.float32)
        done = 0
        for start in range(begin, end, stored.BLOCK):
            here = slice(start, min(start + stored.BLOCK, end))
            kept = self._mask.at(here)
            upto = done + int(np.count_nonzero(kept))
            indices[done:upto] = self._of.indices[here][kept]
            values[done:upto] = self._of.decode(here)[kept]
            done = upto
        return self._checked(Rows.taking(indptr, indices, values))

    def of_rows(self, rows: NDArray[np.integer]) -> Rows:
        places = self.file_places_of(rows)
        taken = Rows.taking(self._offsets_of(rows), np.array(self._of.indices[places]), self._of.values_at(places))
        return self._checked(taken)

    def file_places_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        places = self._of.file_places_of(rows)
        return places[self._mask.at(places)]

    def file_places(self, entries: NDArray[np.integer]) -> NDArray[np.integer]:
        """Where in the files some entries are: their rows are looked through, a block at a time."""
        rows, row_of = np.unique(np.searchsorted(self.indptr, entries, side="right") - 1, return_inverse=True)
        order, found = np.argsort(row_of, kind="stable"), np.empty(len(entries), np.int64)
        ends = np.searchsorted(row_of[order], np.arange(len(rows) + 1))
        for first, last in row_bounds(self._of._offsets_of(rows), stored.BLOCK):
            asked = order[ends[first] : ends[last]]
            begins = self._offsets_of(rows[first:last])
            inside = begins[row_of[asked] - first] + entries[asked] - self.indptr[rows[row_of[asked]]]
            found[asked] = self.file_places_of(rows[first:last])[inside]
        return found

    def value_at(self, entry: int) -> float:
        return float(self.values_at(np.array([entry]))[0])

    def values_at(self, entries: NDArray[np.integer]) -> NDArray[np.float32]:
        return self._of.values_at(self.file_places(entries))

    def indices_at(self, entries: NDArray[np.integer]) -> NDArray[np.int32]:
        """Some indices."""
        return np.array(self._of.indices[self.file_places(entries)])

    def will_need(self, first: int, last: int) -> None:
        self._of.will_need(first, last)
        advise(self._mask.labels, int(self._of.indptr[first]), int(self._of.indptr[last]))


class MaskedIndices:
    """The indices of masked rows, of which some are read when they are asked for."""

    dtype = np.dtype(np.int32)

    def __init__(self, rows: MaskedRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return int(self._rows.indptr[-1])

    def __getitem__(self, wanted: slice | NDArray[np.integer]) -> NDArray[np.int32]:
        places = np.arange(*wanted.indices(len(self))) if isinstance(wanted, slice) else wanted
        return self._rows.indices_at(places)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._rows.indices, dtype)
