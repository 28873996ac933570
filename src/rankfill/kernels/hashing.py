"""Keys to indices and back for tens of millions of integer or string keys."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import Growing

Arrays = tuple[NDArray[Any], ...]


class HashedKeys:
    """Distinct keys, numbered from 0, with a hash table over them. Keys are only ever added.

    Integers live in one int64 array; strings in UTF-8 bytes and offsets, the layout of Arrow.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._columns = tuple(Growing(array) for array in arrays)
        self._slots = np.full(_native.slots_for(len(self)), -1, dtype=np.int32)
        self._insert(0)

    @property
    def of_strings(self) -> bool:
        return len(self._columns) == 2

    @property
    def arrays(self) -> Arrays:
        """(int64 keys,) or (uint8 bytes, int64 offsets)."""
        return tuple(column.array for column in self._columns)

    def __len__(self) -> int:
        return len(self._columns[-1]) - self.of_strings

    def find(self, queries: Arrays) -> NDArray[np.int32]:
        """The index of each query, −1 where it is not among the keys."""
        search = _native.find_strings if self.of_strings else _native.find_integers
        return search(self._slots, *self.arrays, *queries)

    def add(self, queries: Arrays) -> NDArray[np.int32]:
        """The index of each query; those not among the keys are appended in order of first appearance."""
        indices = self.find(queries)
        missing = np.flatnonzero(indices < 0)
        if len(missing):
            known = len(self)
            codes, uniques = factorize(select(queries, missing))
            self._append(uniques)
            if 2 * len(self) > len(self._slots):
                self._slots = np.full(_native.slots_for(2 * len(self)), -1, dtype=np.int32)
                self._insert(0)
            else:
                self._insert(known)
            indices[missing] = known + codes
        return indices

    def _append(self, keys: Arrays) -> None:
        if self.of_strings:  # the new offsets count from the end of the known bytes
            keys = keys[0], keys[1][1:] + len(self._columns[0])
        for column, rows in zip(self._columns, keys, strict=True):
            column.extend(rows)

    def _insert(self, first: int) -> None:
        insert = _native.insert_strings if self.of_strings else _native.insert_integers
        insert(self._slots, first, *self.arrays)


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
