"""Rows of a Gaussian table with unknown entries: their expectation given what is known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES
from rankfill.kernels.threads import get_threads, instruction_set


class HoledTable:
    """A table of columns less their means, its unknown entries (NaN when it is made) filled and filled again.

    >>> table = HoledTable(np.array([[2.0, np.nan], [1.0, 1.0]]))
    >>> table.fill(np.linalg.inv([[1.0, 0.5], [0.5, 1.0]]))
    array([[0.  , 0.  ],
           [0.  , 0.75]])
    >>> table.values
    array([[2., 1.],
           [1., 1.]])
    """

    def __init__(self, values: NDArray[np.floating[Any]]) -> None:
        holes = np.isnan(values)
        self._n_columns = values.shape[1]
        indptr = np.concatenate([[0], np.cumsum(holes.sum(axis=1))])
        self._holes = _native.Pattern(indptr, np.nonzero(holes)[1].astype(np.int32))
        self._pad = _pad(values)
        self._pad[:, : self._n_columns][holes] = 0.0

    @property
    def values(self) -> NDArray[np.float64]:
        """The table as it is now, to be looked at or moved in place."""
        return self._pad[:, : self._n_columns]

    def fill(self, precision: NDArray[np.float64]) -> NDArray[np.float64]:
        """Puts into every hole its expectation given the known entries of its row, −Λ_JJ⁻¹ Λ_JO x_O.

        `precision` is Λ, the inverse of the covariance of the columns. Returns Σ Λ_JJ⁻¹ over the rows: what the filled
        table lacks in covariance.
        """
        sums = _native.fill_rows(self._holes, self._pad, _pad(precision), get_threads(), instruction_set())
        upper = np.triu(sums[:, : self._n_columns])
        return upper + np.triu(upper, 1).T


def _pad(matrix: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    wide = np.zeros((len(matrix), -(-matrix.shape[1] // LANES) * LANES))
    wide[:, : matrix.shape[1]] = matrix
    return wide
