"""People who were not in training: their rows given the items, in every sample that is kept."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import OtherSide, RowPosterior, draw_rows, padded, sparse_times
from rankfill.linalg.blas import one_blas_thread
from rankfill.linalg.tall import tall_gram
from rankfill.models.base.factors import FactorModel
from rankfill.models.bayesian.samples import Samples


class Folded(NamedTuple):
    """Rows (factors, bias) of newcomers in one sample: what is expected of them, and a draw."""

    means: NDArray[np.float32]
    draws: NDArray[np.float32]


class FoldingIn(FactorModel):
    """A model of samples, kept in units of `_scale`, that learns about newcomers."""

    _scale: float
    _samples: Samples

    def _standardised(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """In the units of the samples."""
        return ((values.astype(np.float64) - self.mean_) / (self._scale or 1.0)).astype(np.float32)

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The mean over the samples of the expected row of each person, the items as they are in the sample."""
        width, rank = self.rank_, self._samples.users.shape[2] - 1
        result = np.zeros((known.n_users, width + 2))
        with one_blas_thread():
            for folded, to_mean in zip(self._folded(known, 0), self._maps(), strict=True):
                result[:, :width] += folded.means[:, :rank] @ to_mean
                result[:, width] += folded.means[:, rank]
        result /= self._samples.count
        result[:, :width] *= math.sqrt(self._scale)
        result[:, width] *= self._scale
        result[:, width + 1] = 1
        return result.astype(np.float32)

    def _folded(self, known: Ratings, key: int) -> Iterator[Folded]:
        """Rows of people in one sample after the other; draws depend on the key and the place of the person.

        Who has rated nothing has the mean 0 and, as a draw, the row that stands for whoever has no ratings.
        """
        samples = self._samples
        rank = samples.users.shape[2] - 1
        entries = known.by_user._replace(values=self._standardised(known.values))
        shares = 1.0 / np.sqrt(np.maximum(entries.counts(), 1))
        values = shares[entries.row_of_entry()].astype(np.float32)
        for s in range(samples.count):
            prior = padded(known.n_users, rank + 1)
            if samples.weights.shape[1]:
                weights = padded(len(self.items_), rank + 1)
                weights[: samples.weights.shape[1], : rank + 1] = samples.weights[s]
                prior += sparse_times(entries, values, weights)
            prior[:, : rank + 1] += samples.means[s].astype(np.float32)
            items = padded(len(self.items_), rank + 2)
            rows_of_items = samples.items[s, np.minimum(np.arange(len(items)), samples.items.shape[1] - 1)]
            items[:, :rank], items[:, rank + 1] = rows_of_items[:, :rank], rows_of_items[:, rank]
            means, draws = padded(known.n_users, rank + 2), padded(known.n_users, rank + 2)
            draws[:, : rank + 1] = samples.users[s, -1]
            posterior = RowPosterior(rank, rank, float(samples.noise_precisions[s]), samples.precisions[s], prior)
            draw_rows(entries, draws, OtherSide(items, rank + 1), posterior, key + s, means=means)
            yield Folded(means[:, : rank + 1], draws[:, : rank + 1])

    def _maps(self) -> list[NDArray[np.float64]]:
        """Takes factors of a user in a sample to factors of the mean of predictions, one matrix for each sample.

        The products with all items are as near as can be.
        """
        root = math.sqrt(self._scale) or 1.0
        n_items = self._samples.items.shape[1] - 1
        items = self._items.array[:n_items, : self.rank_].astype(np.float64) / root
        inverse = np.linalg.pinv(tall_gram(items, items), rcond=1e-10, hermitian=True)
        rank = self._samples.users.shape[2] - 1
        return [tall_gram(each[:-1, :rank].astype(np.float64), items) @ inverse for each in self._samples.items]
