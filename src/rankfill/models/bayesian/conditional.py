"""Rows of one side given the other, in one of the samples that are kept.

With ratings as numbers a row is N(A⁻¹ c, A⁻¹) as in a sweep. Ordered ratings have numbers behind them that depend on
the row: their means given the row and the row given these are found in turn, a few times, which ends at the most
probable row (expectation and maximisation). What a draw is away from it has the covariance that is expected with as
much more noise as values tell less than the numbers behind them would.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rankfill.data.ratings.passing import Side
from rankfill.kernels import OtherSide, RowPosterior, Rows, draw_rows, padded, sparse_entries, sparse_times
from rankfill.models.bayesian.samples import Samples
from rankfill.models.bayesian.stars import latent_moments

_ROUNDS = 6
_USUAL: NDArray[np.float64] = ndtri((np.arange(64) + 0.5) / 64)


class Given(NamedTuple):
    """What some rows are known by: their entries, by columns of `others`, which are row numbers of the other side.

    `codes` are the numbers of the values seen where ratings are ordered. `numbers` are those of the rows themselves,
    none for newcomers.
    """

    entries: Rows
    others: NDArray[np.int32]
    codes: NDArray[np.intp] | None
    numbers: NDArray[np.int32] | None

    @staticmethod
    def of(entries: Rows, codes: NDArray[np.intp] | None, numbers: NDArray[np.int32] | None) -> "Given":
        """From entries by row numbers of the other side."""
        others, columns = np.unique(entries.indices, return_inverse=True)
        compact = Rows.taking(entries.indptr.copy(), columns.astype(np.int32), entries.values)
        return Given(compact, others, codes, numbers)


class Folded(NamedTuple):
    """Rows (factors, bias) in one sample: what is expected of them, and a draw."""

    means: NDArray[np.float32]
    draws: NDArray[np.float32]


def rows_given(samples: Samples, s: int, name: Side, given: Given, key: int) -> Folded:
    """Rows given those of the other side in sample s.

    Draws depend on the key and the numbers of the rows. Who has no entries has the mean 0 and, as a draw, the row that
    stands for whoever has no ratings.
    """
    own, other = samples.side(name), samples.side("item" if name == "user" else "user")
    n, rank = given.entries.n_rows, own.rows.shape[2] - 1
    fixed = padded(len(given.others), rank + 2)
    chosen = other.rows[s, np.minimum(given.others, other.rows.shape[1] - 1)]
    fixed[:, :rank], fixed[:, rank + 1] = chosen[:, :rank], chosen[:, rank]
    prior, precision = _prior(samples, s, name, given), float(samples.noise_precisions[s])
    means, draws = padded(n, rank + 2), padded(n, rank + 2)
    draws[:, : rank + 1] = own.rows[s, -1]
    beside = OtherSide(fixed, rank + 1)

    def draw(entries: Rows, noise_precision: float) -> None:
        posterior = RowPosterior(rank, rank, noise_precision, own.precisions[s], prior)
        draw_rows(entries, draws, beside, posterior, key, means=means, numbers=given.numbers)

    draw(given.entries, precision)
    if given.codes is not None and len(given.codes):
        entries = given.entries
        fixed[:, rank], means[:, rank + 1] = 1.0, 1.0
        for _ in range(_ROUNDS):
            predicted = sparse_entries(given.entries, means, fixed).astype(np.float64)
            latents, _ = latent_moments(predicted, given.codes, samples.cuts[s], precision)
            entries = given.entries._replace(values=latents.astype(np.float32))
            draw(entries, precision)
        expected = means.copy()
        draw(entries, told_by_values(samples.cuts[s], precision) * precision)
        draws += expected - means
        means = expected
    return Folded(means[:, : rank + 1], draws[:, : rank + 1])


def told_by_values(cuts: NDArray[np.float64], precision: float) -> float:
    """How much a value tells of the number behind it, as a share of what the number itself would tell.

    The mean over predictions with variance 1 and the values that come of them, so that it is the same for all rows.
    """
    codes = np.arange(len(cuts) + 1)
    ends = ndtr((cuts - _USUAL[:, None]) * precision**0.5)
    chances = np.diff(np.pad(ends, ((0, 0), (1, 1)), constant_values=(0.0, 1.0)), axis=1)
    _, shares = latent_moments(np.repeat(_USUAL, len(codes)), np.tile(codes, len(_USUAL)), cuts, precision)
    return max(float((chances * shares.reshape(chances.shape)).sum()) / len(_USUAL), 0.01)


def _prior(samples: Samples, s: int, name: Side, given: Given) -> NDArray[np.float32]:
    """The mean that each row is drawn around before its ratings are seen."""
    own, entries = samples.side(name), given.entries
    order = own.rows.shape[2]
    prior = padded(entries.n_rows, order)
    if own.weights.shape[1]:
        weights, linked = padded(len(given.others), order), given.others < own.weights.shape[1]
        weights[linked, :order] = own.weights[s, given.others[linked]]
        shares = 1.0 / np.sqrt(np.maximum(entries.counts(), 1))
        prior += sparse_times(entries, shares[entries.row_of_entry()].astype(np.float32), weights)
    prior[:, :order] += own.means[s].astype(np.float32)
    if given.numbers is not None and own.parts.shape[1]:
        described = given.numbers < own.parts.shape[1]
        prior[described, :order] += own.parts[s, given.numbers[described]]
    return prior
