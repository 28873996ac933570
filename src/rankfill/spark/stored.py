"""Blocks as tasks meet them: from the frame that Spark keeps, or from a file that an earlier task left beside it.

A block that has come to an executor once stays there as a file, mapped into memory by whoever needs it: passes then
move no ratings at all. The files lie where Spark puts its own temporary files and go when these go. A task that finds
no file leaves its block out, and the driver sends it with its ratings.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from rankfill.data.checks import finite_float32
from rankfill.kernels import Rows
from rankfill.spark.frames import Batches, from_bytes, pieces

Transform = Callable[[NDArray[np.float32]], ArrayLike]


def transform(values: NDArray[np.float32], transforms: tuple[Transform, ...]) -> NDArray[np.float32]:
    """The values after all of the transforms."""
    for transform in transforms:
        values = finite_float32(transform(values))
    return values


_ARRAYS = {"indptr": np.int64, "indices": np.int32, "ratings": np.float32}


@dataclass(frozen=True)
class Source:
    """What a task needs to find the blocks of one side; `name` is that of the folder of files."""

    name: str
    transforms: tuple[Transform, ...] = ()

    def blocks(self, batches: Batches) -> Iterator[tuple[int, Rows]]:
        """The numbers of the first rows of blocks, and the blocks."""
        for piece in pieces(batches):
            first = piece["first"].as_py()
            arrays = self._keep_arrays(first, piece) if "ratings" in piece else self._find_arrays(first)
            if arrays is None:
                continue
            indptr, indices, values = arrays
            yield first, Rows(indptr, indices, transform(values, self.transforms))

    def remove(self, batches: Batches) -> Batches:
        """The task that takes the files away."""
        for piece in pieces(batches):
            first = piece["first"].as_py()
            for name in _ARRAYS:
                self._file(first, name).unlink(missing_ok=True)
            yield pa.RecordBatch.from_pydict({"first": pa.array([first], pa.int64())})

    def _file(self, first: int, name: str) -> Path:
        folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        return Path(folder, self.name, f"{first}.{name}")

    def _keep_arrays(self, first: int, piece: dict[str, pa.Scalar]) -> list[NDArray]:  # type: ignore[type-arg]
        """The arrays in a row of the frame, from now on in files; the ratings come last, so that they tell."""
        arrays = [from_bytes(piece[name], dtype) for name, dtype in _ARRAYS.items()]
        try:
            self._file(first, "ratings").parent.mkdir(mode=0o700, exist_ok=True)
            for name, array in zip(_ARRAYS, arrays, strict=True):
                part = self._file(first, f"{name}.{os.getpid()}")
                array.tofile(part)
                part.replace(self._file(first, name))
        except OSError:
            pass  # without room for files blocks come from Spark every time
        return arrays

    def _find_arrays(self, first: int) -> list[NDArray] | None:  # type: ignore[type-arg]
        if not self._file(first, "ratings").exists():
            return None
        return [np.memmap(self._file(first, name), dtype, mode="r") for name, dtype in _ARRAYS.items()]
