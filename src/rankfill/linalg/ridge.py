"""Ridge regression on sparse features, for many targets at once and with a weight for each row.

    minimise over B, b:  Σ_i w_i ‖y_i − b − Bᵀx_i‖² + λ ‖B‖²

The intercept b is not penalised: it is the weighted mean of what is left over. So the rows are centred, but never in
memory: with X̄ the weighted mean, XᵀWX − (Σw) X̄X̄ᵀ is the Gram matrix of the centred rows. A few hundred features are
solved by Cholesky, more by conjugate gradients on products with the sparse rows, to a relative residual of 1e-10.
"""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rankfill.linalg.blas import one_blas_thread

Floats = NDArray[np.float64]

_DENSE = 500
_TOLERANCE, _MOST_STEPS = 1e-10, 2000


class RidgePath:
    """The regressions of some targets for one penalty after the other, each of which starts from the one before.

    Parameters
    ----------
    features : csr_array of shape (n_rows, n_features)
    targets : ndarray of shape (n_rows, n_targets)
    weights : ndarray of shape (n_rows,), optional
    intercept : bool, default=True
    """

    def __init__(
        self,
        features: Any,
        targets: NDArray[np.floating],
        weights: NDArray[np.floating] | None = None,
        *,
        intercept: bool = True,
    ) -> None:
        self._features = features.astype(np.float64)
        self._weights = np.ones(len(targets)) if weights is None else np.asarray(weights, np.float64)
        self._total = max(float(self._weights.sum()), np.finfo(np.float64).tiny)
        self._mean_features: Floats = intercept * (self._features.T @ self._weights) / self._total
        with one_blas_thread():
            self._mean_targets: Floats = intercept * (self._weights @ np.asarray(targets, np.float64)) / self._total
        self._right: Floats = self._features.T @ (self._weights[:, None] * (targets - self._mean_targets))
        self._gram: Floats | None = None
        self._last: Floats = np.zeros(self._right.shape)
        if features.shape[1] <= _DENSE:
            weighted = self._features.multiply(self._weights[:, None]).tocsr()
            self._gram = (self._features.T @ weighted).toarray() - self._total * np.outer(
                self._mean_features, self._mean_features
            )

    def solve(self, penalty: float) -> tuple[Floats, Floats]:
        """The coefficients, one column per target, and the intercepts; the penalty must be positive."""
        if self._right.size:
            with one_blas_thread():
                self._last = self._by_cholesky(penalty) if self._gram is not None else self._by_gradients(penalty)
        return self._last, self._mean_targets - self._mean_features @ self._last

    def _by_cholesky(self, penalty: float) -> Floats:
        assert self._gram is not None
        factor = scipy.linalg.cho_factor(self._gram + penalty * np.eye(len(self._gram)), lower=True)
        solution: Floats = scipy.linalg.cho_solve(factor, self._right)
        return solution

    def _by_gradients(self, penalty: float) -> Floats:
        """One series of conjugate gradients per target, all in step; a target that has converged stands still."""
        solution = self._last.copy()
        left = self._right - self._product(solution, penalty)
        direction, squares = left.copy(), np.square(left).sum(axis=0)
        enough = _TOLERANCE**2 * np.square(self._right).sum(axis=0)
        for _ in range(_MOST_STEPS):
            going = squares > enough
            if not going.any():
                break
            image = self._product(direction, penalty)
            step = np.where(going, squares / np.maximum((direction * image).sum(axis=0), 1e-300), 0.0)
            solution += step * direction
            left -= step * image
            before, squares = squares, np.square(left).sum(axis=0)
            direction = left + np.where(going, squares / np.maximum(before, 1e-300), 0.0) * direction
        return solution

    def _product(self, block: Floats, penalty: float) -> Floats:
        weighted = self._weights[:, None] * (self._features @ block)
        centred: Floats = self._features.T @ weighted - self._total * np.outer(
            self._mean_features, self._mean_features @ block
        )
        return centred + penalty * block
