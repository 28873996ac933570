"""Scores of items that nobody has rated, from those of the others, for a recommender that knows no features.

The scores s_ui that a user has for the items with ratings are regressed on their features x_i,

    minimise over θ_u, a_u:  Σ_i w_i (s_ui − a_u − θ_uᵀx_i)² + λ ‖θ_u‖²,

with the weights and the choice of λ of `base/feature_map.py`: λ is that under which scores of items kept aside are
guessed best, for some of the users. A new item has the score a_u + θ_uᵀx, within the range of the user's other scores.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.data import Features, Vocabulary
from rankfill.data.features import Encoding
from rankfill.linalg.ridge import RidgePath
from rankfill.models.base.feature_map import learn_map, trust, unit_of_penalty


@dataclass(frozen=True)
class GuessedScores:
    """What is known of the items, and how scores follow from it.

    Attributes
    ----------
    encoding : Encoding
        The columns of the features.
    penalty : float
        λ.
    weights : ndarray of shape (n_items,)
        w: zero for an item without ratings or without features.
    known : ndarray of shape (n_items,)
        1 where there are features of an item.
    indptr, columns, values : ndarray
        The features of all items, row by row.
    """

    encoding: Encoding
    penalty: float
    weights: NDArray[np.float64]
    known: NDArray[np.uint8]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        """It may come from a file, which can hold anything."""
        n = len(self.known)
        if len(self.weights) != n or len(self.indptr) != n + 1 or len(self.columns) != len(self.values):
            raise ValueError("the features of the items do not belong together")
        width = len(self.encoding.names)
        if (
            self.indptr[0] != 0
            or self.indptr[-1] != len(self.columns)
            or (np.diff(self.indptr) < 0).any()
            or self.columns.min(initial=0) < 0
            or self.columns.max(initial=-1) >= width
            or not self.penalty > 0
            or self.weights.min(initial=0) < 0
        ):
            raise ValueError("the features of the items do not belong to their columns")

    @classmethod
    def learn(
        cls, features: Features, items: Vocabulary, counts: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> "GuessedScores":
        """From the scores of some users, one row each, for all items, which have so many ratings."""
        known = features.known(items)
        weights = np.zeros(len(items))
        rated = known & (counts > 0)
        weights[rated] = trust(counts[rated])
        matrix = features.aligned(items)
        # Each user is a column of rows to guess, and all of them count the same.
        strength = learn_map(features, items, scores.T, counts, np.eye(len(scores), dtype=np.float32)).penalty
        penalty = strength * unit_of_penalty(matrix[rated], weights[rated])
        return cls(features.encoding, penalty, weights, known.astype(np.uint8), *_arrays(matrix))

    def with_items(self, features: Features, items: Vocabulary) -> "GuessedScores":
        """The same with what is known of more items; `items` begins with those there are, and holds the new ones."""
        more, new = len(items) - len(self.known), features.known(items)
        there = self._matrix(len(items))
        kept = scipy.sparse.diags_array(np.where(new, 0.0, 1.0).astype(np.float32)) @ there
        weights = np.append(self.weights, np.zeros(more))
        known = np.append(self.known, np.zeros(more, np.uint8)) | new.astype(np.uint8)
        return GuessedScores(self.encoding, self.penalty, weights, known, *_arrays(kept + features.aligned(items)))

    def scores(self, learned: NDArray[np.float32], new: NDArray[np.integer]) -> NDArray[np.float32]:
        """The scores of new items, by row number, of users with such scores for the first items, one row each."""
        used = np.flatnonzero(self.weights[: learned.shape[1]])
        matrix = self._matrix(len(self.known))
        coefficients, level = RidgePath(matrix[used], learned[:, used].T, self.weights[used]).solve(self.penalty)
        guessed = (matrix[new].astype(np.float64) @ coefficients + level).T
        low, high = learned[:, used].min(axis=1), learned[:, used].max(axis=1)
        within: NDArray[np.float32] = np.clip(guessed, low[:, None], high[:, None]).astype(np.float32)
        return within

    def _matrix(self, n_rows: int) -> Any:
        indptr = np.append(self.indptr, np.full(n_rows + 1 - len(self.indptr), self.indptr[-1]))
        return scipy.sparse.csr_array((self.values, self.columns, indptr), shape=(n_rows, len(self.encoding.names)))


def _arrays(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    rows = scipy.sparse.csr_array(matrix)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
