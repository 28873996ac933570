"""Products of tall blocks, in a few parts side by side.

How many parts there are depends on the height alone, and each is made by one thread of BLAS: the same bits for any
number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import get_threads

Block = NDArray[np.float64]

_SHORTEST, _MOST_PARTS = 512, 16
_WORTH_THREADS = 20_000_000
"""Multiplications: a few milliseconds of them, beside which starting threads takes no time."""


def tall_times(tall: Block, small: Block) -> Block:
    """tall · small."""
    result = np.empty((len(tall), small.shape[1]))
    _each_part(len(tall), small.size, lambda rows: np.matmul(tall[rows], small, out=result[rows]))
    return result


def combine(tall: Block, small: Block) -> Block:
    """tall · small in the memory of `tall`; small has no more columns than rows."""
    width = small.shape[1]

    def work(rows: slice) -> Block:
        tall[rows, :width] = tall[rows] @ small
        return tall[rows, :width]

    _each_part(len(tall), small.size, work)
    return tall[:, :width]


def tall_gram(one: Block, other: Block) -> Block:
    """oneᵀ · other."""
    parts = _each_part(len(one), one.shape[1] * other.shape[1], lambda rows: one[rows].T @ other[rows])
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def beside(basis: Block, block: Block) -> Block:
    """The part of `block` orthogonal to an orthonormal basis."""
    return block - tall_times(basis, tall_gram(basis, block))


def _each_part(height: int, cost: int, work: Callable[[slice], Block]) -> list[Block]:
    """`cost` is the number of multiplications for a row."""
    step = max(_SHORTEST, -(-height // _MOST_PARTS))
    parts = [slice(begin, begin + step) for begin in range(0, max(height, 1), step)]
    threads = min(get_threads(), len(parts))
    if threads == 1 or height * cost < _WORTH_THREADS:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
