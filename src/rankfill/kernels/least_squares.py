"""Rows solved by least squares against the fixed other side; errors and Gram matrices over whole matrices."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set


@dataclass(frozen=True)
class Ridge:
    """What one side solves, row by row: with s = (n + base)^exponent for n ratings if `by_count`, else 1,

        min ½ Σ (r − offset − row·x)² + ½ penalty s ‖factors‖² + ½ bias_penalty s bias²

    With biases the row holds 1 in `held_column`, where the fixed rows hold theirs, and its own in `bias_column`,
    where they hold 1. With a `confidence` (implicit feedback) the sum is over all columns: weight 1 + confidence · r
    and target 1 where there is a rating, weight 1 and target 0 elsewhere.
    """

    rank: int
    penalty: float
    bias_penalty: float = 0.0
    by_count: bool = False
    nonnegative: bool = False
    offset: float = 0.0
    bias_column: int = -1
    held_column: int = -1
    confidence: float | None = None
    steps: int = 0
    """The number of conjugate-gradient steps that each row makes; 0 solves the normal equations."""
    exponent: float = 1.0
    base: float = 0.0
    block: int = 0
    """The number of columns solved at a time, the others fixed: a multiple of 16; 0 solves all at once."""

    @property
    def order(self) -> int:
        """The number of unknowns of a row."""
        return self.rank + (self.bias_column >= 0)

    def scales(self, n_ratings: NDArray[np.integer]) -> NDArray[np.float64]:
        """The s of rows with so many ratings."""
        counts = n_ratings.astype(np.float64) + self.base
        return counts**self.exponent if self.by_count else np.ones_like(counts)

    def of_users(self) -> "Ridge":
        """Adapts the problem to rows (p, b, 1) of a biased model."""
        return replace(self, bias_column=self.rank, held_column=self.rank + 1)

    def of_items(self) -> "Ridge":
        """Adapts the problem to rows (q, 1, b) of a biased model."""
        return replace(self, bias_column=self.rank + 1, held_column=self.rank)

    def native(self) -> _native.Ridge:
        return _native.Ridge(
            rank=self.rank,
            bias_column=self.bias_column,
            held_column=self.held_column,
            offset=self.offset,
            penalty=self.penalty,
            bias_penalty=self.bias_penalty,
            by_count=self.by_count,
            nonnegative=self.nonnegative,
            implicit=self.confidence is not None,
            confidence=self.confidence or 0.0,
            steps=self.steps,
            exponent=self.exponent,
            base=self.base,
            block=self.block,
        )


class SquaredErrors(NamedTuple):
    """`plain` is Σ e² over the ratings; `weighted` the same, with implicit feedback Σ (1 + confidence · r) e² − ŝ²."""

    weighted: float
    plain: float


def solve_rows(
    rows: Rows,
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    ridge: Ridge,
    gram: NDArray[np.float32] | None = None,
) -> None:
    """Replaces every row that has entries by the solution of its problem, or moves it there by `ridge.steps` steps.

    With implicit feedback `gram` is the Gram matrix of all fixed rows; by default it is made here.
    """
    if gram is None:
        gram = np.zeros((1, 1), np.float32) if ridge.confidence is None else gram_matrix(fixed)
    for (_, block), own in rows.blocks_with(moving):
        _native.solve_rows(
            block.pattern, block.values, own, fixed, ridge.native(), gram, get_threads(), instruction_set()
        )


def squared_errors(rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], ridge: Ridge) -> SquaredErrors:
    """Over all ratings, e = r − offset − row·x, with implicit feedback e = 1 − row·x."""
    sums = 0.0, 0.0
    for (_, block), own in rows.blocks_with(moving):
        sums = _native.squared_errors(
            block.pattern, block.values, own, fixed, ridge.native(), get_threads(), instruction_set(), sums
        )
    return SquaredErrors(*sums)


def gram_matrix(factors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Σ x xᵀ over the rows."""
    return _native.gram_matrix(factors, get_threads(), instruction_set())
