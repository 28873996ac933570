"""Greedy directions with the best core between them: the solver of `GECO` (Shalev-Shwartz, Gonen, Shamir, ICML 2011).

A pass adds the leading singular pair of the residuals to orthonormal bases U and V, finds the best core B of
Z = U B Vᵀ, a least-squares problem in rank² unknowns, and turns U and V so that B is diagonal. B is found by conjugate
gradients, each step two products with the ratings of width rank.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.convex.problem import Iterate, Problem

Block = NDArray[np.float64]

_STEPS, _PRECISION = 200, 1e-8
"""The most steps of conjugate gradients, and at which residual, relative to the start, they end."""


class Greedy:
    """Directions are added up to the rank, while the singular value is above the threshold.

    Each pass adds to `core_steps` how many steps of conjugate gradients it took.
    """

    def __init__(self, problem: Problem, start: LowRank, *, rank: int, threshold: float, core_steps: list[int]) -> None:
        self._core_steps = core_steps
        self._problem = problem
        self._start = start
        self._rank = min(rank, *problem.shape)
        self._threshold = threshold

    def iterates(self) -> Iterator[Iterate]:
        """One pass at a time, for ever; those that add no direction find the same core again."""
        problem, start = self._problem, self._start
        users, items = (np.linalg.qr(side)[0] for side in start)
        residual = problem.residual(start)
        core = users.T @ start.left @ (items.T @ start.right).T
        while True:
            if users.shape[1] < self._rank:
                pair = leading_pairs(problem.descent(residual), 1)
                if pair.values[0] > self._threshold:
                    users, items = (_with(basis, new) for basis, new in ((users, pair.left), (items, pair.right)))
                    core = np.pad(core, ((0, 1), (0, 1)))
            core, residual, steps = _best_core(problem, users, core, items)
            self._core_steps.append(steps)
            left, values, right = np.linalg.svd(core)
            users, core, items = users @ left, np.diag(values), items @ right.T
            yield Iterate(LowRank.of_pairs(users, values, items), residual)


def _with(basis: Block, column: Block) -> Block:
    """An orthonormal basis with one direction more."""
    for _ in range(2):  # twice is enough to be orthogonal
        column = column - basis @ (basis.T @ column)
        column = column / np.linalg.norm(column)
    return np.hstack([basis, column])


def _best_core(problem: Problem, users: Block, core: Block, items: Block) -> tuple[Block, NDArray[np.float64], int]:
    """The core that fits best, its residuals, and how many steps of conjugate gradients from the given one it took."""
    residual = problem.values - problem.predict(LowRank(users @ core, items))
    if core.size == 0:
        return core, residual, 0

    def gradient(errors: NDArray[np.float64]) -> Block:
        return users.T @ problem.descent(errors).times(items)

    enough = (_PRECISION * np.linalg.norm(gradient(problem.values))) ** 2
    downhill = gradient(residual)
    direction, square = downhill, float(np.vdot(downhill, downhill))
    for step in range(_STEPS):
        if square <= enough:
            return core, residual, step
        change = problem.predict(LowRank(users @ direction, items))
        length = square / float(change @ change)
        core, residual = core + length * direction, residual - length * change
        downhill = gradient(residual)
        square, before = float(np.vdot(downhill, downhill)), square
        direction = downhill + (square / before) * direction
    return core, residual, _STEPS
