"""Ratings on disk that go wherever ratings go."""

import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.duplicates import Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.store.manifest import checksum
from rankfill.data.store.stored import StoredRatings
from rankfill.data.vocabulary import Id
from rankfill.kernels import row_bounds
from rankfill.shown import shown


class Rating(NamedTuple):
    """One rating of a store."""

    user: Id
    item: Id
    value: float


class RatingStore(StoredRatings):
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
    >>> from pathlib import Path
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
    >>> store = rf.store_ratings(ratings, Path(tempfile.mkdtemp()) / "ratings.store")
    >>> store.rating(2)
    Rating(user='bob', item='tea', value=4.0)
    """

    n_left_out: int = 0

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
        item = int(rows.part(user, user + 1).indices[k - int(rows.indptr[user])])
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

    def check(self) -> Self:
        """Compares every file with the checksum in the manifest; an error names one that is damaged.

        Returns
        -------
        RatingStore
            The store itself.
        """
        for part in self._parts:
            for name, (_, expected) in part.files.items():
                file = self.path / part.folder / name
                try:
                    found = checksum(file)
                except FileNotFoundError:
                    raise ValueError(
                        f"{file} is gone: the store was written since it was opened; open it anew"
                    ) from None
                if found != expected:
                    raise ValueError(f"{file} is damaged; convert its source anew")
        return self

    def append(self, more: RatingsLike) -> Self:
        """Adds ratings, durably: when this returns they are on disk as a part of their own.

        Parameters
        ----------
        more : Ratings, or whatever `as_ratings` takes
            What to add, with ids of the same type, and with timestamps where the store has them. A pair that is there
            already, or that comes twice in a frame or a file, is treated as `convert` was told to; without timestamps
            what is appended is later.

        Returns
        -------
        RatingStore
            The store itself.
        """
        from rankfill.data.store.merging import append

        append(self.path, as_ratings(more, duplicates=self.duplicates))
        self._reopen()
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
