"""A product of factors read as a sum: by factor, and by the ratings that the user gave.

With the items fixed, a row that is a ridge regression is linear in the user's targets (Hu, Koren and Volinsky 2008,
section 5): with x_j the rows of the items that the user rated, D the diagonal of penalties and t_j = r_uj − μ − b_j,

    row = A⁻¹ Σ_j x_j t_j,  A = Σ_j x_j x_jᵀ + D,      prediction = μ + b_i + Σ_j (x_iᵀ A⁻¹ x_j) t_j

With biases a row holds b_u as well and x_j = (q_j, 1). Of a row that must not be negative, the factors that are zero
are left out: the others solve the same regression. With implicit feedback A is the sum over all items, rated ones
weighted 1 + confidence · r, and t_j is 1 with that weight.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data.vocabulary import Id
from rankfill.kernels import Ridge
from rankfill.models.base.explanation import Part

EXACT = "The user's row is a regression on the user's own ratings: each of them has an exact share."
CLOSEST = (
    "This model does not solve for a user's row. The shares are those of the ridge regression on the same item "
    "factors; what it leaves over is the rest."
)
WEIGHTS_ALONE = "A model keeps what was rated, not how: give the ratings to see what each of them adds."


class Rated(NamedTuple):
    """The rows of the items that a user has rated, their biases, ids, and the ratings where they are known."""

    rows: NDArray[np.float32]
    biases: NDArray[np.float32]
    ids: list[Id]
    values: NDArray[np.float32] | None


class Product(NamedTuple):
    """The rows of a user and of an item, and what their columns are."""

    user: NDArray[np.float32]
    item: NDArray[np.float32]
    rank: int
    biased: bool
    offset: float

    def by_factor(self) -> list[Part]:
        """The contributions of level, biases and factors."""
        parts = self._levels()
        if self.biased:
            parts.append(Part("user", "", float(self.user[self.rank])))
        products = self.user[: self.rank].astype(np.float64) * self.item[: self.rank]
        return [*parts, *(Part("factor", f"factor {k}", value, id=k) for k, value in enumerate(products.tolist()))]

    def by_rating(
        self, rated: Rated, ridge: Ridge | None, gram: NDArray[np.float32] | None = None
    ) -> tuple[list[Part], str]:
        """The contributions of level, item bias and each rating, with a note; `gram` is for implicit feedback."""
        implicit = ridge is not None and ridge.confidence is not None
        values = np.ones(len(rated.ids), np.float32) if implicit and rated.values is None else rated.values
        weights = self._weights(rated.rows, values, ridge or self._closest(rated.rows), gram)
        note = CLOSEST if ridge is None else EXACT
        if values is None:
            return _rating_parts(rated, weights, np.full(len(weights), math.nan)), f"{note} {WEIGHTS_ALONE}"
        targets = np.ones(len(weights)) if implicit else values - np.float64(self.offset) - rated.biases
        parts = [*self._levels(), *_rating_parts(rated, weights, weights * targets)]
        rest = sum(part.contribution for part in self.by_factor()) - sum(part.contribution for part in parts)
        return [*parts, Part("rest", "rest", rest)], note

    def _levels(self) -> list[Part]:
        parts = [Part("level", "level", self.offset)] if self.offset or self.biased else []
        return [*parts, Part("item", "", float(self.item[self.rank + 1]))] if self.biased else parts

    def _weights(
        self,
        rows: NDArray[np.float32],
        values: NDArray[np.float32] | None,
        ridge: Ridge,
        gram: NDArray[np.float32] | None,
    ) -> NDArray[np.float64]:
        """x_iᵀ A⁻¹ x_j for every item j rated, with implicit feedback times 1 + confidence · r."""
        order = self.rank + self.biased
        used = np.ones(order, bool)
        if ridge.nonnegative:
            used[: self.rank] = self.user[: self.rank] > 0
        x, own = (each[..., :order][..., used].astype(np.float64) for each in (rows, self.item))
        penalties = np.append(np.full(self.rank, ridge.penalty), [ridge.bias_penalty] * self.biased)
        system = np.diag(penalties[used] * ridge.scales(np.array([len(rows)]))[0])
        importance = np.ones(len(rows))
        if ridge.confidence is not None and gram is not None and values is not None:
            importance += ridge.confidence * values.astype(np.float64)
            system += gram[:order, :order][np.ix_(used, used)] - x.T @ x
        system += (x.T * importance) @ x
        weights: NDArray[np.float64] = importance * (x @ np.linalg.lstsq(system, own)[0])
        return weights

    def _closest(self, rows: NDArray[np.float32]) -> Ridge:
        """A penalty as strong as the evidence of one rating about a row."""
        squares = np.square(rows[:, : self.rank], dtype=np.float64).sum(axis=1)
        return Ridge(self.rank, float(squares.mean()) or 1.0)


def _rating_parts(rated: Rated, weights: NDArray[np.float64], contributions: NDArray[np.float64]) -> list[Part]:
    ratings = [None] * len(weights) if rated.values is None else rated.values.tolist()
    return [
        Part("rating", f"item {identity}", contribution, id=identity, rating=rating, weight=weight)
        for identity, contribution, rating, weight in zip(
            rated.ids, contributions.tolist(), ratings, weights.tolist(), strict=True
        )
    ]
