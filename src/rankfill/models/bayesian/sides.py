"""One side of a factorisation, users, items or days: rows with the distribution that they are drawn from."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import OtherSide, RowPosterior, Rows, ThirdSide, draw_rows, padded
from rankfill.models.bayesian.links import Links
from rankfill.models.bayesian.priors import Prior, draw_prior
from rankfill.models.bayesian.scales import rescaled_prior


class Side:
    """The rows (factors, bias, 1) of the users, or (factors, 1, bias) of the items, with their prior and links."""

    def __init__(self, ratings: Rows, rank: int, bias_column: int, links: Links | None) -> None:
        self.ratings = ratings
        self.rank = rank
        self.bias_column = bias_column
        self.links = links
        self.rows = padded(ratings.n_rows, rank + 2)
        self.rows[:, 2 * rank + 1 - bias_column] = 1
        self.prior = Prior(np.zeros(rank + 1), np.eye(rank + 1))

    def unknowns(self, rows: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """(factors, bias) of every row."""
        chosen = self.rows if rows is None else rows
        return np.column_stack([chosen[:, : self.rank], chosen[:, self.bias_column]])

    def draw_prior(self, random: np.random.Generator, key: int) -> None:
        rows = self.unknowns()
        order = self.rank + 1
        if self.links is None:
            self.prior = draw_prior(rows, random)
            return
        left = rows - self.links.means()[:, :order]
        self.prior = draw_prior(left, random, self.links.scatter(), len(self.links.weights))
        self.links.draw(rows, self.prior, key, random)

    def draw(
        self,
        other: "Side",
        noise_precision: float,
        key: int,
        means: NDArray[np.float32] | None = None,
        third: ThirdSide | None = None,
    ) -> None:
        prior = padded(1, self.rank + 1) if self.links is None else self.links.means()
        prior[:, : self.rank + 1] += self.prior.mean.astype(np.float32)
        posterior = RowPosterior(self.rank, self.bias_column, noise_precision, self.prior.precision, prior)
        draw_rows(self.ratings, self.rows, other.as_other(), posterior, key, means=means, third=third)

    def as_other(self) -> OtherSide:
        return OtherSide(self.rows, self.bias_column)

    def rescale_biases(self, square: float, product: float, random: np.random.Generator) -> float:
        """Multiplies all biases by a number that is drawn; returns that."""
        factor, self.prior = rescaled_prior(square, product, self.prior, random)
        self.rows[:, self.bias_column] *= np.float32(factor)
        if self.links is not None:
            self.links.weights[:, self.rank] *= np.float32(factor)
        return factor

    def draw_unknown(self, random: np.random.Generator) -> NDArray[np.float32]:
        """(factors, bias) of somebody or something of whom nothing is known."""
        row = self.prior.mean + self.prior.root @ random.standard_normal(self.rank + 1)
        return row.astype(np.float32)

    def set_unknowns(self, rows: NDArray[np.float32]) -> None:
        """Takes over (factors, bias) of every row."""
        self.rows[:, : self.rank], self.rows[:, self.bias_column] = rows[:, : self.rank], rows[:, self.rank]
