"""The weights B of all item regressions at once (EASE; Steck 2019, eq. 5 to 8).

    B = argmin ½ ‖X − XB‖² + ½ λ ‖B‖²  with diag B = 0
    P = (XᵀX + λI)⁻¹,  B_ij = −P_ij / P_jj,  and the minimum is ½ Σ_j (1 / P_jj − λ)

With fewer users than items, P = (I − Xᵀ(XXᵀ + λI)⁻¹X) / λ asks for an inverse of the size of the users alone, which is
found in double precision. Otherwise XᵀX, P and B take turns in the same 4 · n_items² bytes, in single precision.
Columns drawn at random then tell how far B is from that of double precision; where it is too far, all is found again in
double precision, in 12 · n_items² bytes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import sparse_gram, sparse_times
from rankfill.linalg.blas import one_blas_thread
from rankfill.linalg.inverse import Matrix, invert_positive
from rankfill.models.regression.inputs import Inputs

_PROBES, _ROWS = 8, 256
_SMALLEST_SHARE = 1e-6
"""Least share of an item that the others leave over: below it the difference from 1 is rounding."""
_CLOSE = 3e-6
"""Largest error of a weight: a user's score, the sum of some hundred of them, is then right to 1e-4."""


class Regression(NamedTuple):
    """Weights, one column per item to predict, and the value of the objective."""

    weights: NDArray[np.float32]
    objective: float


def regress(inputs: Inputs, penalty: float, gram: NDArray[np.float32] | None = None) -> Regression:
    """All regressions; an item without entries has no weights, and changes no bit of those of others.

    A caller who solves for several penalties gives `inputs.gram(np.float32)`, of which a copy is made.
    """
    rated = np.flatnonzero(inputs.by_item.counts())
    if len(rated) == inputs.n_items:
        return _regress(inputs, penalty, gram)
    if len(rated) == 0:
        return Regression(np.zeros((inputs.n_items, inputs.n_items), np.float32), 0.0)
    others = np.ix_(rated, rated)
    found = _regress(inputs.of_items(rated), penalty, None if gram is None else gram[others])
    weights = np.zeros((inputs.n_items, inputs.n_items), np.float32)
    weights[others] = found.weights
    return Regression(weights, found.objective)


def _regress(inputs: Inputs, penalty: float, gram: NDArray[np.float32] | None) -> Regression:
    held = penalty / inputs.unit
    if gram is None and _is_quicker_by_users(inputs) and (found := _regress_by_users(inputs, held)) is not None:
        return found
    inverse = _inverse(inputs.gram(np.float32) if gram is None else gram.copy(), held)
    if inverse is None or _error(inputs, held, inverse) > _CLOSE:
        del inverse
        inverse = _inverse(inputs.gram(np.float64), held)
    if inverse is None:
        raise ValueError(f"penalty={penalty:g} is too small for these ratings; give a larger one")
    diagonal = np.diagonal(inverse).astype(np.float64)
    inverse *= (-1 / diagonal).astype(inverse.dtype)
    np.fill_diagonal(inverse, 0)
    objective = 0.5 * inputs.unit * float((1 / diagonal - held).sum())
    return Regression(inverse.astype(np.float32, copy=False), objective)


def _inverse(matrix: Matrix, held: float) -> Matrix | None:
    """Turns the lower triangle of XᵀX into (XᵀX + held · I)⁻¹; None where rounding leaves the matrix without."""
    matrix.flat[:: len(matrix) + 1] += matrix.dtype.type(held)
    try:
        invert_positive(matrix)
    except np.linalg.LinAlgError:
        return None
    finite = all(np.isfinite(matrix[first : first + _ROWS]).all() for first in range(0, len(matrix), _ROWS))
    return matrix if finite else None


def _error(inputs: Inputs, held: float, inverse: Matrix) -> float:
    """About how far the weights of some items are off: what one step of refinement would change."""
    n = len(inverse)
    drawn = np.random.default_rng(0).choice(n, min(_PROBES, n), replace=False)
    columns = np.ascontiguousarray(inverse[:, drawn], np.float64)
    residuals = -(inputs.gram_times(columns) + held * columns)
    residuals[drawn, np.arange(len(drawn))] += 1
    with one_blas_thread():
        changes = inverse @ residuals.astype(inverse.dtype)
    return float(np.abs(changes / inverse[drawn, drawn]).max())


def _is_quicker_by_users(inputs: Inputs) -> bool:
    n_users, n_items = inputs.by_user.n_rows, inputs.n_items
    return 2 * n_users**3 + 8 * len(inputs.by_user.indices) * (n_users + n_items) < n_items**3


def _regress_by_users(inputs: Inputs, held: float) -> Regression | None:
    """With F = Xᵀ(XXᵀ + held · I)⁻¹X, B_ij = F_ij / (1 − F_jj); None where too little of an item is left over."""
    by_user, by_item = inputs.by_user, inputs.by_item
    values, own_values = by_item.values.astype(np.float64), by_user.values.astype(np.float64)
    inverse = _inverse(sparse_gram(by_user, own_values, by_item, values), held)
    if inverse is None:
        return None
    wide = inverse.astype(np.float64, copy=False)
    weights = np.empty((inputs.n_items, inputs.n_items), np.float32)
    objective = 0.0
    for first in range(0, inputs.n_items, _ROWS):
        items = np.arange(first, min(first + _ROWS, inputs.n_items))
        some = by_item.of_rows(items)
        columns = np.ascontiguousarray(sparse_times(some, some.values.astype(np.float64), wide).T)
        fitted = sparse_times(by_item, values, columns)
        own = fitted[items, items - first]
        left_over = 1 - own
        if left_over.min() < _SMALLEST_SHARE:
            return None
        objective += 0.5 * inputs.unit * held * float((own / left_over).sum())
        fitted /= left_over
        fitted[items, items - first] = 0
        weights[:, items] = fitted
    return Regression(weights, objective)
