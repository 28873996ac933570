"""What ratings on disk do otherwise than those in memory: they go through themselves piece by piece."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankfill.data.ratings import Ratings
from rankfill.data.ratings.dividing import Division
from rankfill.data.store.rows import StoredRows, check_column
from rankfill.kernels import Rows, zeros_on_disk


class OnDisk(Ratings):
    """`Ratings` whose rows are `StoredRows`."""

    def __repr__(self) -> str:
        span = ", values {:g} to {:g}".format(*self.bounds()) if len(self) else ""
        return f"{type(self).__name__}({len(self):,} ratings, {self.n_users:,} users, {self.n_items:,} items{span})"

    @property
    @abstractmethod
    def identity(self) -> int:
        """A number that other ratings do not have."""

    @property
    @abstractmethod
    def _file_times(self) -> NDArray[np.int64] | None:
        """The timestamps in the file."""

    @abstractmethod
    def _windows(self) -> Iterator[NDArray[np.int64]]:
        """The places in the files of all ratings in the order of their times; without times shuffled."""

    @abstractmethod
    def _at(self, places: NDArray[np.integer]) -> Ratings:
        """The ratings at some places in the files, in memory, in this order, with ids of their own."""

    def mean(self) -> float:
        """The mean rating; 0 when there is none.

        Returns
        -------
        float
        """
        return float(self.tally().user_sums.sum()) / max(len(self), 1)

    def scale(self) -> tuple[float, float]:
        """The least and the greatest rating, without the few that stand far apart from all others.

        Returns
        -------
        low, high : float
        """
        return self.ends().scale(len(self))

    def sample(self, n: int, seed: int = 0) -> Ratings:
        """Ratings drawn at random, each at most once.

        Parameters
        ----------
        n : int
            How many; as many as there are where that is more.
        seed : int, default=0
            Decides which.

        Returns
        -------
        Ratings
            In memory, with the ids that have ratings in it.
        """
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), min(n, len(self)), replace=False, shuffle=False))
        return self._at(self._stored.file_places(chosen))

    def load(self) -> Ratings:
        """The same ratings in memory: 16 bytes each, and 8 more for timestamps.

        Returns
        -------
        Ratings
        """
        rows = self._stored.part(0, self.n_users)
        rows = Rows.taking(rows.indptr, rows.indices, np.array(rows.values))
        times = None if self.timestamps is None else np.array(self.timestamps)
        return Ratings(self.users, self.items, rows, times)

    @classmethod
    def _class(cls) -> Any:
        return Ratings

    def _item_counts(self) -> NDArray[np.int64]:
        return self.by_item.counts()

    @property
    def _stored(self) -> StoredRows:
        assert isinstance(self.by_user, StoredRows)
        return self.by_user

    def of_user_rows(self, chosen: NDArray[np.bool_]) -> Ratings:  # type: ignore[override]
        """The ratings by the users at whose row `chosen` is true, with the same vocabularies, in memory.

        Parameters
        ----------
        chosen : ndarray of bool
            One per user, in the order of `users`.

        Returns
        -------
        Ratings
        """
        numbers = np.flatnonzero(chosen)
        rows = self._stored.of_rows(numbers)
        counts = np.zeros(self.n_users + 1, np.int64)
        counts[numbers + 1] = rows.counts()
        times = None if self._file_times is None else self._file_times[self._stored.file_places_of(numbers)]
        return Ratings(self.users, self.items, Rows(np.cumsum(counts), rows.indices, rows.values), times)

    def _items_at(self, chosen: NDArray[np.integer]) -> NDArray[np.int32]:
        items = super()._items_at(chosen)
        for row in (items.min(initial=0), items.max(initial=0)):
            check_column(int(row), self.n_items)
        return items

    def _values_at(self, chosen: NDArray[np.integer]) -> NDArray[np.float32]:
        """The ratings at some places in the order by user, then item."""
        return self._stored.values_at(chosen)

    def _cut(self, sizes: Iterable[int]) -> Iterator[Ratings]:  # type: ignore[override]
        window, windows = np.empty(0, np.int64), self._windows()
        for size in sizes:
            while len(window) < size and (more := next(windows, None)) is not None:
                window = np.concatenate([window, more])
            if len(window) == 0:
                return
            yield self._at(window[:size])
            window = window[size:]

    def divided(self, labels: Iterable[NDArray[Any]], n_labels: int) -> Division:
        """The parts that labels make of the ratings: views of the same files, with the labels in a temporary file.

        Parameters
        ----------
        labels : iterable of ndarray
            The labels of each piece of `by_user` in turn, one per rating: whole numbers from 0.
        n_labels : int
            How many labels there are.

        Returns
        -------
        Division
            ``part(label)`` has the ratings with a label, ``rest(label)`` all others.
        """
        from rankfill.data.store.parts import DivisionOnDisk, Labels

        return DivisionOnDisk(Labels.of(self, labels, n_labels))

    def _zeros(self, n: int, dtype: DTypeLike) -> NDArray[Any]:
        return zeros_on_disk(n, dtype)
