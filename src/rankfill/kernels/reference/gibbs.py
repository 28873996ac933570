"""NumPy twins of the kernels that draw rows and normal numbers: the same signatures, the same results to the bit."""

import math

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.gibbs import OtherSide, RowPosterior, ThirdSide
from rankfill.kernels.reference.least_squares import chunked_products, eliminate, nonempty_rows, substitute_back
from rankfill.kernels.rows import Rows

_32 = 2**32 - 1


def philox(key: int, row: int, block: int) -> list[int]:
    """Four numbers of 32 bits: Philox 4x32-10."""
    keys = [key & _32, key >> 32]
    x = [block & _32, block >> 32, row & _32, row >> 32]
    for _ in range(10):
        one, other = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(other >> 32) ^ x[1] ^ keys[0], other & _32, (one >> 32) ^ x[3] ^ keys[1], one & _32]
        keys = [(keys[0] + 0x9E3779B9) & _32, (keys[1] + 0xBB67AE85) & _32]
    return x


def open_uniform(bits: int) -> float:
    return (bits + 0.5) * 2.0**-32


def normals(key: int, row: int, n: int) -> list[float]:
    """Standard normal numbers 0 … n − 1 of a row."""
    numbers: list[float] = []
    for block in range(-(-n // 4)):
        bits = philox(key, row, block)
        for pair in (0, 2):
            radius = math.sqrt(-2.0 * math.log(open_uniform(bits[pair])))
            angle = 2.0 * math.pi * open_uniform(bits[pair + 1])
            numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return numbers[:n]


def normal_rows(key: int, n_rows: int, width: int) -> NDArray[np.float32]:
    numbers = [normals(key, row, width) for row in range(n_rows)]
    return np.array(numbers, np.float64).reshape(n_rows, width).astype(np.float32)


def draw_rows(
    entries: Rows,
    moving: NDArray[np.float32],
    other: OtherSide,
    posterior: RowPosterior,
    key: int,
    *,
    means: NDArray[np.float32] | None = None,
    third: ThirdSide | None = None,
    numbers: NDArray[np.int32] | None = None,
) -> None:
    rank = posterior.rank
    columns = [*range(rank), posterior.bias_column]
    for row, some in nonempty_rows(entries):
        fixed = other.rows[entries.indices[some]]
        x, target = fixed[:, :rank], entries.values[some] - fixed[:, other.bias_column]
        if third is not None:
            more = third.side.rows[third.indices[some]]
            product = more[:, third.side.bias_column]
            for k in range(rank):
                product = product + x[:, k] * more[:, k]
            x, target = x + more[:, :rank], target - product
        prior = posterior.prior[0 if len(posterior.prior) == 1 else row]
        system = eliminate(_system(x, target, posterior, prior))
        if means is not None:
            means[row, columns] = substitute_back(system)
        for k, number in enumerate(normals(key, row if numbers is None else int(numbers[row]), rank + 1)):
            system[k, rank + 1] += math.sqrt(system[k, k]) * number
        moving[row, columns] = substitute_back(system)


def _system(
    x: NDArray[np.float32], target: NDArray[np.float32], posterior: RowPosterior, prior: NDArray[np.float32]
) -> NDArray[np.float64]:
    """A and, in the column after it, c; padded as the kernel's."""
    n, rank, alpha = len(x), posterior.rank, posterior.noise_precision
    order = rank + 1
    system = np.zeros((order, order // LANES * LANES + LANES))
    system[:rank, :rank] = alpha * np.triu(chunked_products(x, x))
    sides = chunked_products(np.column_stack([np.ones(n, np.float32), target]), x)
    system[:rank, rank], system[:rank, order] = alpha * sides[0], alpha * sides[1]
    system[rank, rank] = alpha * n
    system[rank, order] = alpha * sum(target.astype(np.float64).tolist(), 0.0)
    for j in range(order):
        system[:, order] += posterior.precision[:, j] * prior[j].astype(np.float64)
    system[:, :order] += np.triu(posterior.precision)
    return system
