"""The mean of many products of factors, kept as one product of few factors.

The mean of samples P_s Q_sᵀ has as many factors as all samples together. Each new sample is laid beside the mean so
far, both are written in the basis of their singular vectors, and the weakest are dropped (a truncated singular value
decomposition, from the Gram matrices of both stacks). `lost` measures what was dropped, as a share of the squares of
all entries. All samples weigh the same.

Tried, and not kept: later samples weigh more, by polynomial decay (Shamir, Zhang 2013). On MovieLens 100K the mean of
300 sweeps was worse by 0.2 %: what a mean lacks is samples, long before it is the distance from where they began.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.linalg.tall import tall_gram, tall_times


@dataclass
class MeanProduct:
    """users · itemsᵀ + user_biases + item_biases: the mean of what was added."""

    users: NDArray[np.float64]
    items: NDArray[np.float64]
    user_biases: NDArray[np.float64]
    item_biases: NDArray[np.float64]
    count: int
    lost: float

    @staticmethod
    def none(n_users: int, n_items: int, width: int) -> "MeanProduct":
        """The mean of nothing as yet; it will have `width` factors."""
        factors = np.zeros((n_users, width)), np.zeros((n_items, width))
        return MeanProduct(*factors, np.zeros(n_users), np.zeros(n_items), 0, 0.0)

    def add(self, users: NDArray[np.float32], items: NDArray[np.float32]) -> None:
        """Takes rows (factors, bias) of both sides into the mean."""
        self.count += 1
        weight = 1.0 / self.count
        rank = users.shape[1] - 1
        self.user_biases += weight * (users[:, rank] - self.user_biases)
        self.item_biases += weight * (items[:, rank] - self.item_biases)
        left = np.hstack([np.sqrt(1 - weight) * self.users, np.sqrt(weight) * users[:, :rank]])
        right = np.hstack([np.sqrt(1 - weight) * self.items, np.sqrt(weight) * items[:, :rank]])
        self.users, self.items, lost = strongest(left, right, self.users.shape[1])
        self.lost = (1 - weight) * self.lost + lost


def strongest(
    left: NDArray[np.float64], right: NDArray[np.float64], width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The balanced factors U √S, V √S of the `width` largest singular values of left · rightᵀ, and the share of Σ S²
    that is left out."""
    roots = [_root(tall_gram(side, side)) for side in (left, right)]
    (of_left, back_left), (of_right, back_right) = roots
    u, values, vt = np.linalg.svd(of_left @ of_right.T, full_matrices=False)
    squares = values**2
    lost = float(squares[width:].sum() / squares.sum()) if squares.sum() > 0 else 0.0
    sizes = np.sqrt(values[:width])
    users = tall_times(left, back_left @ u[:, :width] * sizes)
    items = tall_times(right, back_right @ vt[:width].T * sizes)
    return users, items, lost


def _root(gram: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """R and its pseudo-inverse with RᵀR = gram: block · R⁺ is an orthonormal basis of a block with that Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    sizes = np.sqrt(np.maximum(values, 0.0))
    inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 1e-7 * sizes.max(initial=0.0))
    kept = np.where(inverse > 0, sizes, 0.0)
    return kept[:, None] * vectors.T, vectors * inverse
