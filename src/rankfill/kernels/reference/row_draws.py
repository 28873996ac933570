"""The NumPy twin of `row_draws.hpp`: entries of a row drawn with replacement."""

from rankfill.kernels.reference.row_order import GOLDEN, WORD, mix


def row_draws(seed: int, row: int, n: int, times: int) -> list[int]:
    """Numbers below n: draw t is a hash of (seed, row, t)."""
    state = mix((seed + GOLDEN * (row + 1)) & WORD)
    return [(mix((state + GOLDEN * t) & WORD) >> 32) * n >> 32 for t in range(1, times + 1)]
