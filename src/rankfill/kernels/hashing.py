"""Keys to indices and back for tens of millions of integer or string keys."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import Growing

Arrays = tuple[NDArray[Any], ...]


class KeyView:
    """The keys as they were at one moment, with a hash table over them; it never changes.

    Integers live in one int64 array; strings in UTF-8 bytes and offsets, the layout of Arrow.
    """

    __slots__ = ("_native", "arrays", "of_strings", "slots")

    def __init__(self, slots: NDArray[np.int32], arrays: Arrays) -> None:
        self.slots = slots
        self.arrays = arrays  # (int64 keys,) or (uint8 bytes, int64 offsets)
        self.of_strings = len(arrays) == 2
        self._native: Any = (_native.StringView if self.of_strings else _native.IntegerView)(slots, *arrays)

    def __len__(self) -> int:
        return len(self._native)

    def find(self, queries: Arrays) -> NDArray[np.int32]:
        """The index of each query, −1 where it is not among the keys."""
        indices: NDArray[np.int32] = self._native.find(*queries)
        return indices

    def find_one(self, key: int | str) -> int:
        """The index of one key, −1 if it is not there; a TypeError for a number among strings or the reverse."""
        index: int = self._native.find_one(key)
        return index

    def enter(self, first: int) -> int:
        """Enters the keys from `first` on into the slots; the first that was there already, −1 if all are new."""
        repeated: int = self._native.enter(first)
        return repeated


class HashedKeys:
    """Distinct keys, numbered from 0. Keys are only ever added.

    `view` is all that a reader needs. It is replaced by one assignment when keys have been added, so threads may read
    while one thread adds: new keys go into room that no older view looks at, and an older view passes over their slots.
    """

    def __init__(self, arrays: Arrays, *, check: bool = True) -> None:
        arrays = tuple(np.ascontiguousarray(array) for array in arrays)
        if check and len(arrays) == 2:
            _native.check_strings(*arrays)
        self._columns = tuple(Growing(array) for array in arrays)
        self.view = self._rehash(len(arrays[-1]))
        if (repeated := self.view.enter(0)) >= 0:
            raise ValueError(f"keys must be distinct, found key {repeated} among those before it")

    def add(self, queries: Arrays) -> NDArray[np.int32]:
        """The index of each query; those not among the keys are appended in order of first appearance."""
        known = self.view
        indices = known.find(queries)
        missing = np.flatnonzero(indices < 0)
        if len(missing):
            codes, distinct = factorize(select(queries, missing))
            self._append(distinct)
            count = len(known) + _count(distinct)
            if 2 * count > len(known.slots):
                grown = self._rehash(2 * count)
                grown.enter(0)
            else:
                grown = KeyView(known.slots, self._arrays())
                grown.enter(len(known))
            self.view = grown
            indices[missing] = len(known) + codes
        return indices

    def _arrays(self) -> Arrays:
        return tuple(column.array for column in self._columns)

    def _rehash(self, room: int) -> KeyView:
        return KeyView(np.full(_native.slots_for(room), -1, dtype=np.int32), self._arrays())

    def _append(self, keys: Arrays) -> None:
        if len(keys) == 2:  # the new offsets count from the end of the known bytes
            keys = keys[0], keys[1][1:] + len(self._columns[0])
        for column, rows in zip(self._columns, keys, strict=True):
            column.extend(rows)


def encode(strings: Sequence[str]) -> Arrays:
    """Strings as UTF-8 bytes and offsets."""
    return _native.encode(strings)


def decode(arrays: Arrays) -> NDArray[np.object_]:
    """The strings as Python objects."""
    data, offsets = arrays[0].tobytes(), arrays[1].tolist()
    strings = np.empty(len(offsets) - 1, dtype=object)
    strings[:] = [data[a:b].decode() for a, b in itertools.pairwise(offsets)]
    return strings


def factorize(queries: Arrays) -> tuple[NDArray[np.int32], Arrays]:
    """A code for each query and the distinct queries, numbered in order of first appearance."""
    number = _native.factorize_strings if len(queries) == 2 else _native.factorize_integers
    codes, first_seen = number(*queries)
    return codes, select(queries, first_seen)


def select(arrays: Arrays, positions: NDArray[np.integer]) -> Arrays:
    """The keys at the given positions."""
    if len(arrays) == 1:
        return (arrays[0][positions],)
    data, offsets = arrays
    starts, lengths = offsets[positions], offsets[positions + 1] - offsets[positions]
    chosen = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(chosen[-1]) - np.repeat(chosen[:-1], lengths)
    return data[np.repeat(starts, lengths) + within], chosen


def _count(arrays: Arrays) -> int:
    return len(arrays[-1]) - (len(arrays) == 2)
