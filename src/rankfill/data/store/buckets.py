"""Sorting more than memory holds: entries go into buckets by key, each of which is small enough to be sorted at once.

One pass deals entries to files, a file for each range of keys; a second reads one bucket after the other. Both go
through the disk in order. Within a bucket entries stay in the order they came in.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankfill.kernels import row_bounds

MOST = 512
"""Buckets at most, for each is an open file; where that is too few, they are larger than asked for."""


class Buckets:
    """Entries by ranges of their key, which is the first column; `counts` says how many entries every key has."""

    def __init__(self, folder: Path, counts: NDArray[np.int64], size: int, types: Sequence[DTypeLike]) -> None:
        indptr = np.concatenate([[0], np.cumsum(counts)])
        self.bounds = row_bounds(indptr, max(size, -(-int(indptr[-1]) // MOST), 1))
        self._entry = np.dtype([(str(column), kind) for column, kind in enumerate(types)])
        widths = [last - first for first, last in self.bounds]
        self._of_key = np.repeat(np.arange(len(self.bounds), dtype=np.int16), widths)
        self._paths = [folder / f"bucket-{number}" for number in range(len(self.bounds))]
        self._files = [path.open("wb") for path in self._paths]

    def deal(self, columns: Sequence[NDArray[Any]]) -> None:
        """Takes in some entries."""
        bucket = self._of_key[columns[0]]
        order = np.argsort(bucket, kind="stable")
        entries = np.empty(len(order), self._entry)
        for name, column in zip(self._entry.names or (), columns, strict=True):
            entries[name] = column[order]
        ends = np.cumsum(np.bincount(bucket, minlength=len(self.bounds))) * self._entry.itemsize
        content, begin = entries.view(np.uint8).data, 0
        for file, end in zip(self._files, ends.tolist(), strict=True):
            file.write(content[begin:end])
            begin = end

    def __iter__(self) -> Iterator[tuple[tuple[int, int], list[NDArray[Any]]]]:
        """First and last key of every bucket, and its columns; a bucket that has been read is gone."""
        for file in self._files:
            file.close()
        for bounds, path in zip(self.bounds, self._paths, strict=True):
            entries = np.fromfile(path, self._entry)
            path.unlink()
            columns = [np.ascontiguousarray(entries[name]) for name in self._entry.names or ()]
            del entries
            yield bounds, columns
