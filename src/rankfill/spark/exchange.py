"""Half passes for which no task holds the whole other side: blocks say which rows they need, and are sent those.

A block of one side needs the rows of the other side that its ratings name. Who needs what is worked out once:

    routes      by block of the fixed side: which of its rows each block of the moving side needs
    local       by block of the moving side: its ratings, columns numbered among the rows it needs

A half pass is one job. The driver hands out each fixed block once; joined with its routes it becomes one message for
each block that needs some of its rows; joined with its messages a block of ratings moves its rows, which
go back to the driver. Messages are put in the order of their rows, so that every sum is what it is on one machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data.ratings.passing import RowStep
from rankfill.kernels import Rows, padded
from rankfill.spark.building import Division
from rankfill.spark.frames import Batches, Factors, as_bytes, from_bytes, pieces
from rankfill.spark.stepping import ANSWER, answer_of
from rankfill.spark.stored import Transform, transform

LOCAL = "key long, first long, indptr binary, indices binary, ratings binary, needed binary"
ROUTE = "key long, target long, needed binary"
MESSAGE = "key long, own boolean, first long, rows binary"

Join = Callable[[pa.Table, pa.Table], pa.Table]


class Exchange:
    """The blocks of a moving side as they take part in exchanges with a fixed side, kept on the cluster."""

    def __init__(self, kept: Any, moving: Division, fixed: Division) -> None:
        from pyspark import StorageLevel

        self.moving, self.fixed = moving, fixed
        blocks = kept.select("block", "first", "indptr", "indices", "ratings")
        n_columns = int(fixed.bounds[-1])
        self.local = blocks.mapInArrow(Localise(moving.keys, n_columns), LOCAL).repartition(len(moving.keys), "key")
        self.local = self.local.persist(StorageLevel.MEMORY_AND_DISK)
        routes = self.local.select("key", "needed").mapInArrow(Route(fixed), ROUTE)
        self.routes = routes.repartition(len(fixed.keys), "key").persist(StorageLevel.MEMORY_AND_DISK)

    def half_pass(
        self, step: RowStep, moving: NDArray[np.float32], fixed: NDArray[np.float32], transforms: tuple[Transform, ...]
    ) -> pa.Table:
        """The answers of all blocks, as of `HalfPass`."""
        strides, carried = (moving.shape[1], fixed.shape[1]), Factors(fixed).columns
        send, move = Send(carried.shape[1]), Move(step, strides, carried.shape[1], transforms)
        messages = _join(self._hand_out(carried, self.fixed), self.routes, send, MESSAGE)
        if step.goes_on:
            begun = self._hand_out(Factors(moving).columns, self.moving).selectExpr(
                "key", "true AS own", "first", "rows"
            )
            messages = messages.union(begun)
        return _join(self.local, messages.repartition(len(self.moving.keys), "key"), move, ANSWER).toArrow()

    def _hand_out(self, rows: NDArray[np.float32], division: Division) -> Any:
        """The rows of a side as a frame, one value for each block."""
        columns: dict[str, list[Any]] = {"key": division.keys[: division.n_blocks].tolist(), "first": [], "rows": []}
        for first, last in pairwise(division.bounds.tolist()):
            columns["first"].append(first)
            columns["rows"].append(rows[first:last].tobytes())
        types = pa.schema([("key", pa.int64()), ("first", pa.int64()), ("rows", pa.large_binary())])
        table = pa.Table.from_pydict(columns, types)
        return self.local.sparkSession.createDataFrame(table).repartition(len(division.keys), "key")

    def release(self) -> None:
        """Frees what the cluster keeps."""
        self.routes.unpersist()
        self.local.unpersist()


def _join(left: Any, right: Any, task: Join, schema: str) -> Any:
    """Blocks of two frames with the same key, put together by a task."""
    join = left.groupBy("key").cogroup(right.groupBy("key"))
    return join.applyInArrow(lambda left, right: task(left, right), schema)  # Spark counts arguments, self among them


@dataclass(frozen=True)
class Localise:
    """The task that numbers the columns of a block among those that it needs."""

    keys: NDArray[np.int64]
    n_columns: int

    def __call__(self, batches: Batches) -> Batches:
        for piece in pieces(batches):
            indices = from_bytes(piece["indices"], np.int32)
            is_needed = np.zeros(self.n_columns, bool)
            is_needed[indices] = True
            place = np.cumsum(is_needed, dtype=np.int32) - np.int32(1)
            columns = {"key": pa.array([self.keys[piece["block"].as_py()]], pa.int64())}
            columns |= {name: pa.array([piece[name].as_py()]) for name in ("first", "indptr")}
            columns |= {"indices": as_bytes(place[indices]), "ratings": pa.array([piece["ratings"].as_py()])}
            columns["needed"] = as_bytes(np.flatnonzero(is_needed).astype(np.int32))
            yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class Route:
    """The task that tells every fixed block which of its rows a block needs, counted from its first."""

    fixed: Division

    def __call__(self, batches: Batches) -> Batches:
        for piece in pieces(batches):
            needed = from_bytes(piece["needed"], np.int32)
            ends = np.searchsorted(needed, self.fixed.bounds)
            for number, (begin, end) in enumerate(pairwise(ends.tolist())):
                if begin == end:
                    continue
                rows = needed[begin:end] - np.int32(self.fixed.bounds[number])
                columns = {"key": pa.array([self.fixed.keys[number]], pa.int64()), "needed": as_bytes(rows)}
                columns["target"] = pa.array([piece["key"].as_py()], pa.int64())
                yield pa.RecordBatch.from_pydict({name: columns[name] for name in ("key", "target", "needed")})


@dataclass(frozen=True)
class Send:
    """The task of a fixed block: a message with some of its rows for each block that needs them."""

    width: int

    def __call__(self, block: pa.Table, routes: pa.Table) -> pa.Table:
        rows = np.frombuffer(block.column("rows")[0].as_buffer(), np.float32).reshape(-1, self.width or 1)
        schema = pa.schema([("key", pa.int64()), ("own", pa.bool_()), ("first", pa.int64()), ("rows", pa.binary())])
        messages = []
        for route in pieces(iter(routes.to_batches())):
            chosen = rows[from_bytes(route["needed"], np.int32)] if self.width else rows[:0]
            values = [route["target"].as_py()], [False], [block.column("first")[0].as_py()]
            columns = [*(pa.array(each) for each in values), as_bytes(chosen)]
            messages.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        return pa.Table.from_batches(messages, schema)


@dataclass(frozen=True)
class Move:
    """The task that moves the rows of a block with the messages for it."""

    step: RowStep
    strides: tuple[int, int]
    width: int
    transforms: tuple[Transform, ...]

    def __call__(self, block: pa.Table, messages: pa.Table) -> pa.Table:
        (local,) = pieces(iter(block.to_batches()))
        first, indptr = local["first"].as_py(), from_bytes(local["indptr"], np.int64)
        values = transform(from_bytes(local["ratings"], np.float32), self.transforms)
        rows = Rows(indptr, from_bytes(local["indices"], np.int32), values)
        moving = padded(rows.n_rows, self.strides[0])
        fixed = padded(len(local["needed"].as_buffer()) // 4, self.strides[1])
        place = 0
        for message in sorted(pieces(iter(messages.to_batches())), key=lambda message: message["first"].as_py()):
            sent = from_bytes(message["rows"], np.float32)
            if message["own"].as_py():
                begun = sent.reshape(rows.n_rows, -1)
                moving[:, : begun.shape[1]] = begun
            elif self.width:
                some = sent.reshape(-1, self.width)
                fixed[place : place + len(some), : self.width] = some
                place += len(some)
        return pa.Table.from_batches([answer_of(self.step, first, rows, moving, fixed)])
