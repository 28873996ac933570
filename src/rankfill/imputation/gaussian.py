"""Factor analysis of a table with holes: a low-rank Gaussian with its own noise in every column.

    x = μ + W z + ε,   z ~ N(0, I_rank),   ε_j ~ N(0, ψ_j),   so   x ~ N(μ, Σ),  Σ = W Wᵀ + diag(ψ).

A hole is filled with its expectation given the known entries of its row. Learned by EM over the holes alone: the
expectation of the scatter matrix of the filled table,

    S = (Σ_rows (x̂ − μ)(x̂ − μ)ᵀ + Cov[holes | known]  +  penalty · Π) / (n + penalty),

then W and ψ from S. `penalty` counts rows seen beforehand, whose covariance was the `prior` Π (the inverse Wishart
prior); by default Π = I, uncorrelated columns of variance 1. W given ψ is the best one in closed form: with the
leading eigenpairs (λ, u) of ψ^-½ S ψ^-½, the columns of W are ψ^½ u √(λ − 1) (Lawley 1940); then ψ = diag(S − W Wᵀ),
the optimum given W for the diagonal. With the full rank Σ = S, a plain Gaussian. Rubin and Thayer (1982) treat z as
missing too, which takes many more passes.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import HoledTable
from rankfill.linalg import one_blas_thread

LEAST_NOISE = 1e-6
"""The least conditional variance, as a share of a column's variance; below it is rounding."""

Table = NDArray[np.float64]


class Moments(NamedTuple):
    """The state of EM: the mean of the rows and their scatter matrix S around it."""

    mean: NDArray[np.float64]
    scatter: Table


class GaussianFactors:
    """A table of columns with mean near 0 and variance near 1, some entries NaN.

    >>> table = np.array([[1.0, 1], [-1, -1], [2, 2], [-2, np.nan], [0, 0]])
    >>> GaussianFactors(rank=1, penalty=0.01).fit(table).fill(table)[3].round(1)
    array([-2., -2.])
    """

    def __init__(
        self, rank: int, penalty: float, passes: int = 30, tol: float = 0.002, prior: Table | None = None
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.passes = passes
        self.tol = tol
        self.prior = prior

    @property
    def moments(self) -> Moments:
        """The part that another fit can start from."""
        return Moments(self.mean, self.scatter)

    def fit(self, table: Table, init: Moments | None = None) -> Self:
        """Stops when the entries of S move by less than `tol` (root mean square) in a pass."""
        self.fit_fill(table, init)
        return self

    def fit_fill(self, table: Table, init: Moments | None = None) -> Table:
        """Fits, and returns the table as it was filled in the last pass."""
        with one_blas_thread():
            return self._passes(table, init)

    def fill(self, table: Table) -> Table:
        """The table with every NaN replaced by its expectation; rows need not be those learned from."""
        centred = HoledTable(table - self.mean)
        centred.fill(self._precision)
        return np.where(np.isnan(table), centred.values + self.mean, table)

    def factors(self) -> tuple[Table, NDArray[np.float64]]:
        """W and ψ; W has no columns where the covariance is full."""
        if self.rank >= len(self.covariance) - 1:
            return np.zeros((len(self.covariance), 0)), np.zeros(len(self.covariance))
        return self._loadings, self._noise

    def _passes(self, table: Table, init: Moments | None) -> Table:
        self.mean, self.scatter = init or Moments(np.zeros(table.shape[1]), _known_scatter(table))
        n_rows = len(table)
        self._noise = 1 / np.diag(np.linalg.inv(self._with_prior(n_rows)))
        self._set_precision(n_rows)
        centred = HoledTable(table - self.mean)
        for _ in range(self.passes):
            missing_covariance = centred.fill(self._precision)
            shift = centred.values.mean(axis=0)
            centred.values[:] -= shift
            self.mean = self.mean + shift
            before = self.scatter
            self.scatter = (centred.values.T @ centred.values + missing_covariance) / n_rows
            self._set_precision(n_rows)
            if np.sqrt(np.mean((self.scatter - before) ** 2)) < self.tol:
                break
        return centred.values + self.mean

    def _with_prior(self, n_rows: int) -> Table:
        prior = np.eye(len(self.scatter)) if self.prior is None else self.prior
        return (n_rows * self.scatter + self.penalty * prior) / (n_rows + self.penalty)

    def _set_precision(self, n_rows: int) -> None:
        covariance = self._with_prior(n_rows)
        n_columns = len(covariance)
        if self.rank < n_columns - 1:
            variances = np.diag(covariance).copy()
            loadings = np.zeros((n_columns, 0))
            if self.rank:
                spread = np.sqrt(self._noise)
                values, vectors = np.linalg.eigh(covariance / spread / spread[:, None])
                strength = np.sqrt(np.maximum(values[-self.rank :] - 1, 0))
                loadings = spread[:, None] * vectors[:, -self.rank :] * strength
            self._noise = np.maximum(variances - (loadings**2).sum(axis=1), LEAST_NOISE * variances)
            covariance = loadings @ loadings.T + np.diag(self._noise)
            self._loadings = loadings
        self.covariance = covariance
        self._precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)


def _known_scatter(table: Table) -> Table:
    """Products of the known entries, over the root of the counts of both columns: no correlation is overstated."""
    known = ~np.isnan(table)
    sizes = np.sqrt(np.maximum(known.sum(axis=0), 1))
    scaled = np.where(known, table, 0.0) / sizes
    scatter: Table = scaled.T @ scaled
    scatter[np.diag_indices(len(scatter))] = 1.0
    return scatter
