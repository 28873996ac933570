"""Room on disk for arrays that would take too much memory."""

import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def zeros_on_disk(n: int, dtype: DTypeLike) -> NDArray[Any]:
    """Zeros in a temporary file that has no name and is gone with the array; TMPDIR says where.

    >>> zeros_on_disk(3, np.int32)[:2].tolist()
    [0, 0]
    """
    with tempfile.TemporaryFile(prefix="rankfill-") as file:
        size = max(n, 1) * np.dtype(dtype).itemsize
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # a full disk is told here, where it is an error and not the end
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype, mode="r+"))[:n]
