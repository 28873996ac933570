"""The order in which a pass meets the entries of a row."""

import numpy as np
from numpy.typing import NDArray

_PRIMES = (
    *(2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497),
    *(2147483489, 2147483477, 2147483423, 2147483399, 2147483353, 2147483323, 2147483269, 2147483249),
)
_LONG_ROW = 512
_PLACES = (11, 13, 17, 19, 23, 29, 31, 37)
GOLDEN = 0x9E3779B97F4A7C15
WORD = 0xFFFFFFFFFFFFFFFF


def row_order(seed: int, row: int, n: int) -> NDArray[np.int64]:
    """The order in which a row's n entries are met: k ↦ (start + k · stride) mod n."""
    mixed = mix((seed + GOLDEN * (row + 1)) & WORD)
    start, choice = (mixed >> 4) % n, mixed & 15
    if n < _LONG_ROW:
        while n > 1 and _PRIMES[choice] % n == 0:
            choice = (choice + 1) & 15
        stride = _PRIMES[choice] % n
    else:
        choice &= 7
        while n % _PLACES[choice] == 0:
            choice = (choice + 1) & 7
        stride = pow(_PLACES[choice], -1, n)
    return (start + np.arange(n) * stride) % n


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)
