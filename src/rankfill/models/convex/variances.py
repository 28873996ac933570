"""Factorization variances: how large the factors are, column by column, and how a small sample tells it.

G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*, IJCAI 2015,
section 4. With Y = [P; Q] in the basis of the singular vectors of P Qᵀ (eq. 21 depends on the basis) and N the number
of users and items that have ratings,

    σ_k² = (1/N) Σ_i Y_ik² = 2 s_k / N,    s_k the singular values of P Qᵀ.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings, sample_submatrix
from rankfill.data.folds import stratified_folds
from rankfill.linalg import LowRank, balance
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.model import Model
from rankfill.models.base.training import ended_by_interruption
from rankfill.models.convex.offset import Offset
from rankfill.models.convex.trace_tradeoff import TraceTradeoff
from rankfill.objectives.measures import rmse

FOLDS = 5
RATIO = 2**-0.25
"""Each penalty divided by the one before it."""
PATIENCE = 2
"""After so many values without a smaller error the search ends."""
SAMPLE = 20_000
"""About so many ratings are drawn where the share of users and items is not given."""
ENOUGH = 1000
"""Smaller samples are drawn anew with more users and items."""
NEGLIGIBLE = 1e-3
"""Variances up to this share of the largest are left of columns that were about to vanish."""


def factorization_variances(model: Model) -> NDArray[np.float64]:
    """The variance of every factor of a fitted model, in the basis of its singular vectors.

    A model and a larger one of the same ratings have about the same variances, so that they can be given to `FAVA`.

    Parameters
    ----------
    model : Model
        A fitted model with factors. Biases and offset are not factors.

    Returns
    -------
    ndarray of shape (rank,)
        The mean square of every factor over the users and items that have ratings, largest first.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = rf.TraceTradeoff(penalty=0.5, offset="none").fit(ratings)
    >>> rf.factorization_variances(model).round(2)
    array([3.46])
    """
    if not isinstance(model, FactorModel):
        raise TypeError(f"only models with factors have factorization variances, found {type(model).__name__}; try ALS")
    model._check_fitted()
    learned = [counts.array > 0 for counts in (model._user_counts, model._item_counts)]
    sides = (model.user_factors_[learned[0]], model.item_factors_[learned[1]])
    product = balance(LowRank(*(side.astype(np.float64) for side in sides)))
    n = sum(int(each.sum()) for each in learned)
    variances: NDArray[np.float64] = 2 * np.square(product.left).sum(axis=0) / n
    return variances


def sample_variances(ratings: Ratings, sample: float | None, offset: Offset, seed: int) -> NDArray[np.float64]:
    """The variances of the trace trade-off of a sub-matrix, with the penalty that cross-validation finds best there."""
    return lasting_variances(tuned_tradeoff(draw_sample(ratings, sample, seed), offset, seed))


def lasting_variances(model: TraceTradeoff) -> NDArray[np.float64]:
    """The variances of a model without those of columns that were about to vanish."""
    variances = factorization_variances(model)
    kept: NDArray[np.float64] = variances[variances > NEGLIGIBLE * variances.max(initial=0.0)]
    return kept


def draw_sample(ratings: Ratings, sample: float | None, seed: int) -> Ratings:
    """A sub-matrix. Without a given share it has about `SAMPLE` ratings, or all where there are not many more."""
    if sample is not None:
        return sample_submatrix(ratings, sample, seed=seed)
    share = math.sqrt(SAMPLE / len(ratings))
    while share < 0.7:
        try:
            part = sample_submatrix(ratings, share, seed=seed)
        except ValueError:  # nobody has ten ratings within it
            part = None
        if part is not None and len(part) >= ENOUGH:
            return part
        share *= math.sqrt(2)
    return ratings


def tuned_tradeoff(ratings: Ratings, offset: Offset, seed: int) -> TraceTradeoff:
    """A model with the penalty that is best for these ratings, of those that fall by `RATIO` from λ_max."""
    model = TraceTradeoff(offset=offset, gap=1e-3, seed=seed)
    best = best_on_path(model, "penalty", model.largest_penalty(ratings) or 1.0, RATIO, ratings, seed)
    return TraceTradeoff(penalty=best, offset=offset, gap=1e-4, seed=seed).fit(ratings)


def best_on_path(model: Model, parameter: str, first: float, ratio: float, ratings: Ratings, seed: int) -> float:
    """The value with the least error in cross-validation, of first, first · ratio, first · ratio², …

    Each fit starts from that of the value before. The search ends when the error has risen for a while. The least lies
    between the values tried: it is that of a parabola through the best of them and its neighbours.
    """
    if len(ratings) < 2 * FOLDS:
        return first
    fold = stratified_folds(ratings, FOLDS, seed)
    parts = [(ratings.select(fold != each), ratings.select(fold == each)) for each in range(FOLDS)]
    aside = np.concatenate([held_out.values for _, held_out in parts])
    fitted: list[Any] = [None] * FOLDS
    errors: list[float] = []
    with ended_by_interruption():
        while len(errors) - int(np.argmin(errors or [0])) <= PATIENCE:
            following = clone(model).set_params(**{parameter: first * ratio ** len(errors)})
            fitted = [clone(following).fit(part[0], init=init) for part, init in zip(parts, fitted, strict=True)]
            predicted = [each._predict_ratings(held_out) for each, (_, held_out) in zip(fitted, parts, strict=True)]
            errors.append(rmse(aside, np.concatenate(predicted)))
    return float(first * ratio ** _lowest(errors))


def _lowest(errors: list[float]) -> float:
    """The minimum, in steps, of a parabola through the least value and its neighbours; 0 where the first is least."""
    k = int(np.argmin(errors))
    if k == 0:
        return 0.0
    before, least, after = errors[k - 1 : k + 2]
    bend = before - 2 * least + after
    return k + (0.5 * (before - after) / bend if bend > 0 else 0.0)
