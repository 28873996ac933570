"""Blocks of ratings by user and by item, made on the cluster: compressed rows as binary columns, one block a partition.

A block holds a run of users (or items) with all their ratings, about as many ratings as every other block. The mapping
of ids to row numbers goes to the ratings, and ratings go to blocks as packed bytes, a few large values per task.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data import Vocabulary
from rankfill.data.ratings.passing import Side, sums_by_row
from rankfill.data.scale import Ends
from rankfill.kernels import Rows
from rankfill.spark.frames import Batches, as_bytes, from_bytes, pieces

PACKED = "key long, own binary, other binary, value binary"
BLOCK = "block int, first long, indptr binary, indices binary, ratings binary"
SUMMARY = ", sums binary, lowest binary, highest binary, checksum long, bad_row long, bad_column long, trouble string"
_AT_ONCE = 2**22


class Division(NamedTuple):
    """Which rows of a side are in which block, and the key that sends a block to a partition of its own."""

    bounds: NDArray[np.int64]
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64], keys: NDArray[np.int64]) -> "Division":
        """Runs of rows with about equal numbers of ratings, one for each key that they suffice for."""
        ends = np.cumsum(counts)
        wanted = ends[-1] * np.arange(1, len(keys)) / len(keys)
        cuts = np.searchsorted(ends, wanted) + 1
        return cls(np.unique(np.concatenate([[0], cuts, [len(counts)]])), keys)

    @property
    def n_blocks(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True)
class Pack:
    """The task that turns rows of ids into packed row numbers, one value per block."""

    side: Side
    users: Vocabulary
    items: Vocabulary
    division: Division
    rated: bool

    def __call__(self, batches: Batches) -> Batches:
        parts: list[tuple[NDArray[Any], ...]] = []
        n = 0
        for batch in batches:
            parts.append(self._number_rows(batch))
            n += len(parts[-1][0])
            if n >= _AT_ONCE:
                yield from self._pack(parts)
                parts, n = [], 0
        if n:
            yield from self._pack(parts)

    def _number_rows(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], ...]:
        users = self.users.index(_ids(batch.column(0)))
        items = self.items.index(_ids(batch.column(1)))
        values = np.ones(len(users), np.float32)
        if self.rated:
            with np.errstate(over="ignore"):
                values = batch.column(2).to_numpy(zero_copy_only=False).astype(np.float32)
        return (users, items, values) if self.side == "user" else (items, users, values)

    def _pack(self, parts: list[tuple[NDArray[Any], ...]]) -> Iterator[pa.RecordBatch]:
        own, other, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        block = np.searchsorted(self.division.bounds, own, side="right") - 1
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(self.division.n_blocks + 1))
        for number in range(self.division.n_blocks):
            here = order[ends[number] : ends[number + 1]]
            if len(here):
                arrays = [as_bytes(array[here]) for array in (own, other, values)]
                key = pa.array([self.division.keys[number]], pa.int64())
                yield pa.RecordBatch.from_arrays([key, *arrays], ["key", "own", "other", "value"])


@dataclass(frozen=True)
class Build:
    """The task that makes one block of what was packed for it, with its sums and what is wrong with it."""

    division: Division

    def __call__(self, batches: Batches) -> Batches:
        packed = [
            (piece["key"].as_py(), *map(from_bytes, (piece["own"], piece["other"], piece["value"]), _TYPES))
            for piece in pieces(batches)
        ]
        if not packed:
            return
        number = int(np.flatnonzero(self.division.keys == packed[0][0])[0])
        first, last = (int(bound) for bound in self.division.bounds[number : number + 2])
        own, other, values = (np.concatenate(arrays) for arrays in list(zip(*packed, strict=True))[1:])
        order = np.argsort(own.astype(np.int64) << 32 | other)
        own, other, values = own[order], other[order], values[order]
        indptr = np.zeros(last - first + 1, np.int64)
        np.cumsum(np.bincount(own - first, minlength=last - first), out=indptr[1:])
        columns: dict[str, pa.Array] = {"block": pa.array([number], pa.int32()), "first": pa.array([first], pa.int64())}
        columns |= {"indptr": as_bytes(indptr), "indices": as_bytes(other), "ratings": as_bytes(values)}
        yield pa.RecordBatch.from_pydict(columns | _summary(Rows(indptr, other, values), own))


_TYPES = (np.int32, np.int32, np.float32)


def _summary(rows: Rows, own: NDArray[np.int32]) -> dict[str, pa.Array]:
    """What the driver wants to know of a block."""
    bad, trouble = -1, ""
    if len(own) > 1:
        again = np.flatnonzero((own[1:] == own[:-1]) & (rows.indices[1:] == rows.indices[:-1]))
        bad, trouble = (int(again[0]), "repeated") if len(again) else (bad, trouble)
    unusable = np.flatnonzero(~np.isfinite(rows.values))
    bad, trouble = (int(unusable[0]), "not finite") if len(unusable) else (bad, trouble)
    ends = Ends().extend(rows.values)
    where = (own[bad], rows.indices[bad]) if trouble else (-1, -1)
    # A sum of hashes of entries: the same whatever the blocks.
    mixed = (own.astype(np.uint64) << np.uint64(32) | rows.indices.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    odd = rows.values.view(np.uint32).astype(np.uint64) << np.uint64(1) | np.uint64(1)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * odd
    return {
        "sums": as_bytes(sums_by_row(rows)),
        "lowest": as_bytes(ends.lowest),
        "highest": as_bytes(ends.highest),
        "checksum": pa.array(mixed.sum(dtype=np.uint64, keepdims=True).view(np.int64)),
        "bad_row": pa.array([int(where[0])], pa.int64()),
        "bad_column": pa.array([int(where[1])], pa.int64()),
        "trouble": pa.array([trouble], pa.string()),
    }


def _ids(column: pa.Array) -> NDArray[Any]:
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.array(column.to_pylist(), dtype=object)
