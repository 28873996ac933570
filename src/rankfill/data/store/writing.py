"""Writes a part of a store from entries in any order, with no more memory than is allowed.

Entries are dealt to buckets of users and sorted one bucket at a time (`buckets.py`, `ordering.py`), then dealt to
buckets of items and sorted likewise. Ratings that turn out to have at most 256 different values become codes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data.duplicates import Duplicates, merge_duplicates
from rankfill.data.ordering import sort_pairs
from rankfill.data.store.buckets import Buckets
from rankfill.data.store.manifest import SCALE_CODES, PartSummary, sum_files
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows, sort_into_rows

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much there is to do."""

BYTES_AN_ENTRY = 72
"""What sorting an entry by user takes at the highest, with its timestamp."""
_READ = 1 << 22


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


class PartWriter:
    """Writes the files of one part into `folder`; `user_counts` say how many entries each user has, before merging."""

    least_size = 1 << 16
    """How many entries are sorted at once, at least."""

    def __init__(
        self,
        folder: Path,
        users: Vocabulary,
        items: Vocabulary,
        user_counts: NDArray[np.int64],
        *,
        timed: bool,
        duplicates: Duplicates,
        memory: int,
        progress: Progress = silent,
    ) -> None:
        self.folder, self.users, self.items = folder, users, items
        self._timed, self._duplicates, self._progress = timed, duplicates, progress
        self._total = int(user_counts.sum())
        self._size = max(memory // BYTES_AN_ENTRY, self.least_size)
        types = [np.int32, np.int32, np.float32, *([np.int64] if timed else [])]
        self._buckets = Buckets(folder, user_counts, self._size, types)

    def deal(self, *columns: NDArray[Any]) -> None:
        """Takes in entries: row numbers of users and items, ratings, and timestamps where there are any."""
        self._buckets.deal(columns)

    def finish(self) -> PartSummary:
        """Sorts what came in, writes every file and forces it to disk."""
        item_counts = self._write_users()
        n_ratings = int(item_counts.sum())
        scale = self._recode(n_ratings) if self._scale is not None else None
        self._write_items(item_counts, n_ratings, scale)
        for side, vocabulary in (("user", self.users), ("item", self.items)):
            for name, array in zip(("ids", "ends"), vocabulary.keys, strict=False):
                np.ascontiguousarray(array).tofile(self.folder / f"{side}.{name}")
        files = sorted(path.name for path in self.folder.iterdir())
        return PartSummary(
            self.folder.name,
            n_ratings,
            len(self.users),
            len(self.items),
            self.users.of_strings,
            self.items.of_strings,
            self._timed,
            None if scale is None else scale.tolist(),
            self._duplicates,
            sum_files(self.folder, files),
        )

    def _write_users(self) -> NDArray[np.int64]:
        """The ratings by user; returns how many ratings each item has."""
        item_counts, counts = np.zeros(len(self.items), np.int64), np.zeros(len(self.users), np.int64)
        self._scale: NDArray[np.float32] | None = np.empty(0, np.float32)
        done = 0
        with (
            (self.folder / "users.indices").open("wb") as indices,
            (self.folder / "users.values").open("wb") as values,
            (self.folder / "timestamps").open("wb") as timestamps,
        ):
            for (first, last), columns in self._buckets:
                rows, times = self._sort(first, last, columns)
                counts[first:last] = rows.counts()
                item_counts += np.bincount(rows.indices, minlength=len(self.items))
                self._note_values(rows.values)
                indices.write(rows.indices.data)
                values.write(rows.values.data)
                if times is not None:
                    timestamps.write(times.data)
                done += len(columns[0])
                self._progress("sorting by user", done, self._total)
        if not self._timed:
            (self.folder / "timestamps").unlink()
        np.concatenate([[0], np.cumsum(counts)]).tofile(self.folder / "users.offsets")
        return item_counts

    def _sort(self, first: int, last: int, columns: list[NDArray[Any]]) -> tuple[Rows, NDArray[np.int64] | None]:
        users, items, values = columns[:3]
        users -= np.int32(first)
        times = columns[3] if self._timed else None
        rows, order = sort_pairs(users, items, values, last - first, len(self.items))
        names = _Shifted(self.users, first)
        rows, order = merge_duplicates(names, self.items, rows, order, times, self._duplicates)  # type: ignore[arg-type]
        return rows, None if times is None else times[order]

    def _note_values(self, values: NDArray[np.float32]) -> None:
        """Adds to the scale, until there are too many values for one."""
        if self._scale is None:
            return
        unknown = values
        for value in self._scale:
            unknown = unknown[unknown != value]
        while len(unknown) and len(self._scale) <= SCALE_CODES:
            self._scale = np.append(self._scale, unknown[0])
            unknown = unknown[unknown != unknown[0]]
        self._scale = np.sort(self._scale) if len(self._scale) <= SCALE_CODES else None

    def _recode(self, n_ratings: int) -> NDArray[np.float32]:
        """Ratings by user as codes in the place of the ratings themselves; returns the scale."""
        assert self._scale is not None
        path, codes = self.folder / "users.values", self.folder / "users.codes"
        with path.open("rb") as source, codes.open("wb") as target:
            while len(values := np.fromfile(source, np.float32, _READ)):
                target.write(np.searchsorted(self._scale, values).astype(np.uint8).data)
        codes.replace(path)
        return self._scale if len(self._scale) else np.zeros(1, np.float32)

    def _write_items(self, counts: NDArray[np.int64], n_ratings: int, scale: NDArray[np.float32] | None) -> None:
        """The ratings by item, from those by user."""
        kind: Any = np.float32 if scale is None else np.uint8
        buckets = Buckets(self.folder, counts, self._size, (np.int32, np.int32, kind))
        offsets = np.fromfile(self.folder / "users.offsets", np.int64)
        done = 0
        with (self.folder / "users.indices").open("rb") as indices, (self.folder / "users.values").open("rb") as values:
            while len(items := np.fromfile(indices, np.int32, _READ)):
                buckets.deal((items, _rows_between(offsets, done, done + len(items)), np.fromfile(values, kind, _READ)))
                done += len(items)
                self._progress("sorting by item", done // 2, n_ratings)
        with (self.folder / "items.indices").open("wb") as indices, (self.folder / "items.values").open("wb") as values:
            for (first, last), (items, users, kept) in buckets:
                items -= np.int32(first)
                rows, _ = sort_into_rows(items, users, kept.astype(np.float32), last - first)
                indices.write(rows.indices.data)
                values.write(rows.values.astype(kind).data)
        self._progress("sorting by item", n_ratings, n_ratings)
        np.concatenate([[0], np.cumsum(counts)]).tofile(self.folder / "items.offsets")


class _Shifted:
    """The ids from a row on, for the message about a pair that comes twice."""

    def __init__(self, vocabulary: Vocabulary, first: int) -> None:
        self._vocabulary, self._first = vocabulary, first

    def ids(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        return self._vocabulary.ids(np.asarray(rows) + self._first)


def _rows_between(offsets: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int32]:
    """The row of every entry from `begin` to `end`."""
    first = int(np.searchsorted(offsets, begin, side="right")) - 1
    last = int(np.searchsorted(offsets, end, side="left"))
    inside = np.clip(offsets[first : last + 1], begin, end)
    return np.repeat(np.arange(first, last, dtype=np.int32), np.diff(inside))
