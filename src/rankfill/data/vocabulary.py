"""Ids of people and things ⇄ row numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.kernels import HashedKeys
from rankfill.kernels.hashing import Arrays, decode, encode, factorize, select

Id = int | str


class Vocabulary:
    """Integer or string ids, numbered from 0; fast both ways for tens of millions of them.

    >>> films = Vocabulary(["Alien", "Brazil"])
    >>> films.index(["Brazil", "Casablanca"])
    array([ 1, -1], dtype=int32)
    >>> films.add(["Casablanca", "Alien"])
    array([2, 0], dtype=int32)
    >>> films.ids([2])
    array(['Casablanca'], dtype=object)
    """

    def __init__(self, ids: ArrayLike) -> None:
        keys = as_keys(ids)
        codes, distinct = factorize(keys)
        if len(distinct[-1]) != len(keys[-1]):
            repeated = int(np.flatnonzero(codes != np.arange(len(codes)))[0])
            raise ValueError(f"ids must be distinct, found {_show(keys, repeated)} again at position {repeated}")
        self._keys = HashedKeys(keys)

    @classmethod
    def from_keys(cls, keys: Arrays) -> "Vocabulary":
        """From the arrays of `keys`, trusted to be distinct."""
        vocabulary = cls.__new__(cls)
        vocabulary._keys = HashedKeys(keys)
        return vocabulary

    @classmethod
    def numbered(cls, ids: ArrayLike) -> tuple["Vocabulary", NDArray[np.int32]]:
        """The vocabulary of the distinct ids in ascending order, and the row number of each id.

        Ascending order makes the numbering a function of the set of ids, not of the order they came in.
        """
        keys = as_keys(ids)
        if len(keys) == 1 and (close := _numbered_close(keys[0])) is not None:
            return cls.from_keys((close[0],)), close[1]
        codes, distinct = factorize(keys)
        values = distinct[0] if len(distinct) == 1 else decode(distinct)
        ascending = np.argsort(values, kind="stable")
        new_code = np.empty(len(ascending), dtype=np.int32)
        new_code[ascending] = np.arange(len(ascending), dtype=np.int32)
        return cls.from_keys(select(distinct, ascending)), new_code[codes]

    @classmethod
    def of_range(cls, n: int) -> "Vocabulary":
        """The ids 0 … n − 1."""
        return cls.from_keys((np.arange(n, dtype=np.int64),))

    @property
    def of_strings(self) -> bool:
        return self._keys.of_strings

    @property
    def keys(self) -> Arrays:
        """The ids as arrays: (int64,) or (UTF-8 bytes, offsets)."""
        return self._keys.arrays

    def __len__(self) -> int:
        return len(self._keys)

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
        """The row number of each id, −1 for one that is not known."""
        keys = as_keys(ids)
        return self._keys.find(self._compatible(keys)) if len(self) else np.full(_count(keys), -1, dtype=np.int32)

    def add(self, ids: ArrayLike) -> NDArray[np.int32]:
        """The row number of each id; unknown ids are appended. The first ones decide between numbers and strings."""
        keys = as_keys(ids)
        if len(self) == 0 and _count(keys):
            self._keys = HashedKeys(select(keys, np.empty(0, dtype=np.int64)))
        return self._keys.add(self._compatible(keys))

    def ids(self, indices: ArrayLike | None = None) -> NDArray[Any]:
        """The ids of the given row numbers, of all without an argument: int64, or an object array of str."""
        keys = self.keys if indices is None else select(self.keys, np.asarray(indices, dtype=np.int64))
        return decode(keys) if self.of_strings else keys[0]

    def copy(self) -> "Vocabulary":
        return Vocabulary.from_keys(self.keys)

    def _compatible(self, keys: Arrays) -> Arrays:
        if _count(keys) == 0:
            return select(self.keys, np.empty(0, dtype=np.int64))
        if (len(keys) == 2) != self.of_strings:
            known, given = ("strings", "numbers") if self.of_strings else ("numbers", "strings")
            raise TypeError(f"the ids known here are {known}, found {given} such as {_show(keys, 0)}; convert them")
        return keys


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


def _numbered_close(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """The distinct numbers ascending and the place of each, by a table if they lie close enough together for one."""
    lowest, highest = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    if highest - lowest >= min(4 * len(ids), 2**26):
        return None
    offsets = ids - lowest
    seen = np.zeros(highest - lowest + 1, dtype=bool)
    seen[offsets] = True
    place = np.cumsum(seen, dtype=np.int32)
    place -= 1
    return np.flatnonzero(seen) + lowest, place[offsets]


def _keys_of_objects(ids: list[Any]) -> Arrays:
    of_strings = not ids or isinstance(ids[0], str)
    for row, identity in enumerate(ids):
        if isinstance(identity, str) != of_strings or not isinstance(identity, str | int | float | np.number):
            raise TypeError(f"ids must be all strings or all whole numbers, found {identity!r} at row {row}")
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
        raise ValueError(f"ids must be whole numbers of 64 bits or strings, found {array[bad]} at row {bad}")


def _count(keys: Arrays) -> int:
    return len(keys[-1]) - (len(keys) == 2)


def _any_string(ids: ArrayLike) -> bool:
    return isinstance(ids, list | tuple) and any(isinstance(identity, str) for identity in ids)


def _show(keys: Arrays, position: int) -> str:
    shown = select(keys, np.array([position]))
    return repr((shown[0] if len(shown) == 1 else decode(shown)).item())


__all__ = ["Id", "Vocabulary", "as_keys"]
