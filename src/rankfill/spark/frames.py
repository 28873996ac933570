"""What every other file here needs of Spark: names of columns, partitions that are known, rows as bytes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from rankfill.data import Vocabulary
from rankfill.kernels import padded

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]


def check_columns(frame: Any, *names: str | None) -> None:
    """Refuses what is no frame of Spark and frames without these columns."""
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(f"frame must be a data frame of Spark, found {type(frame).__name__}; use model.fit")
    for name in names:
        if name is not None and name not in frame.columns:
            raise ValueError(f"the frame has no column {name!r}, only {', '.join(frame.columns)}; name the right one")


def number_of_tasks(session: Any) -> int:
    """How many tasks the cluster runs at once: Spark cuts a range into as many parts."""
    return int(session.range(0, 4096).selectExpr("spark_partition_id() AS part").distinct().count())


def keys_of_partitions(session: Any, n: int) -> NDArray[np.int64]:
    """Numbers that `repartition(n, column)` sends to the partitions 0 … n − 1: one of its own for each block."""
    found = session.range(0, 64 * n + 64).selectExpr("id", f"pmod(hash(id), {n}) AS part").groupBy("part").min("id")
    table = found.toArrow()
    keys = np.full(n, -1, np.int64)
    keys[table.column("part").to_numpy()] = table.column("min(id)").to_numpy()
    return keys


def ids_of(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """A column of ids as an array."""
    if column.null_count:
        raise ValueError(f"the column {name!r} has rows without an id; leave them out: frame.dropna(subset=[{name!r}])")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    if not pa.types.is_integer(column.type):
        raise TypeError(
            f"ids are integers or strings, found {column.type} in the column {name!r}; cast it, "
            f'for example frame.withColumn({name!r}, frame[{name!r}].cast("string"))'
        )
    return np.asarray(column.to_numpy())


def as_bytes(array: NDArray[Any]) -> pa.Array:
    """An array as one value of a binary column."""
    return pa.array([np.ascontiguousarray(array).tobytes()], pa.binary())


def from_bytes(value: pa.Scalar, dtype: DTypeLike) -> NDArray[Any]:
    """The array in a value of a binary column; not copied."""
    return np.frombuffer(value.as_buffer(), dtype)


def pieces(batches: Batches) -> Iterator[dict[str, pa.Scalar]]:
    """The rows of batches, one after the other."""
    for batch in batches:
        for place in range(batch.num_rows):
            yield {name: batch.column(name)[place] for name in batch.schema.names}


class Factors:
    """Padded rows on their way to another process: without the columns of zeros at their end."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        used = np.flatnonzero(rows.any(axis=0))
        self.stride = rows.shape[1]
        self.columns = np.ascontiguousarray(rows[:, : int(used[-1]) + 1 if len(used) else 0])

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float32]:
        """Some of the rows, padded anew."""
        some = self.columns[first:last]
        rows = padded(len(some), self.stride)
        rows[:, : some.shape[1]] = some
        return rows


def vocabulary_of(ids: NDArray[Any], counts: NDArray[np.int64]) -> tuple[Vocabulary, NDArray[np.int64]]:
    """Distinct ids in ascending order, and their counts in the same."""
    vocabulary, rows = Vocabulary.numbered(ids)
    ordered = np.empty(len(vocabulary), np.int64)
    ordered[rows] = counts
    return vocabulary, ordered
