"""Units in which single precision has room for what kernels multiply: ratings of 1e30 or 1e-40 become numbers near 1.

With s a power of four, a kernel sees the ratings r/s, factors p/√s and biases b/s; multiplying by powers of two is
exact, so the change of units costs no bits. Between 2⁻⁴⁰ and 2⁴⁰ kernels have room, and s is 1.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings

ROOM = 40
LARGEST_RATING = 1e37


def exponent_of(size: float) -> int:
    """The even number e such that kernels see ratings of that size in units of 2ᵉ."""
    exponent = math.frexp(size)[1]
    return 0 if abs(exponent) <= ROOM else exponent // 2 * 2


def rows_in_units(
    rows: NDArray[np.float32], rank: int, exponent: int, bias_column: int | None = None
) -> NDArray[np.float32]:
    """Rows of factors in units of 2ᵉ, with their biases if there is a column of them; −e takes them back.

    A copy, or the rows themselves where nothing changes.
    """
    if exponent == 0:
        return rows
    scaled = rows.copy()
    with np.errstate(over="ignore"):
        np.ldexp(rows[:, :rank], -exponent // 2, out=scaled[:, :rank])
        if bias_column is not None:
            np.ldexp(rows[:, bias_column], -exponent, out=scaled[:, bias_column])
    return scaled


def check_size(ratings: Ratings) -> None:
    """Refuses ratings so large that single precision cannot hold the sums of a few of them."""
    largest = max(map(abs, ratings.bounds()))
    if largest > LARGEST_RATING:
        raise ValueError(
            f"ratings must be between -{LARGEST_RATING:g} and {LARGEST_RATING:g}, found one of the size {largest:g}; "
            "divide them all, for example ratings.with_values(lambda values: values / 1e30)"
        )


def all_finite(rows: NDArray[np.float32]) -> bool:
    """Whether there is neither NaN nor an infinity among them."""
    if rows.size <= 256:  # the fast way for a single rating: a finite sum of squares has finite terms
        return math.isfinite(np.vdot(rows, rows)) or bool(np.isfinite(rows).all())
    with np.errstate(invalid="ignore"):  # no temporary array where there are many
        return math.isfinite(rows.sum(dtype=np.float64))


def check_finite(rows: NDArray[np.float32], remedy: str) -> None:
    """Refuses rows that single precision cannot hold."""
    if not all_finite(rows):
        raise ValueError(f"the factors are larger than single precision can hold; {remedy}")
