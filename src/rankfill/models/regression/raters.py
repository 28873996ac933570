"""One regression per item j over the users who rated it: explicit feedback, and `kind="logistic"`.

    min  Σ_u loss(y_uj, z_uj) + ½ λ ‖B_·j‖² + ½ a v_j²,   z_uj = Σ_i x_ui B_ij + v_j,   B_jj = 0
    x_ui = ((r_ui − b_ui) / h + c) / √n_u

with b_ui from `Bias` and n_u the number of ratings by the user: the root keeps people with many ratings from extreme
predictions (Koren 2008, "Factorization meets the neighborhood", eq. 10).

kind="ridge"     loss = ½ (y − z)²; y = (r − b) / h with h the spread of r − b, a = 3; the prediction is b + h z.
                 c = 0.4: that somebody rated an item says something too, whatever the rating
kind="logistic"  loss = log(1 + exp(−y z)); y = +1 for a rating that is liked (`data/liked.py`: at least the mean)
                 and −1 for others, which for ratings of two values is what they say. b has the effects of the items
                 alone, so that x tells who is easy to please; c = 0, a = 1. The prediction is the expected rating
                 low + (high − low) / (1 + exp(−z)), low and high being the mean ratings of both, and h half their
                 distance

With implicit feedback everybody is in every logistic regression: y = +1 for those who chose the item and −1 for all
others, x as in `entries.py`, low = 0 and high = 1: the score is how likely the item is chosen. That
costs n_items times the number of ratings in each step; with explicit feedback a step looks at every pair of items that
a user has rated.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries
from rankfill.kernels import Rows, rater_regressions
from rankfill.models.bias import Bias
from rankfill.models.regression.entries import residuals_of

_EFFECT_PENALTY = {False: 3.0, True: 1.0}
"""a, by whether the regression is logistic. On ratings kept aside of the training part of MovieLens 1M, latest-small
and 100K, errors without v are larger by 0.003, 0.002 and 0.002; 3 and 10 hardly differ."""
_RATED = 0.4
"""Chosen on MovieLens 100K and latest-small, where errors fall by 0.006 and 0.003; on 1M they fall by 0.004."""


class Link(NamedTuple):
    """The map from z to answers: expected ratings from low to high, or additions to the effects, ±half for ±1."""

    logistic: bool
    low: float
    high: float

    @classmethod
    def of_likes(cls, values: NDArray[np.float32], liked: NDArray[np.bool_]) -> "Link":
        """Makes the link for ratings that say whether something was liked."""
        wide = values.astype(np.float64)
        low, high = (float(wide[part].mean()) if part.any() else float(wide.mean()) for part in (~liked, liked))
        return cls(True, low, high)

    @classmethod
    def of_spread(cls, left_over: NDArray[np.float32]) -> "Link":
        """Makes the link for residuals after the effects."""
        spread = float(np.sqrt(np.square(left_over, dtype=np.float64).mean()))
        return cls(False, -spread, spread)

    @property
    def half(self) -> float:
        """Half the distance between low and high; 1 where there is none."""
        return (self.high - self.low) / 2 or 1.0

    def answers(self, margins: NDArray[np.float32]) -> NDArray[np.float32]:
        """The answer for each z."""
        wide = margins.astype(np.float64)
        if self.logistic:
            shares: NDArray[np.float64] = expit(wide)
            return (self.low + (self.high - self.low) * shares).astype(np.float32)
        return (self.half * wide).astype(np.float32)

    def features(self, n_users: int) -> NDArray[np.float32]:
        """The column of ones, which v multiplies, beside the rows of users."""
        return np.ones((n_users, 1), np.float32)


def targets_of(ratings: Ratings, link: Link, bias: Bias | None) -> NDArray[np.float32]:
    """The targets y of explicit feedback."""
    if link.logistic or bias is None:
        return np.where(liked_entries(ratings), np.float32(1), np.float32(-1))
    return residuals_of(ratings, bias) / np.float32(link.half)


class RaterWeights(NamedTuple):
    """Weights, one column per item to predict, its weights of the features, and the sum of all minima."""

    weights: NDArray[np.float32]
    effects: NDArray[np.float32]
    objective: float


def inputs_over_raters(left_over: Rows, link: Link) -> NDArray[np.float32]:
    """The inputs x, from what the effects leave over of ratings, by user."""
    counts = left_over.counts()
    scales = np.repeat((1 / np.sqrt(np.maximum(counts, 1))).astype(np.float32), counts)
    rated = np.float32(0 if link.logistic else _RATED)
    inputs: NDArray[np.float32] = (left_over.values / np.float32(link.half) + rated) * scales
    return inputs


def regress_over_raters(
    entries: Rows,
    n_items: int,
    targets: NDArray[np.float32] | None,
    features: NDArray[np.float32],
    penalty: float,
    *,
    logistic: bool,
) -> RaterWeights:
    """All regressions; `entries` is X by user, `targets` has one for each entry, or None where everybody has a say."""
    y = np.ones_like(entries.values) if targets is None else targets
    by_item = entries._replace(values=y).transposed(n_items)
    found = rater_regressions(
        *(by_item, entries, features, penalty, _EFFECT_PENALTY[logistic]), logistic=logistic, everyone=targets is None
    )
    return RaterWeights(*found)
