"""Linear operators on blocks of vectors, n_users × n_items, none of which is ever written out in full."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, sort_into_rows, sparse_entries, sparse_gram, sparse_times
from rankfill.linalg.low_rank import LowRank
from rankfill.linalg.tall import Block, tall_gram, tall_times


class Operator(Protocol):
    """The operations that the search for singular pairs needs of a matrix; a block is n × k."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def times(self, block: Block) -> Block: ...
    def transposed_times(self, block: Block) -> Block: ...


@dataclass(frozen=True)
class Pattern:
    """The places of the entries of a sparse matrix, by user and by item, and the mapping between both orders."""

    by_user: Rows
    by_item: Rows
    order: NDArray[np.int64]
    """Entry k by item is entry order[k] by user."""

    @staticmethod
    def of(by_user: Rows, n_items: int) -> "Pattern":
        by_item, order = sort_into_rows(
            by_user.indices, by_user.row_of_entry(), by_user.values, n_items, with_order=True
        )
        return Pattern(by_user, by_item, order)

    @property
    def shape(self) -> tuple[int, int]:
        return self.by_user.n_rows, self.by_item.n_rows

    @cached_property
    def users(self) -> NDArray[np.int32]:
        """The row of every entry, in order by user."""
        return self.by_user.row_of_entry()

    @property
    def items(self) -> NDArray[np.int32]:
        """The column of every entry, in order by user."""
        return self.by_user.indices

    def entries(self, left: Block, right: Block) -> NDArray[np.float64]:
        """left[user]·right[item] of every entry, in order by user."""
        if left.shape[1] == 0:
            return np.zeros(len(self.items))
        return sparse_entries(self.by_user, np.ascontiguousarray(left), np.ascontiguousarray(right))


class SparseMatrix:
    """Numbers at the entries of a pattern, given in order by user; zero elsewhere."""

    def __init__(self, pattern: Pattern, values: NDArray[np.float64]) -> None:
        self.pattern = pattern
        self.values = values

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @cached_property
    def values_by_item(self) -> NDArray[np.float64]:
        return self.values[self.pattern.order]

    def times(self, block: Block) -> Block:
        return sparse_times(self.pattern.by_user, self.values, np.ascontiguousarray(block))

    def transposed_times(self, block: Block) -> Block:
        return sparse_times(self.pattern.by_item, self.values_by_item, np.ascontiguousarray(block))

    def gram(self) -> NDArray[np.float64]:
        """A Aᵀ or Aᵀ A, whichever is smaller, dense: its lower triangle, zeros above."""
        sides = (self.pattern.by_user, self.values), (self.pattern.by_item, self.values_by_item)
        smaller, larger = sides if self.shape[0] <= self.shape[1] else sides[::-1]
        return sparse_gram(*smaller, *larger)


class Transposed:
    """A matrix with users and items swapped."""

    def __init__(self, matrix: Operator) -> None:
        self.matrix = matrix
        self.times, self.transposed_times = matrix.transposed_times, matrix.times

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[1], self.matrix.shape[0]


class SparsePlusLowRank:
    """A sparse matrix plus left·rightᵀ."""

    def __init__(self, sparse: SparseMatrix, low_rank: LowRank) -> None:
        self.sparse = sparse
        self.low_rank = low_rank

    @property
    def shape(self) -> tuple[int, int]:
        return self.sparse.shape

    def times(self, block: Block) -> Block:
        return self.sparse.times(block) + tall_times(self.low_rank.left, tall_gram(self.low_rank.right, block))

    def transposed_times(self, block: Block) -> Block:
        return self.sparse.transposed_times(block) + tall_times(
            self.low_rank.right, tall_gram(self.low_rank.left, block)
        )
