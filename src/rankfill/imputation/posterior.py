"""Draws from what the known entries of a table leave open: parameters of the Gaussian, and holes given these.

Data augmentation (Tanner, Wong 1987; Schafer 1997) takes turns: holes given mean and covariance, then mean and
covariance given the table so completed. With n rows, mean x̄ and scatter matrix S (divided by n) of that table,

    full covariance     Σ ~ inverse Wishart(n S + penalty · I, n − 1 + penalty),   μ ~ N(x̄, Σ / n)
    rank factors        z_i ~ N(M Wᵀψ⁻¹(x_i − μ), M),  M = (I + Wᵀψ⁻¹W)⁻¹, and for each column j, with Z the centred z,
                        ψ_j ~ inverse gamma((n − 1 + penalty) / 2, (rss_j + penalty) / 2),
                        w_j ~ N(A⁻¹Zᵀx_j, ψ_j A⁻¹),  A = ZᵀZ + penalty · I,   μ_j ~ N(x̄_j − w_j·z̄, ψ_j / n)

so that `penalty` rows of uncorrelated columns have been seen beforehand, as in `gaussian.py`. Holes are drawn without
a system of their own: with e a row from N(0, Σ), the expectation of the holes given that the known entries are x − e,
plus e, has the conditional distribution.
"""

from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rankfill.imputation.gaussian import LEAST_NOISE, GaussianFactors, Table
from rankfill.kernels import HoledTable
from rankfill.linalg import one_blas_thread


class Draw(NamedTuple):
    """One draw of the parameters; `loadings` W has no columns where the covariance is full."""

    mean: NDArray[np.float64]
    covariance: Table
    loadings: Table
    noise: NDArray[np.float64]

    def holes(self, table: Table, rng: np.random.Generator) -> Table:
        """The table with a draw in the place of every NaN, each row given its known entries."""
        errors = rng.standard_normal(table.shape) @ np.linalg.cholesky(self.covariance).T
        centred = HoledTable(table - self.mean - errors)
        centred.fill(np.asarray(np.linalg.inv(self.covariance), np.float64))
        return np.where(np.isnan(table), centred.values + self.mean + errors, table)


def draw_parameters(table: Table, fitted: GaussianFactors, passes: int, rng: np.random.Generator) -> Draw:
    """Mean and covariance after so many turns, which begin with those fitted."""
    drawn = Draw(fitted.mean, fitted.covariance, *fitted.factors())
    with one_blas_thread():
        for _ in range(passes):
            completed = drawn.holes(table, rng)
            if fitted.rank < table.shape[1] - 1:
                drawn = _draw_factors(completed, drawn, fitted.penalty, rng)
            else:
                drawn = _draw_full(completed, fitted.penalty, rng)
    return drawn


def _draw_full(completed: Table, penalty: float, rng: np.random.Generator) -> Draw:
    n_rows, n_columns = completed.shape
    mean = completed.mean(axis=0)
    centred = completed - mean
    scale = centred.T @ centred + penalty * np.eye(n_columns)
    freedom = max(n_rows - 1 + penalty, n_columns + 1.0)  # the distribution exists for more columns than rows, too
    covariance = np.atleast_2d(scipy.stats.invwishart(freedom, scale).rvs(random_state=rng))
    drawn_mean = mean + np.linalg.cholesky(covariance / n_rows) @ rng.standard_normal(n_columns)
    return Draw(drawn_mean, covariance, np.zeros((n_columns, 0)), np.zeros(n_columns))


def _draw_factors(completed: Table, last: Draw, penalty: float, rng: np.random.Generator) -> Draw:
    n_rows, n_columns = completed.shape
    scores = _draw_scores(completed, last, rng)
    mean, mean_score = completed.mean(axis=0), scores.mean(axis=0)
    x, z = completed - mean, scores - mean_score
    root = np.linalg.cholesky(z.T @ z + penalty * np.eye(z.shape[1]))
    projected = np.linalg.solve(root, z.T @ x)
    remaining = np.maximum((x**2).sum(axis=0) - (projected**2).sum(axis=0), LEAST_NOISE * n_rows) + penalty
    noise = remaining / rng.chisquare(n_rows - 1 + penalty, n_columns)
    loadings = np.linalg.solve(root.T, projected + np.sqrt(noise) * rng.standard_normal(projected.shape)).T
    drawn_mean = mean - loadings @ mean_score + np.sqrt(noise / n_rows) * rng.standard_normal(n_columns)
    return Draw(drawn_mean, loadings @ loadings.T + np.diag(noise), loadings, noise)


def _draw_scores(completed: Table, last: Draw, rng: np.random.Generator) -> Table:
    weighted = last.loadings / last.noise[:, None]
    root = np.linalg.cholesky(np.eye(weighted.shape[1]) + last.loadings.T @ weighted)
    seen = np.linalg.solve(root, weighted.T @ (completed - last.mean).T)
    scores: Table = np.linalg.solve(root.T, seen + rng.standard_normal(seen.shape)).T
    return scores
