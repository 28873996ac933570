"""Contributions of a user's entries to a score, and users with similar entries."""

from dataclasses import replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.data import Vocabulary
from rankfill.kernels import Rows
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.base.explanation import Part
from rankfill.models.base.reasons import OwnRatings

ENTRIES = "Each thing the user rated adds its weight for this item times what the rating counts."
MARGINS = "The parts add up to odds. They are shown in proportion, so that they add up to the prediction."
_AT_ONCE = 2**22


def entry_parts(entries: Rows, weights: NDArray[np.float32], items: Vocabulary, own: OwnRatings | None) -> list[Part]:
    """One part per entry of the row of one user, with the ratings where they are known."""
    known = {} if own is None or own.values is None else dict(zip(own.items.tolist(), own.values.tolist(), strict=True))
    names, products = items.ids(entries.indices).tolist(), entries.values.astype(np.float64) * weights
    return [
        Part("rating", f"item {name}", product, id=name, rating=known.get(row), weight=weight)
        for row, name, product, weight in zip(
            entries.indices.tolist(), names, products.tolist(), weights.tolist(), strict=True
        )
    ]


def in_proportion(parts: list[Part], factor: float) -> list[Part]:
    """The same parts, what they add and what they are multiplied by times a factor."""
    return [
        replace(
            part, contribution=factor * part.contribution, weight=None if part.weight is None else factor * part.weight
        )
        for part in parts
    ]


def most_alike(
    entries: Rows, n_items: int, rows: NDArray[np.int32], n: int, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The n users with the largest cosine of their entries, some of those asked for at a time."""
    n_users = entries.n_rows
    matrix = scipy.sparse.csr_array(
        (entries.values.astype(np.float64), entries.indices, entries.indptr), (n_users, n_items)
    )
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    matrix = (scipy.sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ matrix).tocsr()
    found, cosines = np.full((len(rows), n), -1, np.int32), np.full((len(rows), n), np.nan, np.float32)
    known, step = np.flatnonzero(rows >= 0), max(1, _AT_ONCE // max(n_users, 1))
    for first in range(0, len(known), step):
        places = known[first : first + step]
        scores = (matrix[rows[places]] @ matrix.T).toarray().astype(np.float32)
        itself = np.arange(len(places) + 1), rows[places]
        found[places], cosines[places] = best_of(scores, n, allowed, *itself)
    return found, cosines
