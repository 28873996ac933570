"""Ratings divided by a label for each: training and test part, or folds.

Labels come piece by piece, as the ratings do, so that ratings on disk are divided without holding a number for each.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankfill.data.ratings.choosing import Choosing

if TYPE_CHECKING:
    from rankfill.data.ratings.ratings import Ratings


class Division(ABC):
    """The parts of some ratings, all with the same vocabularies, so that row numbers stay."""

    @abstractmethod
    def part(self, label: int) -> "Ratings":
        """The ratings with a label."""

    @abstractmethod
    def rest(self, label: int) -> "Ratings":
        """The ratings with another label."""


class DivisionInMemory(Division):
    """Parts are made when they are asked for."""

    def __init__(self, ratings: Any, labels: NDArray[np.integer]) -> None:
        self._ratings, self._labels = ratings, labels

    def part(self, label: int) -> "Ratings":
        part: Ratings = self._ratings.select(self._labels == label)
        return part

    def rest(self, label: int) -> "Ratings":
        rest: Ratings = self._ratings.select(self._labels != label)
        return rest


class Dividing(Choosing):
    """The methods of `Ratings` that divide them."""

    def divided(self, labels: Iterable[NDArray[Any]], n_labels: int) -> Division:
        """The parts that labels make of the ratings.

        Parameters
        ----------
        labels : iterable of ndarray
            The labels of each piece of `by_user` in turn, one per rating: whole numbers from 0.
        n_labels : int
            How many labels there are.

        Returns
        -------
        Division
            ``part(label)`` has the ratings with a label, ``rest(label)`` all others.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, None], [3, 4]])
        >>> parts = ratings.divided([np.array([0, 1, 0])], 2)
        >>> parts.part(0), parts.rest(0).values
        (Ratings(2 ratings, 2 users, 2 items, values 4 to 5), array([3.], dtype=float32))
        """
        return DivisionInMemory(self, np.concatenate(list(labels)))

    def _zeros(self, n: int, dtype: DTypeLike) -> NDArray[Any]:
        """Zeros where the ratings are: in memory, or on disk."""
        return np.zeros(n, dtype)
