"""Matrices as a product of two thin factors."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Block = NDArray[np.float64]


class LowRank(NamedTuple):
    """left · rightᵀ, n_users × rank and n_items × rank."""

    left: Block
    right: Block

    @staticmethod
    def zero(n_users: int, n_items: int) -> "LowRank":
        return LowRank(np.zeros((n_users, 0)), np.zeros((n_items, 0)))

    @staticmethod
    def of_pairs(left: Block, values: NDArray[np.float64], right: Block) -> "LowRank":
        """U √S and V √S of singular pairs: balanced."""
        roots = np.sqrt(values)
        return LowRank(left * roots, right * roots)

    @property
    def rank(self) -> int:
        return int(self.left.shape[1])

    @property
    def trace_norm(self) -> float:
        """½ (‖left‖² + ‖right‖²): the sum of the singular values of a balanced product, above it for any other."""
        return 0.5 * float(np.vdot(self.left, self.left) + np.vdot(self.right, self.right))


def balanced(product: LowRank, *, least: float = 0.0) -> LowRank:
    """The same matrix as U √S, V √S, largest singular value first; those up to `least` are left out."""
    if product.rank == 0:
        return product
    (left, of_left), (right, of_right) = (np.linalg.qr(side) for side in product)
    u, values, vt = scipy.linalg.svd(of_left @ of_right.T, check_finite=False)
    kept = int((values > max(least, values[0] * np.finfo(float).eps * len(values))).sum()) if len(values) else 0
    return LowRank.of_pairs(left @ u[:, :kept], values[:kept], right @ vt[:kept].T)
