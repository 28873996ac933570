"""Ratings on disk that go wherever ratings go."""

import os
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.duplicates import Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.store.manifest import SCALE_CODES, PartSummary, checksum, mapped, read_manifest
from rankfill.data.store.rows import StoredRows
from rankfill.data.vocabulary import Id, Vocabulary
from rankfill.kernels import PIECE, Rows, row_bounds
from rankfill.shown import shown

WINDOW = 1 << 22
"""About how many ratings are put in the order of their times at once."""


class Rating(NamedTuple):
    """One rating of a store."""

    user: Id
    item: Id
    value: float


class RatingStore(Ratings):
    """Ratings in a folder on disk, which may be larger than memory.

    Made by `convert` or `open_store`. It goes wherever `Ratings` go. What goes through ratings a block at a time, such
    as `Bias`, `PassiveAggressive`, `ALS` and `SGD`, reads them from disk as it needs them; a model that needs
    everything in memory says so. `values`, `user_indices` and `timestamps` are arrays of all ratings, as always.

    Parameters
    ----------
    path : str or path-like
        The folder.

    Attributes
    ----------
    path : Path
        The folder.
    n_left_out : int
        How many lines the conversion that has just made it has left out.

    Examples
    --------
    >>> import tempfile
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
    >>> store = rf.store_ratings(ratings, Path(tempfile.mkdtemp()) / "ratings.store")
    >>> store.rating(2)
    Rating(user='bob', item='tea', value=4.0)
    """

    n_left_out: int = 0

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._open(read_manifest(self.path))

    @classmethod
    def _of_part(cls, path: Path, part: PartSummary) -> Self:
        """One part of a store by itself."""
        store = cls.__new__(cls)
        store.path = path
        store._open([part])
        return store

    def _open(self, parts: list[PartSummary]) -> None:
        self._parts = parts
        self._arrival = None
        for name in ("users", "items", "by_user", "by_item", "timestamps"):
            self.__dict__.pop(name, None)

    def __repr__(self) -> str:
        span = ", values {:g} to {:g}".format(*self.bounds()) if len(self) else ""
        return f"RatingStore({len(self):,} ratings, {self.n_users:,} users, {self.n_items:,} items{span})"

    def __len__(self) -> int:
        return self._only.n_ratings

    @property
    def _only(self) -> PartSummary:
        """The one part, after those that were appended are merged into it."""
        if len(self._parts) > 1:
            self.compact()
        return self._parts[0]

    @cached_property
    def users(self) -> Vocabulary:  # type: ignore[override]
        return self._vocabulary("user")

    @cached_property
    def items(self) -> Vocabulary:  # type: ignore[override]
        return self._vocabulary("item")

    @cached_property
    def by_user(self) -> Rows:  # type: ignore[override]
        return self._rows("users", self._only.n_items)

    @cached_property
    def by_item(self) -> Rows:
        return self._rows("items", self._only.n_users)

    @cached_property
    def timestamps(self) -> NDArray[np.int64] | None:  # type: ignore[override]
        return self._mapped("timestamps") if self._only.timed else None

    @property
    def n_users(self) -> int:
        return self._only.n_users

    @property
    def n_items(self) -> int:
        return self._only.n_items

    def _item_counts(self) -> NDArray[np.int64]:
        return self.by_item.counts()

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

    @classmethod
    def _class(cls) -> Any:
        return Ratings

    def rating(self, k: int) -> Rating:
        """One rating by its number, in the order by user, then item.

        Parameters
        ----------
        k : int
            The number, from 0.

        Returns
        -------
        Rating
            User, item and value.
        """
        if not 0 <= k < len(self):
            raise IndexError(f"there are ratings 0 to {len(self) - 1}, found {shown(k)}")
        rows = self._stored
        user = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        item = int(rows.indices[k])
        return Rating(self.users.ids([user]).item(), self.items.ids([item]).item(), rows.value_at(k))

    def user_row(self, user: Id) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """What one user has rated, and how.

        Parameters
        ----------
        user : int or str
            The id.

        Returns
        -------
        items : ndarray
            Ids, in the order of `items`.
        values : ndarray of float32
            The rating of each.
        """
        row = self.users.row_of(user)
        if row < 0:
            raise ValueError(f"there is no user {shown(user)} among the {self.n_users:,} of this store; leave it out")
        rows = self._stored.part(row, row + 1)
        return self.items.ids(rows.indices), np.array(rows.values)

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
        return self._at(chosen)

    def shuffled(self, size: int = 1 << 20, seed: int = 0) -> Iterator[Ratings]:
        """Goes through all ratings once, in batches of users in random order that are read from the disk in one go.

        Parameters
        ----------
        size : int, default=1048576
            About how many ratings are in a batch; the ratings of a user are in the same batch.
        seed : int, default=0
            Decides the order of the batches.

        Yields
        ------
        Ratings
            In memory, with the ids that have ratings in it.
        """
        bounds = row_bounds(self.by_user.indptr, size)
        for place in np.random.default_rng(seed).permutation(len(bounds)).tolist():
            first, last = bounds[place]
            begin, end = (int(self.by_user.indptr[row]) for row in (first, last))
            if end > begin:
                yield self._at(np.arange(begin, end))

    def load(self) -> Ratings:
        """The same ratings in memory: 16 bytes each, and 8 more for timestamps.

        Returns
        -------
        Ratings
        """
        rows = Rows(np.array(self.by_user.indptr), np.array(self.by_user.indices), np.array(self.by_user.values))
        times = None if self.timestamps is None else np.array(self.timestamps)
        return Ratings(self.users, self.items, rows, times)

    def check(self) -> Self:
        """Compares every file with the checksum in the manifest; an error names one that is damaged.

        Returns
        -------
        RatingStore
            The store itself.
        """
        for part in self._parts:
            for name, (_, expected) in part.files.items():
                if checksum(self.path / part.folder / name) != expected:
                    raise ValueError(f"{self.path / part.folder / name} is damaged; convert its source anew")
        return self

    def append(self, more: Ratings) -> Self:
        """Adds ratings, durably: when this returns they are on disk as a part of their own.

        Parameters
        ----------
        more : Ratings
            What to add, with ids of the same type, and with timestamps where the store has them. A pair that is there
            already is treated as `convert` was told to; without timestamps what is appended is later.

        Returns
        -------
        RatingStore
            The store itself.
        """
        from rankfill.data.store.merging import append

        append(self.path, more)
        self._open(read_manifest(self.path))
        return self

    def compact(self) -> Self:
        """Merges what was appended with the rest, a block at a time; whoever reads the ratings next does it otherwise.

        Returns
        -------
        RatingStore
            The store itself.
        """
        from rankfill.data.store.merging import compact

        compact(self.path)
        self._open(read_manifest(self.path))
        return self

    @property
    def size_on_disk(self) -> int:
        """How many bytes all files have."""
        return sum(size for part in self._parts for size, _ in part.files.values())

    @property
    def identity(self) -> int:
        """A number that other ratings do not have: a sum of the checksums of all files."""
        return zlib.crc32(repr(sorted(self._only.files.items())).encode())

    @property
    def duplicates(self) -> Duplicates:
        """What is done with a pair that comes more than once."""
        return self._parts[0].duplicates

    @property
    def _stored(self) -> StoredRows:
        assert isinstance(self.by_user, StoredRows)
        return self.by_user

    def _at(self, entries: NDArray[np.integer]) -> Ratings:
        """Some ratings, in memory, in this order."""
        users = np.searchsorted(self.by_user.indptr, entries, side="right") - 1
        return self._numbered(users.astype(np.int32), entries)

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
        times = None if self.timestamps is None else self.timestamps[self._stored.places_of(numbers)]
        return Ratings(self.users, self.items, Rows(np.cumsum(counts), rows.indices, rows.values), times)

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

    def _windows(self) -> Iterator[NDArray[np.int64]]:
        """The places of all ratings in the order of their times; without times shuffled, stretch by stretch.

        By time the stretches between some quantiles are gathered one after the other, each in one look at all times.
        """
        if self.timestamps is None:
            random, bounds = np.random.default_rng(0), row_bounds(self.by_user.indptr, PIECE)
            for place in random.permutation(len(bounds)).tolist():
                begin, end = (int(self.by_user.indptr[row]) for row in bounds[place])
                yield begin + random.permutation(end - begin)
            return
        times, n_windows = self.timestamps, -(-len(self) // WINDOW)
        some = np.sort(times[:: max(len(self) // (1 << 20), 1)])
        edges = np.unique(some[(np.arange(1, n_windows) * len(some)) // n_windows]).tolist()
        for low, high in pairwise([None, *edges, None]):
            chosen = self._between(low, high)
            yield chosen[np.argsort(times[chosen], kind="stable")]

    def _between(self, low: int | None, high: int | None) -> NDArray[np.int64]:
        """The places of the ratings from one time up to before another."""
        times, found = self.timestamps, []
        assert times is not None
        for begin in range(0, len(times), PIECE):
            part = times[begin : begin + PIECE]
            inside = np.ones(len(part), bool) if low is None else part >= low
            found.append(begin + np.flatnonzero(inside if high is None else inside & (part < high)))
        return np.concatenate(found)

    def _rows(self, side: str, n_columns: int) -> StoredRows:
        part = self._only
        scale = None
        if part.scale is not None:
            scale = np.zeros(SCALE_CODES, np.float32)
            scale[: len(part.scale)] = part.scale
        indptr = self._mapped(f"{side}.offsets")
        if indptr[0] != 0 or indptr[-1] != part.n_ratings or (np.diff(indptr) < 0).any():
            raise ValueError(f"the store {self.path} is damaged: {side}.offsets do not ascend; convert its source anew")
        return StoredRows(indptr, self._mapped(f"{side}.indices"), self._mapped(f"{side}.values"), scale, n_columns)

    def _vocabulary(self, side: str) -> Vocabulary:
        part = self._only
        text = part.text_users if side == "user" else part.text_items
        names = (f"{side}.ids", f"{side}.ends") if text else (f"{side}.ids",)
        return Vocabulary.from_keys(tuple(np.array(self._mapped(name)) for name in names))

    def _mapped(self, name: str) -> NDArray[Any]:
        part = self._only
        return mapped(self.path / part.folder, part, name)


def open_store(path: str | os.PathLike[str]) -> RatingStore:
    """Opens a store of ratings on disk.

    Takes no time: ratings are read when they are needed.

    Parameters
    ----------
    path : str or path-like
        The folder that `convert` or ``rankfill convert`` has made.

    Returns
    -------
    RatingStore

    Raises
    ------
    FileNotFoundError
        If it is no store, or one whose conversion was cut off.
    ValueError
        If it is damaged.

    Examples
    --------
    >>> import rankfill as rf
    >>> rf.open_store("ratings.store")  # doctest: +SKIP
    RatingStore(100,480,507 ratings, 480,189 users, 17,770 items, values 1 to 5)
    """
    return RatingStore(path)
