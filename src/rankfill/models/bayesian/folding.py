"""Rows found from ratings in every sample that is kept: people who were not in training, given the items."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.ratings.passing import Side
from rankfill.linalg.blas import one_blas_thread
from rankfill.linalg.tall import tall_gram
from rankfill.models.base.factors import FactorModel
from rankfill.models.bayesian.conditional import Folded, Given, rows_given
from rankfill.models.bayesian.samples import Samples

Matrices = NDArray[np.float64]


class FoldingIn(FactorModel):
    """A model of samples, kept in units of `_scale`, that learns about newcomers."""

    _learned: ClassVar[tuple[str, ...]] = ("_scale", "_samples", "levels_")

    levels_: NDArray[np.float32]
    _scale: float
    _samples: Samples

    def _standardise(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """In the units of the samples."""
        return ((values.astype(np.float64) - self.offset_) / (self._scale or 1.0)).astype(np.float32)

    def _codes(self, values: NDArray[np.float32]) -> NDArray[np.intp] | None:
        """Numbers of the values learned that ordered ratings are nearest to."""
        if not len(self.levels_):
            return None
        return np.searchsorted(0.5 * (self.levels_[1:] + self.levels_[:-1]), values)

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The mean over the samples of the expected row of each person, the items as they are in the sample."""
        with one_blas_thread():
            means = [folded.means for folded in self._fold_rows(known, 0)]
            rows = self._mean_rows(means, self._maps("user"))
        return np.column_stack([rows, np.ones(len(rows), np.float32)])

    def _fold_rows(self, known: Ratings, key: int) -> Iterator[Folded]:
        """Rows of people in one sample after the other; draws depend on the key and the place of the person."""
        entries = known.by_user._replace(values=self._standardise(known.values))
        given = Given.of(entries, self._codes(known.values), None)
        for s in range(self._samples.count):
            yield rows_given(self._samples, s, "user", given, key + s)

    def _mean_rows(self, means: list[NDArray[np.float32]], maps: Matrices) -> NDArray[np.float32]:
        """Rows (factors, bias) of the mean of predictions from those expected in every sample."""
        width, rank = self.rank_, means[0].shape[1] - 1
        rows = np.zeros((len(means[0]), width + 1))
        for each, to_mean in zip(means, maps, strict=True):
            rows[:, :width] += each[:, :rank] @ to_mean
            rows[:, width] += each[:, rank]
        rows /= len(means)
        rows[:, :width] *= math.sqrt(self._scale)
        rows[:, width] *= self._scale
        return rows.astype(np.float32)

    def _maps(self, side: Side, n_others: int | None = None) -> Matrices:
        """Takes factors of a side in a sample to factors of the mean of predictions, one matrix for each sample.

        The products with the first rows of the other side, by default all, are as near as can be.
        """
        root = math.sqrt(self._scale) or 1.0
        others = self._samples.side("item" if side == "user" else "user").rows[:, :-1]
        others = others[:, :n_others]
        means = (self._items if side == "user" else self._users).array[: others.shape[1], : self.rank_]
        wide = means.astype(np.float64) / root
        inverse = np.linalg.pinv(tall_gram(wide, wide), rcond=1e-10, hermitian=True)
        rank = others.shape[2] - 1
        return np.array([tall_gram(each[:, :rank].astype(np.float64), wide) @ inverse for each in others])
