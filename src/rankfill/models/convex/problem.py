"""A completion problem under the trace norm as its solvers see it; the formulas are in `objectives.py`."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.linalg import LowRank, Pattern, SparseMatrix


class Iterate(NamedTuple):
    """Z, balanced, and the residual r − o − w of every rating, in order by user."""

    solution: LowRank
    residual: NDArray[np.float64]
    dual: NDArray[np.float64] | None = None
    """A point of the dual to prove the gap with, where it is not the slopes of the loss at the residuals."""
    row_penalty: float | None = None
    """λ of a row that is folded in, where the solver has a better estimate than the objective."""


class Rated(NamedTuple):
    """The row numbers in the ratings of users and items that have some, and 1/d of each."""

    users: NDArray[np.intp]
    items: NDArray[np.intp]
    user_scale: NDArray[np.float64]
    item_scale: NDArray[np.float64]

    @classmethod
    def of(cls, user_counts: NDArray[np.int64], item_counts: NDArray[np.int64], *, by_count: bool) -> "Rated":
        counts = user_counts, item_counts
        users, items = (np.flatnonzero(each) for each in counts)
        scales = (
            np.sqrt(np.mean(each[rated]) / each[rated]) if by_count else np.ones(len(rated))
            for each, rated in zip(counts, (users, items), strict=True)
        )
        return cls(users, items, *scales)


@dataclass(frozen=True)
class Problem:
    """The ratings as the solvers see them: in double, less their offset, without empty rows and columns."""

    pattern: Pattern
    values: NDArray[np.float64]
    users: NDArray[np.intp]
    """The row numbers in the ratings of the rows here."""
    items: NDArray[np.intp]
    user_scale: NDArray[np.float64]
    """1/d_u."""
    item_scale: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @property
    def ratings(self) -> NDArray[np.float32]:
        """The ratings with their offset, in order by user."""
        return self.pattern.by_user.values

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """c of every entry."""
        return self.user_scale[self.pattern.users] * self.item_scale[self.pattern.items]

    @cached_property
    def curvature(self) -> float:
        """The Lipschitz constant of the gradient: the largest c²."""
        return float(np.max(self.scale**2, initial=0.0))

    @cached_property
    def both_sides(self) -> Rows:
        """The values in single precision, by user, then by item; users and items are numbered as one."""
        by_user, by_item = self.pattern.by_user, self.pattern.by_item
        n, indices = len(self.values), np.empty(2 * len(self.values), np.int32)
        values = np.empty(2 * n, np.float32)
        indices[:n], indices[n:], values[:n] = by_user.indices, by_item.indices, self.values
        indices[:n] += np.int32(self.shape[0])
        np.take(values[:n], self.pattern.order, out=values[n:])
        return Rows.taking(np.append(by_user.indptr, n + by_item.indptr[1:]), indices, values)

    @cached_property
    def scales(self) -> NDArray[np.float32]:
        """1/d of users, then of items, as a column."""
        return np.concatenate([self.user_scale, self.item_scale]).astype(np.float32)[:, None]

    def residual(self, solution: LowRank) -> NDArray[np.float64]:
        return self.values - self.predict(solution)

    def predict(self, solution: LowRank) -> NDArray[np.float64]:
        """w of every entry."""
        left, right = solution
        return self.pattern.entries(left * self.user_scale[:, None], right * self.item_scale[:, None])

    def descent(self, residual: NDArray[np.float64]) -> SparseMatrix:
        """c ∘ e: minus the gradient of ½ Σ e² in Z."""
        return SparseMatrix(self.pattern, self.scale * residual)

    def iterate(self, solution: LowRank) -> Iterate:
        return Iterate(solution, self.residual(solution))


def problem_of(ratings: Ratings, offsets: NDArray[np.float64], *, by_count: bool) -> Problem:
    """The ratings less their offsets, without empty rows and columns: those change nothing, not even the rounding."""
    item_counts = np.bincount(ratings.item_indices, minlength=ratings.n_items)
    rated = Rated.of(ratings.by_user.counts(), item_counts, by_count=by_count)
    columns = np.zeros(ratings.n_items, np.int32)
    columns[rated.items] = np.arange(len(rated.items), dtype=np.int32)
    rows = Rows.taking(
        np.append(ratings.by_user.indptr[rated.users], len(ratings)), columns[ratings.item_indices], ratings.values
    )
    return Problem(Pattern.of(rows, len(rated.items)), ratings.values - offsets, *rated)


def unit_of(values: NDArray[np.float64]) -> float:
    """The power of four nearest to the root mean square: to divide by it and by its root is exact."""
    size = float(np.abs(values).max(initial=0.0))
    if size == 0.0:
        return 1.0
    size *= float(np.sqrt(np.mean((values / size) ** 2)))
    return 4.0 ** round(math.log(size, 4))
