"""Some of the ratings: by position, by id, by how many there are, or a batch at a time; and parts put together."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data.duplicates import Duplicates
from rankfill.data.ordering import compact
from rankfill.data.ratings.making import Making
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows
from rankfill.kernels.hashing import select as select_keys
from rankfill.shown import shown

Some = TypeVar("Some", bound="Choosing")


class Choosing(Making):
    """The methods of `Ratings` that leave some of them out or put parts together."""

    def select(self, keep: NDArray[np.bool_]) -> Self:
        """The ratings at which `keep` is true, with the same vocabularies, so that row numbers stay.

        Parameters
        ----------
        keep : ndarray of bool
            One per rating, in the order of `values`.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, None], [3, 4]])
        >>> ratings.select(ratings.values > 3)
        Ratings(2 ratings, 2 users, 2 items, values 4 to 5)
        """
        if keep.dtype != np.bool_ or keep.shape != (len(self),):
            raise ValueError(
                f"select needs one bool per rating ({len(self)}), found {keep.dtype} of shape {keep.shape}; "
                "make one from positions: keep = np.zeros(len(ratings), dtype=bool); keep[positions] = True"
            )
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.by_user.indptr]
        by_user = Rows.taking(indptr, self.item_indices[keep], self.values[keep])
        times = None if self.timestamps is None else self.timestamps[keep]
        arrival = None
        if self._arrival is not None:
            new_position = np.cumsum(keep) - 1
            arrival = compact(new_position[self._arrival[keep[self._arrival]]])
        return self._class()(self.users, self.items, by_user, times, arrival)

    def of_user_rows(self, chosen: NDArray[np.bool_]) -> Self:
        """The ratings by the users at whose row `chosen` is true, with the same vocabularies.

        Parameters
        ----------
        chosen : ndarray of bool
            One per user, in the order of `users`.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]]).of_user_rows(np.array([False, True]))
        Ratings(2 ratings, 2 users, 2 items, values 3 to 4)
        """
        return self.select(chosen[self.user_indices])

    def of_users(self, ids: ArrayLike) -> Self:
        """The ratings by some users.

        Parameters
        ----------
        ids : array-like of ids, or one id
            The users. One that is not among `users` is an error.

        Returns
        -------
        Ratings
            With the ids that have ratings in it, in the order they have here.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
        >>> ratings.of_users("bob")
        Ratings(1 ratings, 1 users, 1 items, values 4 to 4)
        """
        return self._keep_rated(_mark_known(self.users, ids, "user")[self.user_indices])

    def of_items(self, ids: ArrayLike) -> Self:
        """The ratings of some items.

        Parameters
        ----------
        ids : array-like of ids, or one id
            The items. One that is not among `items` is an error.

        Returns
        -------
        Ratings
            With the ids that have ratings in it, in the order they have here.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
        >>> ratings.of_items(["tea"]).users.ids().tolist()
        ['ann', 'bob']
        """
        return self._keep_rated(_mark_known(self.items, ids, "item")[self.item_indices])

    def filter(self, min_user: int = 1, min_item: int = 1, repeat: bool = True) -> Self:
        """The ratings by users with enough ratings, of items with enough ratings.

        Parameters
        ----------
        min_user : int, default=1
            Least number of ratings by a user.
        min_item : int, default=1
            Least number of ratings of an item.
        repeat : bool, default=True
            Whether to go on until all that are left have enough: who loses ratings because an item is dropped may have
            too few afterwards. Otherwise everybody is counted once, before anything is dropped.

        Returns
        -------
        Ratings
            With the ids that have ratings in it; perhaps none.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, 3, None], [4, 1, None], [None, 2, 5]])
        >>> ratings.filter(min_user=2, min_item=2)  # item 2 goes, and so user 2 has one rating left
        Ratings(4 ratings, 2 users, 2 items, values 1 to 5)
        >>> ratings.filter(min_user=2, min_item=2, repeat=False)
        Ratings(5 ratings, 3 users, 2 items, values 1 to 5)
        """
        users, items = self.user_indices, self.item_indices
        keep, before = np.ones(len(self), dtype=bool), -1
        while keep.sum() != before:
            before = keep.sum()
            enough_users = np.bincount(users[keep], minlength=self.n_users) >= min_user
            enough_items = np.bincount(items[keep], minlength=self.n_items) >= min_item
            keep &= enough_users[users] & enough_items[items]
            if not repeat:
                break
        return self._keep_rated(keep)

    def batches(self, size: int) -> Iterator[Self]:
        """Goes through the ratings a batch at a time, in the order of `stream_order`.

        Parameters
        ----------
        size : int
            How many ratings are in a batch; the last one has what is left.

        Yields
        ------
        Ratings
            With ids of its own: those that are rated in the batch.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays([3, 1, 2], [7, 7, 8], [4.0, 5.0, 1.0])
        >>> [batch.values.tolist() for batch in ratings.batches(2)]
        [[5.0, 4.0], [1.0]]
        """
        if size < 1:
            raise ValueError(f"size must be a whole number of at least 1, found {shown(size)}")
        return cut(self, (size for _ in range(0, len(self), size)))

    @classmethod
    def concat(cls, parts: Sequence[Self], duplicates: Duplicates = "error") -> Self:
        """Puts ratings together.

        Parameters
        ----------
        parts : sequence of Ratings
            At least one. Their ids must be of the same type, and all or none must have timestamps.
        duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
            What to do with a pair that comes more than once, as in `from_arrays`. Without timestamps a later part is
            later.

        Returns
        -------
        Ratings
            With all ids of all parts: in the same rows where all parts have the same ids, else ascending.

        Examples
        --------
        >>> import rankfill as rf
        >>> monday = rf.Ratings.from_arrays(["ann", "bob"], ["tea", "tea"], [5, 4])
        >>> tuesday = rf.Ratings.from_arrays(["ann", "cat"], ["milk", "tea"], [3, 4])
        >>> rf.Ratings.concat([monday, tuesday])
        Ratings(4 ratings, 3 users, 2 items, values 3 to 5)
        """
        parts = list(parts)
        timed = [part for part in parts if part.timestamps is not None]
        if not parts:
            raise ValueError("there is nothing to put together; give at least one Ratings")
        if timed and len(timed) < len(parts):
            raise ValueError(
                f"{len(timed)} of {len(parts)} parts have timestamps; give all of them some, or read them without"
            )
        orders = [part.stream_order() for part in parts]
        pairs = list(zip(parts, orders, strict=True))
        users, user_rows = _unite([part.users for part in parts])
        items, item_rows = _unite([part.items for part in parts])
        return cls.from_indices(
            users,
            items,
            np.concatenate(
                [rows[part.user_indices[order]] for rows, (part, order) in zip(user_rows, pairs, strict=True)]
            ),
            np.concatenate(
                [rows[part.item_indices[order]] for rows, (part, order) in zip(item_rows, pairs, strict=True)]
            ),
            np.concatenate([part.values[order] for part, order in pairs]),
            np.concatenate([part.timestamps[order] for part, order in pairs if part.timestamps is not None])
            if timed
            else None,
            duplicates,
        )

    def _cut(self, sizes: Iterable[int]) -> Iterator[Self]:
        order, users, first = self.stream_order(), self.user_indices, 0
        for size in sizes:
            if first >= len(self):
                return
            chosen = order[first : first + size]
            first += size
            yield self._pick(users[chosen], chosen)

    def _pick(self, users: NDArray[np.int32], chosen: NDArray[np.integer]) -> Self:
        """The ratings at some places, by these users, in this order, with ids of their own."""
        user_ids, user_rows = np.unique(users, return_inverse=True)
        item_ids, item_rows = np.unique(self._items_at(chosen), return_inverse=True)
        return self._class().from_indices(
            _only(self.users, user_ids),
            _only(self.items, item_ids),
            user_rows.astype(np.int32),
            item_rows.astype(np.int32),
            self._values_at(chosen),
            None if self.timestamps is None else self.timestamps[chosen],
        )

    def _items_at(self, chosen: NDArray[np.integer]) -> NDArray[np.int32]:
        """The row numbers of the items at some places in the order by user, then item."""
        items: NDArray[np.int32] = self.item_indices[chosen]
        return items

    def _values_at(self, chosen: NDArray[np.integer]) -> NDArray[np.float32]:
        """The ratings at some places in the order by user, then item."""
        values: NDArray[np.float32] = self.values[chosen]
        return values

    def _keep_rated(self, keep: NDArray[np.bool_]) -> Self:
        """The ratings at which `keep` is true, with the ids that are left."""
        kept = self.select(keep)
        counts, rated = kept.by_user.counts(), np.zeros(self.n_items, dtype=bool)
        rated[kept.item_indices] = True
        place = np.cumsum(rated, dtype=np.int32) - np.int32(1)
        indptr = np.append(0, kept.by_user.indptr[1:][counts > 0])
        return self._class()(
            _only(self.users, np.flatnonzero(counts)),
            _only(self.items, np.flatnonzero(rated)),
            Rows.taking(indptr, place[kept.item_indices], kept.values),
            kept.timestamps,
            kept._arrival,
        )


def cut(ratings: Some, sizes: Iterable[int]) -> Iterator[Some]:
    """Batches of these sizes in the order of the stream, until no rating is left.

    Every batch numbers its own ids, so that its size and not that of the whole decides what it costs.
    """
    return ratings._cut(sizes)


def _only(vocabulary: Vocabulary, rows: NDArray[np.integer]) -> Vocabulary:
    return Vocabulary.from_keys(select_keys(vocabulary.keys, rows), check=False)


def _mark_known(vocabulary: Vocabulary, ids: ArrayLike, side: str) -> NDArray[np.bool_]:
    """Marks the rows of ids, all of which must be known."""
    wanted = [ids] if isinstance(ids, int | str) else ids
    rows = vocabulary.index(wanted)
    if (rows < 0).any():
        unknown = np.asarray(wanted, dtype=object)[int(np.argmin(rows))]
        raise ValueError(
            f"there is no {side} {shown(unknown)} among the {len(vocabulary):,} of these ratings; leave it out"
        )
    marks = np.zeros(len(vocabulary), dtype=bool)
    marks[rows] = True
    return marks


def _unite(vocabularies: Sequence[Vocabulary]) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
    """A vocabulary of all ids, and where in it the rows of each vocabulary are."""
    first = vocabularies[0]
    if all(first == other for other in vocabularies[1:]):
        return first, [np.arange(len(first), dtype=np.int32)] * len(vocabularies)
    named = [vocabulary for vocabulary in vocabularies if len(vocabulary)]
    if len({vocabulary.of_strings for vocabulary in named}) > 1:
        raise TypeError("some parts have numbers for ids, others strings; convert them before they are put together")
    united, _ = Vocabulary.numbered(np.concatenate([vocabulary.ids() for vocabulary in named]))
    return united, [united.index(vocabulary.ids()) for vocabulary in vocabularies]
