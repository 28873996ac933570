"""The twin of `codes.hpp`."""

import numpy as np
from numpy.typing import NDArray


def decode(codes: NDArray[np.uint8], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """The value of every code."""
    return scale[codes]
