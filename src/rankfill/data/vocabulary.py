"""Ids of people and things ⇄ row numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.kernels.hashing import Arrays, HashedKeys, KeyView, decode, encode, factorize, select
from rankfill.shown import shown

Id = int | str


class Vocabulary:
    """Integer or string ids, numbered from 0; fast both ways for tens of millions of them.

    One thread may add ids while others look some up. `frozen()` gives a reader a view that stays as it is.

    Parameters
    ----------
    ids : array-like of int or str
        The ids, all different; whole-numbered floats count as integers.

    Examples
    --------
    >>> films = Vocabulary(["Alien", "Brazil"])
    >>> films.index(["Brazil", "Casablanca"])
    array([ 1, -1], dtype=int32)
    >>> films.add(["Casablanca", "Alien"])
    array([2, 0], dtype=int32)
    >>> films.ids([2])
    array(['Casablanca'], dtype=object)
    >>> films.row_of("Brazil")
    1
    """

    def __init__(self, ids: ArrayLike) -> None:
        keys = as_keys(ids)
        codes, distinct = factorize(keys)
        if len(distinct[-1]) != len(keys[-1]):
            repeated = int(np.flatnonzero(codes != np.arange(len(codes)))[0])
            raise ValueError(f"ids must be distinct, found {_show(keys, repeated)} again at position {repeated}")
        self._hold(HashedKeys(keys))

    def _hold(self, keys: HashedKeys) -> None:
        self._keys: HashedKeys | None = keys
        self._view: KeyView = keys.view  # all that reading needs: replaced by one assignment

    @classmethod
    def from_keys(cls, keys: Arrays, check: bool = True) -> "Vocabulary":
        """The vocabulary over the arrays of `keys`, which are not copied.

        Parameters
        ----------
        keys : tuple of ndarray
            One array of int64, or UTF-8 bytes (uint8) and offsets (int64) as in Arrow.
        check : bool, default=True
            Refuse arrays of another type or shape, offsets outside the bytes and bytes that are not UTF-8. Arrays of
            another vocabulary need no check. Repeated ids are always refused.
        """
        if check:
            _check_types(keys)
        vocabulary = cls.__new__(cls)
        vocabulary._hold(HashedKeys(keys, check=check))
        return vocabulary

    @classmethod
    def numbered(cls, ids: ArrayLike) -> tuple["Vocabulary", NDArray[np.int32]]:
        """Makes the vocabulary of the distinct ids in ascending order, and tells the row number of each id.

        Ascending order makes the numbering a function of the set of ids, not of the order they came in.

        Parameters
        ----------
        ids : array-like of int or str
            The ids, with repetitions.

        Returns
        -------
        vocabulary : Vocabulary
            The distinct ids.
        rows : ndarray of int32
            One row number per id given.
        """
        keys = as_keys(ids)
        if len(keys) == 1 and (close := _number_close(keys[0])) is not None:
            return cls.from_keys((close[0],), check=False), close[1]
        codes, distinct = factorize(keys)
        values = distinct[0] if len(distinct) == 1 else decode(distinct)
        ascending = np.argsort(values, kind="stable")
        new_code = np.empty(len(ascending), dtype=np.int32)
        new_code[ascending] = np.arange(len(ascending), dtype=np.int32)
        return cls.from_keys(select(distinct, ascending), check=False), new_code[codes]

    @classmethod
    def of_range(cls, n: int) -> "Vocabulary":
        """Makes the vocabulary of the ids 0 … n − 1.

        Parameters
        ----------
        n : int
            Number of ids.
        """
        return cls.from_keys((np.arange(n, dtype=np.int64),), check=False)

    @property
    def of_strings(self) -> bool:
        return self._view.of_strings

    @property
    def keys(self) -> Arrays:
        """The ids as arrays: (int64,) or (UTF-8 bytes, offsets)."""
        return self._view.arrays

    def __len__(self) -> int:
        return len(self._view)

    def __iter__(self) -> Iterator[Id]:
        return iter(self.ids().tolist())

    def __contains__(self, identity: object) -> bool:
        if isinstance(identity, str):
            return self.of_strings and bool(self.index([identity])[0] >= 0)
        if not isinstance(identity, int | np.integer) or self.of_strings or not -(2**63) <= identity < 2**63:
            return False
        return bool(self.index([int(identity)])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary) or self.of_strings != other.of_strings:
            return NotImplemented if not isinstance(other, Vocabulary) else False
        return self is other or all(map(np.array_equal, self.keys, other.keys))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(identity) for identity in self.ids(np.arange(min(3, len(self)))).tolist())
        return f"Vocabulary([{shown}{', …' if len(self) > 3 else ''}], {len(self):,} ids)"

    def index(self, ids: ArrayLike) -> NDArray[np.int32]:
        """The row number of each id, −1 for one that is not known.

        Parameters
        ----------
        ids : array-like of int or str
            The ids to look up.

        Returns
        -------
        ndarray of int32
        """
        keys = as_keys(ids)
        view = self._view
        return view.find(_compatible(view, keys)) if len(view) else np.full(_count(keys), -1, dtype=np.int32)

    def row_of(self, identity: Id) -> int:
        """The row number of one id, −1 if it is not known: `index` without the arrays.

        Parameters
        ----------
        identity : int or str
            The id to look up.
        """
        view = self._view
        if type(identity) is (str if view.of_strings else int):
            try:
                return view.find_one(identity)
            except TypeError:  # a number beyond 64 bits
                pass
        return int(self.index([identity])[0])

    def add(self, ids: ArrayLike) -> NDArray[np.int32]:
        """Appends the ids that are not known yet, and tells the row number of each.

        Parameters
        ----------
        ids : array-like of int or str
            The first ids of all decide between numbers and strings.

        Returns
        -------
        ndarray of int32
        """
        if self._keys is None:
            raise ValueError("a frozen vocabulary takes no more ids; add them to the one that it was made from")
        keys = as_keys(ids)
        if len(self) == 0 and _count(keys):
            self._keys = HashedKeys(select(keys, np.empty(0, dtype=np.int64)))
        rows = self._keys.add(_compatible(self._keys.view, keys))
        self._view = self._keys.view
        return rows

    def frozen(self) -> "Vocabulary":
        """A view of the ids as they are now, in constant time; ids added later are unknown to it."""
        vocabulary = Vocabulary.__new__(Vocabulary)
        vocabulary._keys, vocabulary._view = None, self._view
        return vocabulary

    def ids(self, indices: ArrayLike | None = None) -> NDArray[Any]:
        """The ids of the given row numbers.

        Parameters
        ----------
        indices : array-like of int, optional
            Row numbers. By default all of them.

        Returns
        -------
        ndarray of int64, or of str as objects
        """
        keys = self.keys
        chosen = keys if indices is None else select(keys, np.asarray(indices, dtype=np.int64))
        return decode(chosen) if len(keys) == 2 else chosen[0]

    def is_same(self, other: "Vocabulary") -> bool:
        """Whether both are views of the same ids in the same rows, which takes no time to tell.

        Parameters
        ----------
        other : Vocabulary
            Another view, or another vocabulary.
        """
        return self._view is other._view

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies have keys and a hash table of their own."""
        return _vocabulary_of, (self.keys,)

    def copy(self) -> "Vocabulary":
        """A vocabulary with the same ids that grows by itself."""
        return Vocabulary.from_keys(self.keys, check=False)


def _vocabulary_of(keys: Arrays) -> Vocabulary:
    return Vocabulary.from_keys(tuple(key.copy() for key in keys), check=False)


def as_keys(ids: ArrayLike) -> Arrays:
    """Ids as the arrays the hash table wants; whole-numbered floats count as integers."""
    array = ids if isinstance(ids, np.ndarray) else np.asarray(ids, dtype=object if _any_string(ids) else None)
    if array.ndim != 1:
        raise ValueError(f"ids must come as a flat sequence, found {array.ndim} dimensions")
    kind = array.dtype.kind
    if kind in "UT":
        return encode(array.tolist())
    if kind == "O":
        return _keys_of_objects(array.tolist())
    if kind not in "iubf":
        raise TypeError(f"ids must be whole numbers or strings, found dtype {array.dtype}")
    if kind in "uf":
        _check_whole(array)
    return (np.ascontiguousarray(array, dtype=np.int64),)


def _number_close(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """The distinct numbers ascending and the place of each, by a table if they lie close enough together for one."""
    lowest, highest = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    most = min(4 * len(ids), 2**26)
    if highest - lowest >= most:
        return None
    if lowest >= 0 and highest < most:
        lowest = 0  # the table has room for the numbers as they are
    offsets = ids - lowest if lowest else ids
    seen = np.zeros(highest - lowest + 1, dtype=bool)
    seen[offsets] = True
    place = np.cumsum(seen, dtype=np.int32)
    place -= 1
    return np.flatnonzero(seen) + lowest, place[offsets]


def _keys_of_objects(ids: list[Any]) -> Arrays:
    of_strings = not ids or isinstance(ids[0], str)
    for row, identity in enumerate(ids):
        if isinstance(identity, str) != of_strings or not isinstance(identity, str | int | float | np.number):
            raise TypeError(f"ids must be all strings or all whole numbers, found {shown(identity)} at row {row}")
    if of_strings:
        return encode(ids)
    numbers = np.array(ids)
    if numbers.dtype.kind == "O":
        row = next(row for row, identity in enumerate(ids) if not -(2**63) <= identity < 2**63)
        raise ValueError(f"ids must fit 64 bits, found {ids[row]} at row {row}; use strings")
    return as_keys(numbers)


def _check_whole(array: NDArray[Any]) -> None:
    whole = array < 2.0**63
    if array.dtype.kind == "f":
        whole &= (array >= -(2.0**63)) & (array == np.round(array))
    if not whole.all():
        bad = int(np.argmin(whole))
        remedy = "drop the rows without an id" if np.isnan(array[bad]) else "make them strings: ids.astype(str)"
        raise ValueError(f"ids must be whole numbers of 64 bits or strings, found {array[bad]} at row {bad}; {remedy}")


def _compatible(view: KeyView, keys: Arrays) -> Arrays:
    """The keys, if they are of the kind of those in the view."""
    if _count(keys) == 0:
        return select(view.arrays, np.empty(0, dtype=np.int64))
    if (len(keys) == 2) != view.of_strings:
        known, given = ("strings", "numbers") if view.of_strings else ("numbers", "strings")
        raise TypeError(f"the ids known here are {known}, found {given} such as {_show(keys, 0)}; convert them")
    return keys


def _check_types(keys: Arrays) -> None:
    names = ("ids",) if len(keys) == 1 else ("bytes", "offsets")
    kinds = (np.dtype(np.int64),) if len(keys) == 1 else (np.dtype(np.uint8), np.dtype(np.int64))
    for name, kind, array in zip(names, kinds, keys, strict=True):
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(f"{name} must be a vector of {kind}, found {array.dtype} of shape {array.shape}")


def _count(keys: Arrays) -> int:
    return len(keys[-1]) - (len(keys) == 2)


def _any_string(ids: ArrayLike) -> bool:
    return isinstance(ids, list | tuple) and any(isinstance(identity, str) for identity in ids)


def _show(keys: Arrays, position: int) -> str:
    key = select(keys, np.array([position]))
    return shown((key[0] if len(key) == 1 else decode(key)).item())


__all__ = ["Id", "Vocabulary", "as_keys"]
