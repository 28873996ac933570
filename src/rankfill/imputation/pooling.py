"""Multiple imputation: one analysis of several completed tables, pooled by Rubin's rules.

With the estimates q_k and their variances u_k on m completed tables (Rubin 1987; Barnard and Rubin 1999):

    q̄ = Σ q_k / m,    within ū = Σ u_k / m,    between b = Σ (q_k − q̄)² / (m − 1),    total t = ū + (1 + 1/m) b
    ν = 1 / (1/ν_m + 1/ν_obs),   ν_m = (m − 1) / γ²,   ν_obs = (ν₀ + 1) / (ν₀ + 3) · ν₀ (1 − γ),   γ = (1 + 1/m) b / t

and (q̄ − Q) / √t has Student's distribution with ν degrees of freedom; a whole table would leave ν₀.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankfill.imputation.imputer import LowRankImputer
from rankfill.models.base.settings import check_seed, check_whole
from rankfill.shown import shown

Floats = NDArray[np.float64]
Analysis = Callable[[Floats], tuple[ArrayLike, ...]]


@dataclass(frozen=True)
class PooledEstimate:
    """The pooled result of several completed tables. Made by `multiple_imputation` and `pool`.

    Attributes
    ----------
    estimate : ndarray
        The mean of the estimates.
    within : ndarray
        The mean of their variances: what a whole table would leave uncertain.
    between : ndarray
        The variance of the estimates: what the holes add.
    total : ndarray
        The variance of the pooled estimate.
    degrees_of_freedom : ndarray
        Of Student's distribution around it.
    missing_information : ndarray
        The share of the total variance that is due to the holes, from 0 to 1.
    m : int
        How many tables there were.

    Examples
    --------
    >>> from rankfill.imputation import pool
    >>> pooled = pool([[1.0], [2.0], [3.0]], [[0.5], [0.5], [0.5]])
    >>> pooled.estimate, pooled.total.round(3)
    (array([2.]), array([1.833]))
    """

    estimate: Floats
    within: Floats
    between: Floats
    total: Floats
    degrees_of_freedom: Floats
    missing_information: Floats
    m: int

    @property
    def standard_error(self) -> Floats:
        """The root of the total variance."""
        return np.sqrt(self.total)

    def interval(self, coverage: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of the intervals that hold the truth as often as `coverage` says.

        Parameters
        ----------
        coverage : float, default=0.95
            Above 0 and below 1.

        Returns
        -------
        tuple of two ndarrays
            The lower and the upper ends.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be above 0 and below 1, found {shown(coverage)}; 0.95 is usual")
        half = scipy.stats.t.ppf((1 + coverage) / 2, self.degrees_of_freedom) * self.standard_error
        return self.estimate - half, self.estimate + half


def pool(estimates: ArrayLike, variances: ArrayLike, degrees_of_freedom: ArrayLike = np.inf) -> PooledEstimate:
    """Pools estimates from several completed tables by Rubin's rules.

    Parameters
    ----------
    estimates, variances : array-like of shape (m, n_estimates)
        What each table says, and the square of its standard error; at least two tables.
    degrees_of_freedom : array-like, optional
        Those that a whole table would leave, such as rows less coefficients. Without them intervals are a little too
        short in small tables.

    Returns
    -------
    PooledEstimate
        Estimates with their variances and degrees of freedom.

    Examples
    --------
    >>> from rankfill.imputation import pool
    >>> low, high = pool([[4.0], [5.0], [4.5]], [[0.1], [0.2], [0.1]], 98).interval()
    >>> low.round(2), high.round(2)
    (array([2.47]), array([6.53]))
    """
    q, u = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    if q.shape != u.shape or q.ndim == 0 or len(q) < 2:
        raise ValueError(
            f"estimates and variances must come from the same two or more tables, found shapes {q.shape} and {u.shape}"
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ValueError("estimates must be finite, and variances finite and not negative; is a column constant?")
    m = len(q)
    within, between = u.mean(axis=0), q.var(axis=0, ddof=1)
    added = (1 + 1 / m) * between
    total = within + added
    share = np.divide(added, total, out=np.zeros_like(total), where=total > 0)
    whole = np.asarray(degrees_of_freedom, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.where(np.isinf(whole), np.inf, (whole + 1) / (whole + 3) * whole * (1 - share))
        freedom = 1 / (share**2 / (m - 1) + 1 / observed)
    return PooledEstimate(q.mean(axis=0), within, between, total, freedom, share, m)


def multiple_imputation(
    X: Any, m: int = 20, estimator: Analysis | None = None, *, imputer: LowRankImputer | None = None, seed: int = 0
) -> PooledEstimate:
    """Analyses a table with holes so that errors count what the holes leave open.

    The table is completed `m` times, each time with other draws from what the known entries leave open; each is
    analysed as if it were whole, and the answers are pooled by Rubin's rules. Holes may depend on what is known of a
    row, not on what is missing.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_columns)
        Numbers, NaN where one is missing. Everything that the analysis looks at must be among the columns, its target
        too: what is left out would look unrelated.
    m : int, default=20
        How many tables to complete; at least 2. About as many as there are per cent of incomplete rows is plenty.
    estimator : callable, optional
        Takes a whole table, an array, and returns estimates, their variances and, where they are few, the degrees of
        freedom. `imputation.means`, `imputation.log_variances` and `imputation.regression` are such. By default the
        means of the columns.
    imputer : LowRankImputer, optional
        Whose settings to use; it is not changed. By default ``LowRankImputer()``.
    seed : int, default=0
        Seeds the draws.

    Returns
    -------
    PooledEstimate
        Estimates, variances within, between and in total, degrees of freedom, and intervals.

    Examples
    --------
    >>> import numpy as np, rankfill as rf
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> table = np.column_stack([x, 2 * x + rng.normal(size=200)])
    >>> table[:60, 0] = np.nan
    >>> pooled = rf.multiple_imputation(table, 20, rf.imputation.regression(target=1))
    >>> low, high = pooled.interval(0.95)  # of the intercept and of the slope
    >>> bool(low[1] < 2 < high[1])
    True
    """
    check_whole("m", m, 2)
    check_seed(seed)
    drawing = clone(imputer or LowRankImputer()).set_params(sample_posterior=True)
    answers = []
    for child in np.random.default_rng(seed).integers(0, 2**31, m).tolist():
        table = np.asarray(clone(drawing).set_params(seed=child).fit_transform(X), np.float64)
        found = (estimator or means)(table)
        if not isinstance(found, tuple) or len(found) not in (2, 3):
            raise TypeError(
                "estimator must return estimates, their variances and perhaps degrees of freedom as a tuple, found "
                f"{shown(found)}"
            )
        answers.append([np.asarray(each, np.float64) for each in found])
    freedom = answers[0][2] if len(answers[0]) == 3 else np.inf
    return pool([each[0] for each in answers], [each[1] for each in answers], freedom)


def means(table: Floats) -> tuple[Floats, Floats, float]:
    """The means of the columns.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        A whole table.

    Returns
    -------
    tuple
        Means, their variances and the degrees of freedom.

    Examples
    --------
    >>> means(np.array([[1.0], [3.0]]))
    (array([2.]), array([1.]), 1.0)
    """
    return table.mean(axis=0), table.var(axis=0, ddof=1) / len(table), float(len(table) - 1)


def log_variances(table: Floats) -> tuple[Floats, Floats, float]:
    """The logarithms of the variances of the columns, which are nearly normal; take ``np.exp`` of the interval.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        A whole table.

    Returns
    -------
    tuple
        Logarithms, their variances for normal columns, and the degrees of freedom.

    Examples
    --------
    >>> estimates, variances, _ = log_variances(np.array([[1.0], [3.0], [5.0]]))
    >>> np.exp(estimates), variances
    (array([4.]), array([1.]))
    """
    freedom = len(table) - 1
    logarithms: Floats = np.log(table.var(axis=0, ddof=1))
    return logarithms, np.full(table.shape[1], 2 / freedom), float(freedom)


def regression(target: int) -> Analysis:
    """Least squares of one column on all others.

    Parameters
    ----------
    target : int
        Which column is explained.

    Returns
    -------
    callable
        Of a whole table; it returns the intercept and the coefficients of the other columns in their order, their
        variances and the degrees of freedom.

    Examples
    --------
    >>> coefficients, _, _ = regression(target=1)(np.array([[0.0, 1], [1, 3], [2, 5], [3, 7.5]]))
    >>> coefficients.round(2)
    array([0.9 , 2.15])
    """

    def analysis(table: Floats) -> tuple[Floats, Floats, float]:
        inputs = np.column_stack([np.ones(len(table)), np.delete(table, target, axis=1)])
        inverse = np.linalg.inv(inputs.T @ inputs)
        coefficients = inverse @ (inputs.T @ table[:, target])
        freedom = len(table) - inputs.shape[1]
        rest = table[:, target] - inputs @ coefficients
        return coefficients, np.diag(inverse) * (rest @ rest / freedom), float(freedom)

    return analysis
