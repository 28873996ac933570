"""The matrix X of users × items, both ways round, in units in which single precision has room.

Entries are divided by a power of two, so that no bits are lost, and penalties by its square. Weights have no unit.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, sparse_gram, sparse_times

Real = TypeVar("Real", np.float32, np.float64)


class Inputs(NamedTuple):
    """X by user and by item, in units of 2 to the power of `exponent`."""

    by_user: Rows
    by_item: Rows
    exponent: int

    @classmethod
    def of(cls, entries: Rows, n_items: int) -> "Inputs":
        """From X by user: the mean diagonal of XᵀX becomes about one, items without entries apart."""
        squares = float(np.square(entries.values, dtype=np.float64).sum())
        exponent = math.frexp(math.sqrt(squares / max(len(np.unique(entries.indices)), 1)))[1]
        by_user = entries.in_units(exponent)
        return cls(by_user, by_user.transposed(n_items), exponent)

    @property
    def n_items(self) -> int:
        return self.by_item.n_rows

    @property
    def unit(self) -> float:
        """The divisor of a penalty or of the objective."""
        return 4.0**self.exponent

    def of_items(self, items: NDArray[np.integer]) -> "Inputs":
        """The columns of these items, ascending, beside which there are no entries."""
        numbers = np.zeros(self.n_items, np.int32)
        numbers[items] = np.arange(len(items))
        by_user = Rows(self.by_user.indptr, numbers[self.by_user.indices], self.by_user.values)
        return Inputs(by_user, self.by_item.of_rows(items), self.exponent)

    def gram(self, dtype: type[Real]) -> NDArray[Real]:
        """The lower triangle of XᵀX, zeros above: n_items² numbers."""
        values = self.by_item.values.astype(dtype, copy=False), self.by_user.values.astype(dtype, copy=False)
        return sparse_gram(self.by_item, values[0], self.by_user, values[1])

    def gram_times(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """XᵀX times a few columns, in double precision, without XᵀX."""
        by_user = sparse_times(self.by_user, self.by_user.values.astype(np.float64), block)
        return sparse_times(self.by_item, self.by_item.values.astype(np.float64), by_user)
