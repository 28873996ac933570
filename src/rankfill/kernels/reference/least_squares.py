"""NumPy twins of the kernels that fit rows by least squares: the same signatures, the same results to the bit.

Every element of a Gram matrix is a sum of its own in the order of the entries, so the twins can follow it exactly:
float32 within a chunk of 128 entries, chunks in float64.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.least_squares import Ridge, SquaredErrors
from rankfill.kernels.reference.lanes import dot
from rankfill.kernels.rows import Rows

CHUNK = 128
GRAM_ROWS_AT_ONCE = 4096
SMALLEST_PIVOT = 1e-6
VIOLATION = 1e-9
SWEEPS = 1000


def chunked_products(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Σ_t left[t] right[t]ᵀ."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, len(left), CHUNK):
        chunk = np.zeros(total.shape, np.float32)
        for a, b in zip(left[start : start + CHUNK], right[start : start + CHUNK], strict=True):
            chunk += np.outer(a, b)
        total += chunk
    return total


def gram_matrix(factors: NDArray[np.float32]) -> NDArray[np.float32]:
    total = np.zeros((factors.shape[1],) * 2)
    for start in range(0, len(factors), GRAM_ROWS_AT_ONCE):
        part = factors[start : start + GRAM_ROWS_AT_ONCE]
        total += chunked_products(part, part)
    upper = np.triu(total).astype(np.float32)
    return np.triu(upper) + np.triu(upper, 1).T


def solve_rows(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    ridge: Ridge,
    gram: NDArray[np.float32] | None = None,
) -> None:
    if gram is None:
        gram = gram_matrix(fixed) if ridge.confidence is not None else None
    columns = [*range(ridge.rank), *([ridge.bias_column] if ridge.bias_column >= 0 else [])]
    for row, entries in nonempty_rows(rows):
        x, ratings = fixed[rows.indices[entries]], rows.values[entries]
        if ridge.steps > 0:
            _gradient_steps(moving[row], x, ratings, ridge, gram)
            continue
        if ridge.block > 0:
            _solve_blocks(moving[row], x, ratings, ridge, gram)
            continue
        system = normal_equations(x, ratings, ridge, gram)
        if ridge.nonnegative:
            moving[row, columns] = solve_nonnegative(system, ridge.rank, moving[row, columns])
        else:
            moving[row, columns] = solve_system(system)


def normal_equations(
    x: NDArray[np.float32], ratings: NDArray[np.float32], ridge: Ridge, gram: NDArray[np.float32] | None
) -> NDArray[np.float64]:
    """Row i: the coefficients of the unknowns, then the right-hand side; padded as the kernel's."""
    rank, order, n = ridge.rank, ridge.order, len(x)
    scale = _scale(ridge, n)
    system = np.zeros((order, order // LANES * LANES + LANES))
    target = ratings - np.float32(ridge.offset)
    if ridge.held_column >= 0:
        target = target - x[:, ridge.held_column]
    factors = weighted = x[:, :rank]
    if gram is not None:
        weight = np.float32(ridge.confidence) * ratings
        target = np.float32(1) + weight
        weighted = weight[:, None] * factors
    products = chunked_products(weighted, factors)
    system[:rank, :rank] = np.triu(products if gram is None else products + gram[:rank, :rank])
    system[range(rank), range(rank)] += ridge.penalty * scale
    sides = chunked_products(np.column_stack([np.ones(n, np.float32), target]), factors)
    system[:rank, order] = sides[1]
    if order > rank:
        system[:rank, rank] = sides[0]
        system[rank, rank] = n + ridge.bias_penalty * scale
        system[rank, order] = sum(target.astype(np.float64).tolist(), 0.0)
    return system


def _scale(ridge: Ridge, n: int) -> float:
    return (float(n) + ridge.base) ** ridge.exponent if ridge.by_count else 1.0


def eliminate(system: NDArray[np.float64]) -> NDArray[np.float64]:
    """Eliminates without pivoting on the upper triangle; a pivot that is rounding becomes zero."""
    system = system.copy()
    order = len(system)
    diagonal = np.diagonal(system).copy()
    for k in range(order):
        if not system[k, k] > SMALLEST_PIVOT * diagonal[k]:
            system[k, k] = 0
            continue
        for i in range(k + 1, order):
            system[i, i : order + 1] -= (system[k, i] / system[k, k]) * system[k, i : order + 1]
    return system


def solve_system(system: NDArray[np.float64]) -> NDArray[np.float64]:
    """An unknown whose pivot is rounding stays zero."""
    return substitute_back(eliminate(system))


def substitute_back(system: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solves an eliminated system by back substitution."""
    order = len(system)
    solution = np.zeros(system.shape[1])
    solution[order] = -1
    for k in reversed(range(order)):
        start = k // LANES * LANES
        rest = dot(system[k, start:], solution[start:])
        solution[k] = -rest / system[k, k] if system[k, k] > 0 else 0
    return solution[:order]


def solve_nonnegative(
    system: NDArray[np.float64], n_constrained: int, start: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Cyclic coordinate descent, the first unknowns ≥ 0, until the optimality conditions hold."""
    system = system.copy()
    order = len(system)
    system[:, :order] = np.triu(system[:, :order]) + np.triu(system[:, :order], 1).T
    solution = np.zeros(system.shape[1])
    solution[:order], solution[order] = start, -1
    largest = np.abs(system[:, order]).max()
    for _ in range(SWEEPS):
        violation = 0.0
        for k in range(order):
            if not system[k, k] > 0:
                continue
            moved = solution[k] - dot(system[k], solution) / system[k, k]
            if k < n_constrained:
                moved = max(moved, 0.0)
            violation = max(violation, abs(moved - solution[k]) * system[k, k])
            solution[k] = moved
        if violation <= VIOLATION * largest:
            break
    return solution[:order]


def _solve_blocks(
    w: NDArray[np.float32],
    x: NDArray[np.float32],
    ratings: NDArray[np.float32],
    ridge: Ridge,
    gram: NDArray[np.float32] | None,
) -> None:
    """Block after block of columns, each solved exactly while the rest of the row stays."""
    real, scale = np.float32, _scale(ridge, len(x))
    weight = np.ones(len(x), real) if gram is None else real(ridge.confidence) * ratings
    products = np.array([dot(w, row) for row in x])
    pulls = ratings - real(ridge.offset) - products if gram is None else real(1) + weight - weight * products
    size = min(ridge.block, -(-ridge.rank // LANES) * LANES)
    for first in range(0, ridge.rank, size):
        block = slice(first, min(first + size, ridge.rank))
        order, some, before = block.stop - first, x[:, block], w[block].astype(np.float64)
        matrix = chunked_products(some if gram is None else weight[:, None] * some, some)
        side = chunked_products(pulls[:, None], some)[0]
        if gram is not None:
            matrix = matrix + gram[block, block]
            for j in range(ridge.rank):
                side -= gram[j, block].astype(np.float64) * float(w[j])
        matrix[range(order), range(order)] += ridge.penalty * scale
        side -= ridge.penalty * scale * before
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        for j in range(order):
            side += matrix[j] * before[j]
        system = np.zeros((order, order // LANES * LANES + LANES))
        system[:, :order], system[:, order] = np.triu(matrix), side
        moved = solve_nonnegative(system, order, w[block]) if ridge.nonnegative else solve_system(system)
        step = np.zeros(-(-order // LANES) * LANES, real)
        step[:order] = moved.astype(real) - w[block]
        w[block] = moved
        pulls -= weight * np.array([dot(step, np.append(row, step[order:])) for row in some])
    if ridge.bias_column >= 0:
        penalty, bias = ridge.bias_penalty * scale, float(w[ridge.bias_column])
        pull = sum(pulls.astype(np.float64).tolist(), 0.0)
        w[ridge.bias_column] = bias + (pull - penalty * bias) / (len(x) + penalty)


def _gradient_steps(
    w: NDArray[np.float32],
    x: NDArray[np.float32],
    ratings: NDArray[np.float32],
    ridge: Ridge,
    gram: NDArray[np.float32] | None,
) -> None:
    real = np.float32
    scale = _scale(ridge, len(x))
    weight = np.ones(len(x), real) if gram is None else real(ridge.confidence) * ratings
    penalties = np.full(len(w), ridge.penalty * scale).astype(real)
    if ridge.bias_column >= 0:
        penalties[ridge.bias_column] = ridge.bias_penalty * scale

    def regular(v: NDArray[np.float32]) -> NDArray[np.float32]:
        image = penalties * v
        for j in range(0 if gram is None else ridge.rank):
            image = image + v[j] * gram[j]  # type: ignore[index]
        return image

    def free(v: NDArray[np.float32]) -> NDArray[np.float32]:
        if ridge.held_column >= 0:
            v[ridge.held_column] = 0
        return v

    residual = -regular(w)
    for row, rating, each in zip(x, ratings, weight, strict=True):
        product = dot(w, row)
        error = rating - real(ridge.offset) - product if gram is None else real(1) + each - each * product
        residual = residual + error * row
    residual = free(residual)
    direction, energy = residual.copy(), dot(residual, residual)
    for _ in range(ridge.steps):
        if not energy > 0:
            break
        image = regular(direction)
        for row, each in zip(x, weight, strict=True):
            image = image + dot(direction, row) * each * row
        image = free(image)
        curvature = dot(direction, image)
        if not curvature > 0:
            break
        length = energy / curvature
        w += length * direction
        residual = residual - length * image
        before, energy = energy, dot(residual, residual)
        direction = residual + (energy / before) * direction


def squared_errors(rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], ridge: Ridge) -> SquaredErrors:
    total = np.zeros(2)
    for row, entries in nonempty_rows(rows):
        sums = np.zeros(2)
        for index, rating in zip(rows.indices[entries], rows.values[entries], strict=True):
            product = dot(moving[row], fixed[index])
            if ridge.confidence is None:
                sums += float(rating - np.float32(ridge.offset) - product) ** 2
                continue
            error, weight = float(np.float32(1) - product), float(np.float32(ridge.confidence) * rating)
            sums += ((1 + weight) * error * error - float(product) * float(product), error * error)
        total += sums
    return SquaredErrors(*total.tolist())


def nonempty_rows(rows: Rows) -> Iterator[tuple[int, slice]]:
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr.tolist())):
        if end > begin:
            yield row, slice(begin, end)
