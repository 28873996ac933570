"""Starting values of rows: random numbers, or given factors."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

_AT_ONCE = 1 << 14


def random_rows(first: int, last: int, rank: int, seed: int) -> NDArray[np.float64]:
    """Uniform numbers on [0, 1) in rows first … last − 1: a row depends on the seed and its number alone."""
    bits = np.random.PCG64(seed)
    bits.advance(int(first * rank))
    return np.random.Generator(bits).random((last - first, rank))


def set_random(
    rows: NDArray[np.float32],
    first: int,
    rank: int,
    seed: int,
    change: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> None:
    """Sets the first `rank` columns of rows first, first + 1, … to `change` of their random numbers.

    Some rows at a time: in double precision all of them would take twice the room of the rows themselves.
    """
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE]
        some[:, :rank] = change(random_rows(first + begin, first + begin + len(some), rank, seed))


def checked_factors(kind: str, factors: ArrayLike, n_rows: int) -> NDArray[np.float32]:
    """Checks factors given for n_rows users or items."""
    array = np.asarray(factors)
    if array.ndim != 2 or array.shape[0] != n_rows or array.dtype.kind not in "iufb":
        raise ValueError(
            f"init needs {kind} factors as numbers of shape ({n_rows}, rank), one row per {kind} of the ratings; "
            f"found {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32)
    if not np.isfinite(converted).all():
        raise ValueError(f"init has {kind} factors that are not finite; start from finite numbers")
    return converted
