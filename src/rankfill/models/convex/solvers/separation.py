"""The separation problems of primal–dual completion: directions a, b in which a matrix Q is longer than λ."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import SparseMatrix, leading_pairs, start_block, subspace_iteration

Block = NDArray[np.float64]

_WIDTH, _STEPS = 4, 3
_COPOSITIVE_STEPS = 30
_SAME = 0.9
"""Two non-negative directions with a larger cosine count as one."""


class Directions(NamedTuple):
    """Unit vectors in columns, the most violated first; the share of random starts that found that one."""

    users: Block
    items: Block
    agreement: float = 1.0


class Separation:
    """Searches that remember where the last one ended."""

    def __init__(self, shape: tuple[int, int], seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seed = seed
        self._shape = shape
        self._right = np.zeros((shape[1], 0))

    def leading(self, matrix: SparseMatrix, threshold: float) -> Directions:
        """The direction that breaks its constraint most, if one does."""
        pairs = subspace_iteration(matrix, self._start(self._right, _WIDTH - self._right.shape[1]), _STEPS)
        self._right = pairs.right[:, : _WIDTH // 2]
        if pairs.values[0] <= threshold:
            pairs = leading_pairs(matrix, 1, self._seed, tol=1e-3)
        found = int(pairs.values[0] > threshold)
        return Directions(pairs.left[:, :found], pairs.right[:, :found])

    def several(self, matrix: SparseMatrix, items: Block, most: int, threshold: float) -> Directions:
        """Finds up to `most` pairs that break their constraints; `items` in rows are near the leading ones."""
        pairs = subspace_iteration(matrix, self._start(items.T, most), _STEPS)
        found = min(int((pairs.values > threshold).sum()), most)
        self._right = pairs.right[:, found:]
        return Directions(pairs.left[:, :found], pairs.right[:, :found])

    def nonnegative(self, matrix: SparseMatrix, starts: int, threshold: float) -> Directions:
        """Different ones with a, b ≥ 0 that break their constraints: local optima of aᵀQb from random starts."""
        items = _unit(self._rng.random((self._shape[1], starts)))
        for _ in range(_COPOSITIVE_STEPS):
            users = _unit(np.maximum(matrix.times(items), 0.0))
            towards = np.maximum(matrix.transposed_times(users), 0.0)
            items = _unit(towards)
        values = np.linalg.norm(towards, axis=0)
        order = np.argsort(-values, kind="stable")
        kept: list[int] = []
        for column in order[values[order] > threshold]:
            if all(items[:, column] @ items[:, other] < _SAME for other in kept):
                kept.append(int(column))
        alike = values >= (1 - 1e-3) * values[order[0]]
        return Directions(users[:, kept], items[:, kept], float(alike.mean()))

    def _start(self, near: Block, more: int) -> Block:
        """Columns near those sought, what the last search left over, and random ones."""
        width = min(near.shape[1] + more, *self._shape)
        fresh = start_block(self._shape[1], more, int(self._rng.integers(2**31)))
        return np.hstack([near, self._right[:, : more // 2], fresh])[:, :width]


def _unit(block: Block) -> Block:
    """Columns of length 1; a column of zeros stays."""
    norms = np.linalg.norm(block, axis=0)
    return block / np.where(norms > 0, norms, 1.0)
