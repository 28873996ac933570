"""How the files of a store become `Ratings`: arrays mapped, rows in blocks, batches by time."""

import errno
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings import Ratings
from rankfill.data.store.manifest import MANIFEST, SCALE_CODES, PartSummary, map_numbers, read_manifest
from rankfill.data.store.on_disk import OnDisk
from rankfill.data.store.rows import StoredRows
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import PIECE, Rows, row_bounds

WINDOW = 1 << 22
"""About how many ratings are put in the order of their times at once."""


class StoredRatings(OnDisk):
    """`Ratings` whose arrays are files of a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._reopen()

    @classmethod
    def _of_part(cls, path: Path, part: PartSummary) -> Self:
        """One part of a store by itself."""
        store = cls.__new__(cls)
        store.path = path
        store._open([part])
        return store

    def _reopen(self) -> None:
        while True:
            try:
                return self._open(read_manifest(self.path))
            except FileNotFoundError:
                if not (self.path / MANIFEST).exists():
                    raise  # otherwise another process has merged these parts since

    def _open(self, parts: list[PartSummary]) -> None:
        """Maps the files of a store of one part at once, so that they stay when another process replaces them."""
        self._parts = parts
        self._arrival = None
        self._files = {}
        if len(parts) == 1:
            (part,) = parts
            self._files = {name: map_numbers(self.path / part.folder, part, name) for name in part.lengths()}
        for name in ("users", "items", "by_user", "by_item", "timestamps"):
            self.__dict__.pop(name, None)

    def __len__(self) -> int:
        return self._only.n_ratings

    @property
    def _only(self) -> PartSummary:
        """The one part, after those that were appended are merged into it."""
        while len(self._parts) > 1:  # more may have come once the lock was free again
            self._merge(wait=True)
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
        return self._map("timestamps") if self._only.timed else None

    @property
    def _file_times(self) -> NDArray[np.int64] | None:
        return self.timestamps

    @property
    def n_users(self) -> int:
        return self._only.n_users

    @property
    def n_items(self) -> int:
        return self._only.n_items

    def compact(self) -> Self:
        """Merges what was appended with the rest, a block at a time; whoever reads the ratings next does it otherwise.

        Returns
        -------
        RatingStore
            The store itself.
        """
        return self._merge(wait=False)

    def _merge(self, wait: bool) -> Self:
        """Whoever only reads waits for another process that writes."""
        from rankfill.data.store.merging import compact

        try:
            compact(self.path, wait=wait)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            raise ValueError(
                f"the store {self.path} has ratings that were appended and are not merged yet, and it cannot be "
                f"written ({(error.strerror or '').lower()}); merge them where it can: open_store(…).compact()"
            ) from None
        self._reopen()
        return self

    def pin(self) -> Self:
        """The same ratings, which stay as they are when others are appended here."""
        for name in ("users", "items", "by_user", "by_item", "timestamps"):
            getattr(self, name)
        pinned = type(self).__new__(type(self))
        pinned.__dict__ |= self.__dict__
        return pinned

    def __reduce__(self) -> tuple[Any, ...]:
        """A store is sent to another process, and copied, by its name."""
        return type(self), (self.path.absolute(),)

    def _at(self, places: NDArray[np.integer]) -> Ratings:
        users = np.searchsorted(self.by_user.indptr, places, side="right") - 1
        return self._pick(users.astype(np.int32), places)

    def _windows(self) -> Iterator[NDArray[np.int64]]:
        """Without times stretch by stretch.

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
        indptr = self._map(f"{side}.offsets")
        if indptr[0] != 0 or indptr[-1] != part.n_ratings or (np.diff(indptr) < 0).any():
            raise ValueError(f"the store {self.path} is damaged: {side}.offsets do not ascend; convert its source anew")
        return StoredRows(indptr, self._map(f"{side}.indices"), self._map(f"{side}.values"), scale, n_columns)

    def _vocabulary(self, side: str) -> Vocabulary:
        part = self._only
        text = part.text_users if side == "user" else part.text_items
        names = (f"{side}.ids", f"{side}.ends") if text else (f"{side}.ids",)
        return Vocabulary.from_keys(tuple(np.array(self._map(name)) for name in names))

    def _map(self, name: str) -> NDArray[Any]:
        assert self._only is not None  # merged, where there were several parts
        return self._files[name]
