"""Parts of ratings on disk: views with a label for each rating of the store, which all parts of a division share.

Labels lie in temporary files, one byte per rating: in the order by user and, once a part is asked for its ratings by
item, in that order, too. A part of a part labels the whole store anew.
"""

import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings import Ratings
from rankfill.data.ratings.dividing import Division
from rankfill.data.store.masked import Mask, MaskedRows
from rankfill.data.store.on_disk import OnDisk
from rankfill.data.store.stored import StoredRatings
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows, sort_into_rows, zeros_on_disk


class Labels:
    """A label for each rating of a store; those that are not divided have the label `outside`."""

    def __init__(self, store: StoredRatings, by_user: NDArray[np.unsignedinteger], outside: int) -> None:
        self.store, self.by_user, self.outside = store, by_user, outside

    @classmethod
    def of(cls, ratings: OnDisk, labels: Iterable[NDArray[Any]], n_labels: int) -> Self:
        """The labels of a store, or of a part of one, which come piece by piece."""
        part = ratings if isinstance(ratings, StorePart) else None
        store = ratings.pin() if isinstance(ratings, StoredRatings) else ratings.store  # type: ignore[attr-defined]
        by_user = zeros_on_disk(len(store), np.min_scalar_type(n_labels))
        for bounds, given in zip(ratings.by_user.piece_bounds(), labels, strict=True):
            begin, end = (int(store.by_user.indptr[row]) for row in bounds)
            here = by_user[begin:end]
            if part is None:
                here[:] = given
            else:
                here[:] = n_labels
                here[part.mask.at(slice(begin, end))] = given
        return cls(store, by_user, n_labels)

    @cached_property
    def by_item(self) -> NDArray[np.unsignedinteger]:
        """The labels in the order by item: going through the users in turn meets those of each item in turn."""
        by_item = zeros_on_disk(len(self.by_user), self.by_user.dtype)
        rows, n_items = self.store.by_user, self.store.n_items
        free = np.array(self.store.by_item.indptr[:-1])
        for bounds in rows.piece_bounds():
            here = slice(*(int(rows.indptr[row]) for row in bounds))
            labels, items = self.by_user[here], np.array(rows.indices[here])
            ordered, order = sort_into_rows(items, items, np.zeros(len(items), np.float32), n_items, with_order=True)
            counts = ordered.counts()
            by_item[np.repeat(free - ordered.indptr[:-1], counts) + np.arange(len(items))] = labels[order]
            free += counts
        return by_item


class StorePart(OnDisk):
    """Some of the ratings of a store: made by `split` and by cross-validation, used as any `Ratings`.

    It reads the files of the store, and what is appended there later is not in it.
    """

    def __init__(self, labels: Labels, label: int, *, others: bool) -> None:
        self._labels, self.store = labels, labels.store
        self.mask = Mask(labels.by_user, label, others, labels.outside)
        self._arrival = None

    def __len__(self) -> int:
        return int(self.by_user.indptr[-1])

    @property
    def users(self) -> Vocabulary:  # type: ignore[override]
        return self.store.users

    @property
    def items(self) -> Vocabulary:  # type: ignore[override]
        return self.store.items

    @cached_property
    def by_user(self) -> Rows:  # type: ignore[override]
        return MaskedRows(self.store._stored, self.mask)

    @cached_property
    def by_item(self) -> Rows:
        rows: Any = self.store.by_item
        return MaskedRows(rows, self.mask.of(self._labels.by_item))

    @property
    def timestamps(self) -> NDArray[np.int64] | None:  # type: ignore[override]
        return self._times_of(0, self.n_users)

    def _times_of(self, first: int, last: int) -> NDArray[np.int64] | None:
        times = self.store.timestamps
        here = slice(*(int(self.store.by_user.indptr[row]) for row in (first, last)))
        return None if times is None else times[here][self.mask.at(here)]

    @property
    def _file_times(self) -> NDArray[np.int64] | None:
        return self.store.timestamps

    def _windows(self) -> Iterator[NDArray[np.int64]]:
        return (places[self.mask.at(places)] for places in self.store._windows())

    def _at(self, places: NDArray[np.integer]) -> Ratings:
        return self.store._at(places)

    @property
    def identity(self) -> int:
        """A number that other ratings do not have."""
        told = (self.store.identity, self.mask.label, self.mask.others, self.mask.outside)
        return zlib.crc32(self.mask.labels.view(np.uint8).data, zlib.crc32(repr(told).encode()))


class DivisionOnDisk(Division):
    """Parts of a store are views."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def part(self, label: int) -> StorePart:
        return StorePart(self._labels, label, others=False)

    def rest(self, label: int) -> StorePart:
        return StorePart(self._labels, label, others=True)
