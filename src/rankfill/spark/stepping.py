"""What every task does that moves the rows of a block, wherever its ratings and the fixed rows came from."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data.ratings.passing import RowStep
from rankfill.kernels import Rows, own_threads
from rankfill.spark.frames import Factors, as_bytes

ANSWER = "first long, rows binary, n_rows long, sums array<double>"


def answer_of(
    step: RowStep, first: int, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32]
) -> pa.RecordBatch:
    """The rows of a block after a half pass, and the sums of the step."""
    with own_threads(1):  # Spark runs as many tasks as there are cores
        sums = step(rows, moving, fixed, first)
    columns = {"first": pa.array([first], pa.int64()), "rows": as_bytes(Factors(moving).columns)}
    columns |= {"n_rows": pa.array([rows.n_rows], pa.int64())}
    return pa.RecordBatch.from_pydict(columns | {"sums": pa.array([list(sums)], pa.list_(pa.float64()))})
