"""Matrices as a product of two thin factors."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rankfill.linalg.tall import Block, tall_gram, tall_times

_NEARLY_DEPENDENT = 1e-5
"""Shares of columns of length 1 that others do not have: below this, squares lose too many digits."""


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


def balance(product: LowRank, *, least: float = 0.0) -> LowRank:
    """The same matrix as U √S, V √S, largest singular value first; those up to `least` are left out."""
    if product.rank == 0:
        return product
    (left, of_left), (right, of_right) = (orthonormal(side) for side in product)
    u, values, vt = scipy.linalg.svd(of_left @ of_right.T, check_finite=False)
    kept = int((values > max(least, values[0] * np.finfo(float).eps * len(values))).sum()) if len(values) else 0
    return LowRank.of_pairs(tall_times(left, u[:, :kept]), values[:kept], tall_times(right, vt[:kept].T))


def orthonormal(block: Block) -> tuple[Block, Block]:
    """Q and R with Q R = block and Qᵀ Q = I: by Cholesky, which is matrix products, or as always where that fails."""
    norms = np.linalg.norm(block, axis=0)
    if not (norms > 0).all():
        return np.linalg.qr(block)
    basis, factor = block / norms, np.diag(norms)
    while True:
        triangle, failed = scipy.linalg.lapack.dpotrf(tall_gram(basis, basis), clean=1)
        smallest = float(np.diag(triangle).min(initial=1.0))
        if failed or smallest < _NEARLY_DEPENDENT:
            return np.linalg.qr(block)
        basis = scipy.linalg.blas.dtrsm(1.0, triangle, basis.T, trans_a=1).T
        factor = triangle @ factor
        if smallest > 0.5:
            return basis, factor
