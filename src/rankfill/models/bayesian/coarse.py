"""The few directions in which features vary most, taken out of a system before conjugate gradients see it.

For A = XᵀX + D, and W the leading eigenvectors of XᵀX scaled by its diagonal, roughly found by orthogonal iteration, a
residual is first made orthogonal to W by the exact solution among the combinations of W, and every direction of search
is made conjugate to W (deflated conjugate gradients; Saad et al. 2000). Nearly everybody has rated what is popular, so
that on MovieLens 1M the largest eigenvalue is five hundred times the smallest, and steps were three times as many.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import normal_rows, padded

Block = NDArray[np.float32]

_MOST = 32
_COLUMNS_FOR_EACH = 8
"""So many features for each direction at least: systems of few features are solved in a few steps anyway."""
_PASSES = 3


class Coarse:
    """W, its image XᵀX W, and what depends on D."""

    def __init__(self, normal: Callable[[Block], Block], diagonal: NDArray[np.float64]) -> None:
        """`normal` is the product with XᵀX, `diagonal` its diagonal."""
        n_features = len(diagonal)
        n = min(_MOST, n_features // _COLUMNS_FOR_EACH)
        scale = (1.0 / np.sqrt(diagonal + 1.0)).astype(np.float32)[:, None]
        basis = padded(n_features, n)
        basis[:, :n] = normal_rows(0, n_features, n)
        for _ in range(_PASSES):
            basis[:, :n] = np.linalg.qr((scale * normal(scale * basis))[:, :n].astype(np.float64))[0]
        basis *= scale
        self._basis, self._image = basis[:, :n], normal(basis)[:, :n]
        self._conjugate, self._inverse = self._image, np.eye(n, dtype=np.float32)

    def prepare(self, ridge: Block) -> None:
        """`ridge` is D, a column."""
        self._conjugate = self._image + ridge * self._basis
        small = self._basis.astype(np.float64).T @ self._conjugate
        self._inverse = np.linalg.inv(0.5 * (small + small.T)).astype(np.float32)

    def take_out(self, weights: Block, residual: Block) -> None:
        """Adds to the weights what makes the residual orthogonal to W."""
        steps = self._inverse @ (self._basis.T @ residual)
        weights += self._basis @ steps
        residual -= self._conjugate @ steps

    def conjugate(self, block: Block) -> Block:
        """The block less what is not conjugate to W."""
        block -= self._basis @ (self._inverse @ (self._conjugate.T @ block))
        return block
