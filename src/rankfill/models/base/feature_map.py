"""Rows of factors for items or users without ratings, from their features.

After a fit the rows of the items that have both ratings and features are regressed on the features:

    minimise over B, b:  Σ_i w_i ‖q_i − b − Bᵀx_i‖² + λ ‖B‖²,    w_i = n_i / (n_i + 10 n̄)

q_i is the whole row, biases among it, n_i the number of its ratings and n̄ their mean: the row of an item with few of
them is mostly noise. The same goes for users. λ is chosen by items kept aside, a fifth at a time: with G the mean of
p_u p_uᵀ over the users, the guess q̂_i of such a row costs w_i (q̂_i − q_i)ᵀG(q̂_i − q_i), the mean square by which
predictions change. Entries of a row stay within the range of those learned, so that non-negative rows stay
non-negative and a column of ones stays one. (The 10 was chosen on MovieLens 100K and latest-small, after a
first rule had done badly on 1M: 3 to 100 hardly differ, but equal
weights lose a good part of the gain.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Features, Vocabulary
from rankfill.data.features import Encoding
from rankfill.linalg.blas import one_blas_thread
from rankfill.linalg.ridge import RidgePath
from rankfill.linalg.tall import tall_gram
from rankfill.models.base.held_out import search

_TRUSTED = 10.0
_FOLDS = 5
_STRENGTHS = tuple(10.0**power for power in (1, 0.5, 0, -0.5, -1, -1.5, -2, -2.5, -3, -4))

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """Makes rows of features: b + Bᵀx, each entry within the range of those learned.

    Attributes
    ----------
    encoding : Encoding
        The columns of the features.
    penalty : float
        λ, in units of the mean square of a feature.
    coefficients : ndarray of shape (n_features, width)
        B.
    intercept, low, high : ndarray of shape (width,)
        b, and the ranges.
    """

    encoding: Encoding
    penalty: float
    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Checks the shapes and numbers, since a map may come from a damaged file."""
        width = len(self.intercept)
        if self.coefficients.shape != (len(self.encoding.names), width) or not (
            self.intercept.shape == self.low.shape == self.high.shape == (width,)
        ):
            raise ValueError("the coefficients of features do not belong to their names and ranges")

    def rows(self, features: Features) -> NDArray[np.float32]:
        """One row for each id of the features, which have the columns of this map."""
        rows = self.intercept + features.matrix.astype(np.float64) @ self.coefficients
        within: NDArray[np.float32] = np.clip(rows, self.low, self.high).astype(np.float32)
        return within


def learn_map(
    features: Features,
    ids: Vocabulary,
    rows: NDArray[np.float32],
    counts: NDArray[np.int64],
    others: NDArray[np.float32],
) -> FeatureMap:
    """The map from features to the rows of `ids`, which have so many ratings; `others` are the rows they meet."""
    usable = np.flatnonzero(features.known(ids) & (counts > 0))
    inputs, targets = features.aligned(ids)[usable], rows[usable].astype(np.float64)
    weights = trust(counts[usable])
    unit = unit_of_penalty(inputs, weights)
    with one_blas_thread():
        metric = tall_gram(others.astype(np.float64), others.astype(np.float64)) / max(len(others), 1)
        strength = _best_strength(inputs, targets, weights, unit, metric)
    coefficients, intercept = RidgePath(inputs, targets, weights).solve(strength * unit)
    low, high = targets.min(axis=0), targets.max(axis=0)
    return FeatureMap(features.encoding, strength, coefficients, intercept, low, high)


def trust(counts: NDArray[np.integer]) -> Floats:
    """w: the weight of rows with this many ratings."""
    weights: Floats = counts / (counts + _TRUSTED * counts.mean())
    return weights


def unit_of_penalty(inputs: Any, weights: Floats) -> float:
    """The weighted mean square of a feature."""
    squares = inputs.multiply(inputs).T @ weights
    return float(squares.mean()) if squares.any() else 1.0


def _best_strength(inputs: Any, targets: Floats, weights: Floats, unit: float, metric: Floats) -> float:
    """Chooses the penalty under which rows kept aside are guessed best."""
    fold = np.random.default_rng(len(targets)).permutation(np.arange(len(targets)) % _FOLDS)
    parts = [fold == each for each in range(min(_FOLDS, len(targets)))]
    if len(parts) < 2 or not inputs.shape[1]:
        return _STRENGTHS[0]
    paths = [RidgePath(inputs[~part], targets[~part], weights[~part]) for part in parts]

    def error(strength: float) -> float:
        total = 0.0
        for part, path in zip(parts, paths, strict=True):
            coefficients, intercept = path.solve(strength * unit)
            missed = intercept + inputs[part] @ coefficients - targets[part]
            total += float(weights[part] @ ((missed @ metric) * missed).sum(axis=1))
        return total

    result = search(_STRENGTHS, error, patience=len(_STRENGTHS))
    return result.values[result.best]


def no_map(side: str) -> ValueError:
    """The error for features given to a model that was fitted without any."""
    return ValueError(
        f"this model has not learned from features of {side}s, so that it cannot use any; fit it with {side}_features="
    )


def check_features(features: Features, ids: Vocabulary, counts: NDArray[np.integer], side: str) -> None:
    """Raises in words where nothing can be learned from the features."""
    if not (features.known(ids) & (counts > 0)).any():
        raise ValueError(
            f"none of the {len(features):,} {side}s with features has ratings; are their ids those of the ratings?"
        )
    if not features.names:
        ignored = "".join(f"; {name} is {kind}" for name, kind in features.ignored.items())
        raise ValueError(
            f"the features of the {side}s have no columns to learn from{ignored}; name some in categories="
        )
