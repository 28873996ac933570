"""Lists of similar items or users, and the cosine of vectors."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.frames import Library, make_frame
from rankfill.kernels import padded_copy, top_n


class _Similar(NamedTuple):
    ids: NDArray[Any]
    similarities: NDArray[np.float32]


class Similar(_Similar):
    """Lists of the most similar items or users: one row per id asked for, most similar first.

    Attributes
    ----------
    ids : ndarray of shape (n_asked, n)
        Ids of the items or users. Where fewer than n are left, the rest of the row is −1, or None among strings.
    similarities : ndarray of shape (n_asked, n)
        How similar each is, NaN where there is none.
    asked : ndarray of shape (n_asked,)
        The ids asked for. No part of the tuple: ``ids, similarities = model.similar_items(…)``.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 5, 1], [1, 1, 5], [4, None, 2], [None, 2, 4]])
    >>> rf.ALS(rank=1).fit(ratings).similar_items(0, n=1).ids
    array([[1]])
    """

    asked: NDArray[Any]

    def __new__(cls, ids: NDArray[Any], similarities: NDArray[np.float32], asked: NDArray[Any]) -> Self:
        lists = super().__new__(cls, ids, similarities)
        lists.asked = asked
        return lists

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame of one pair per row, most similar first; empty places are left out.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame. By default that of the first of the three that is installed.

        Returns
        -------
        DataFrame or Table
            With the columns id, place (from 1), similar and similarity.
        """
        rows, places = np.nonzero(~np.isnan(self.similarities))
        columns: dict[str, NDArray[Any]] = {
            "id": self.asked[rows],
            "place": places + 1,
            "similar": self.ids[rows, places],
            "similarity": self.similarities[rows, places],
        }
        return make_frame(columns, library)


def most_similar(
    vectors: NDArray[np.floating], rows: NDArray[np.int32], n: int, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The n rows with the largest cosine with each of `rows`, itself left out; none for row −1.

    A row of zeros has cosine zero with all others.

    >>> vectors = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    >>> most_similar(vectors, np.array([0], np.int32), 2, np.ones(3, bool))
    (array([[2, 1]], dtype=int32), array([[0.70710677, 0.        ]], dtype=float32))
    """
    wide = vectors.astype(np.float64) if vectors.shape[1] else np.zeros((len(vectors), 1))
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    wide = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)  # squares neither vanish nor overflow
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    units = padded_copy(np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0))
    known = np.flatnonzero(rows >= 0)
    found = np.full((len(rows), n), -1, np.int32)
    cosines = np.full((len(rows), n), np.nan, np.float32)
    itself = np.arange(len(known) + 1, dtype=np.int64), rows[known].astype(np.int32)
    found[known], cosines[known] = top_n(units[rows[known]], units, wide.shape[1], n, *itself, allowed)
    return found, np.minimum(cosines, np.float32(1))
