"""Item regressions for catalogues whose square does not fit into memory.

Each item is regressed on at most `keep` items: of the `most` items with the most ratings (the sources), those that
occur with it most strongly, by |G_ij| / √G_ii with G = XᵀX. Their weights w solve the same ridge regression,

    (G_NN + λI) w = G_Nj,   N the sources of item j, without j itself,

which for N = all other items is the column of the dense solution. Memory: G of the sources, 4 · most² bytes, and
8 · n_items · keep bytes of weights, whatever the number of items. Time: one look at every pair of items that a user has
both rated, and n_items systems of `keep` unknowns.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.kernels import few_input_regressions, sparse_gram
from rankfill.models.regression.inputs import Inputs


class Neighbours(NamedTuple):
    """Row j holds the items from which item j is predicted, and their weights; zero where there are fewer."""

    sources: NDArray[np.int32]
    weights: NDArray[np.float32]

    def check(self, n_items: int) -> None:
        """Refuses what does not belong to so many items."""
        if self.sources.shape != self.weights.shape or self.sources.ndim != 2:
            raise ValueError(f"sources have the shape {self.sources.shape}, their weights {self.weights.shape}")
        if self.sources.size and not 0 <= self.sources.min() <= self.sources.max() < n_items:
            raise ValueError(f"sources must be numbers of items, from 0 to {n_items - 1}")

    def by_source(self) -> "scipy.sparse.csr_array":
        """The matrix B of all items, by row the item from which others are predicted."""
        n_items, keep = self.sources.shape
        bounds = np.arange(n_items + 1) * keep
        parts = self.weights.ravel(), self.sources.ravel(), bounds
        matrix = scipy.sparse.csc_array(parts, (n_items, n_items)).tocsr()
        matrix.eliminate_zeros()
        return matrix


def regress_on_neighbours(inputs: Inputs, penalty: float, *, most: int, keep: int) -> tuple[Neighbours, float]:
    """All regressions, and the value of their objective."""
    counts = inputs.by_item.counts()
    sources = np.argsort(-counts, kind="stable")[:most].astype(np.int32)  # what is read most lies together
    places = np.full(inputs.n_items, -1, np.int32)
    places[sources] = np.arange(len(sources), dtype=np.int32)
    by_source = inputs.by_item.of_rows(sources)
    by_user = by_source.transposed(inputs.by_user.n_rows)
    gram = sparse_gram(by_source, by_source.values, by_user, by_user.values)
    keep = min(keep, len(sources))
    places_of, weights, explained = few_input_regressions(
        inputs.by_item, by_user, gram, places, penalty / inputs.unit, keep
    )
    squares = float(np.square(inputs.by_user.values, dtype=np.float64).sum())
    return Neighbours(sources[places_of], weights), 0.5 * inputs.unit * (squares - explained)
