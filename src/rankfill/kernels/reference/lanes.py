"""Sums over sixteen lanes, in the order of the compiled kernels."""

from typing import Any

from numpy.typing import NDArray

from rankfill.kernels.factors import LANES


def lane_sum(terms: NDArray[Any]) -> Any:
    """Block by block into sixteen partial sums, then folded 16 → 8 → 4 → 2 → 1."""
    blocks = terms.reshape(-1, LANES)
    sums = blocks[0]
    for block in blocks[1:]:
        sums = sums + block
    while len(sums) > 1:
        half = len(sums) // 2
        sums = sums[:half] + sums[half:]
    return sums[0]


def dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    return lane_sum(a * b)
