"""A scikit-learn transformer that fills the holes of a table, with factor analysis or with any model of rankfill.

Columns are standardised first, by the mean and the standard deviation of their known entries, and restored after.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfill.data import Ratings
from rankfill.imputation.gaussian import GaussianFactors, Table
from rankfill.imputation.selection import choose_gaussian
from rankfill.models import Model
from rankfill.models.settings import check_positive, check_whole


class LowRankImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fills NaN from the other columns of the row; what is known stays as it is, to the bit.

    Without a `model` it is `GaussianFactors`: low rank plus noise, the rank and the penalty chosen on entries held
    out, unless given. With one, that model learns from the table as ratings of columns by rows, and new rows are
    folded in; a model that takes no negative ratings is given them raised to zero.

    A row without any known entry gets the means of the columns, a column of one value that value, and a column without
    any value 0. Numbers filled in are real also in columns of whole numbers or of yes and no, where they read as
    expectations and chances. The output is float64, or float32 for float32.

    rank: How many factors describe a row; None tries the full covariance matrix, then … 4, 2, 1 and 0.
    penalty: How many rows of uncorrelated columns to add to those seen; None tries several.
    held_out: The share of the known entries on which rank and penalty are chosen.
    passes: The most passes over the table.
    tol: Stop when the correlations of the columns move by less than this in a pass (root mean square).
    clip: Keep what is filled in within the range of its column.

    >>> import numpy as np
    >>> from rankfill import LowRankImputer
    >>> height = np.arange(150.0, 200)
    >>> table = np.column_stack([height, height / 2.54, height - 100])
    >>> table[7, 1] = table[20, 2] = np.nan
    >>> LowRankImputer().fit_transform(table)[[7, 20]].round(1)
    array([[157. ,  61.8,  57. ],
           [170. ,  66.9,  70. ]])
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        rank: int | None = None,
        penalty: float | None = None,
        held_out: float = 0.1,
        passes: int = 30,
        tol: float = 0.002,
        clip: bool = True,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.rank = rank
        self.penalty = penalty
        self.held_out = held_out
        self.passes = passes
        self.tol = tol
        self.clip = clip
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns means, scales and the model; `y` is not looked at."""
        table = self._validated(X, reset=True).astype(np.float64)
        self._check_settings()
        self._set_columns(table)
        standardised = self._standardised(table)
        self.model_: Model | GaussianFactors | None = None  # no column has two values
        if standardised.shape[1] and self.model is None:
            self.model_ = choose_gaussian(
                standardised, self.rank, self.penalty, self.held_out, self.passes, self.tol, self.seed
            )
        elif standardised.shape[1]:
            self.model_ = self._fitted_model(standardised)
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Fills each row from what the training rows have taught; the rows may be others."""
        check_is_fitted(self)
        given = self._validated(X, reset=False)
        table = given.astype(np.float64)
        holes = np.isnan(table)
        filled = np.where(holes, self.means_, table)
        unsure = holes[:, self._varied]
        # A row with nothing known has the means already; one with nothing unknown needs no work.
        rows = np.flatnonzero(unsure.any(axis=1) & ~unsure.all(axis=1))
        if len(rows):
            predicted = self._restored(self._predicted(self._standardised(table[rows])))
            part = np.ix_(rows, self._varied)
            filled[part] = np.where(unsure[rows], predicted, filled[part])
        return filled.astype(given.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X: Any, reset: bool) -> NDArray[np.floating]:
        kinds = (np.float64, np.float32)
        array: NDArray[np.floating] = validate_data(self, X, reset=reset, dtype=kinds, ensure_all_finite="allow-nan")
        return array

    def _check_settings(self) -> None:
        if self.model is not None and not isinstance(self.model, Model):
            raise TypeError(f"model must be a rankfill model or None, found {type(self.model).__name__}")
        for name in ("rank", "penalty"):
            if self.model is not None and getattr(self, name) is not None:
                raise ValueError(f"{name}={getattr(self, name)!r} goes with model=None; set it on the model instead")
        if self.rank is not None:
            check_whole("rank", self.rank, 0)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out must be a share between 0 and 1, found {self.held_out!r}")
        check_whole("passes", self.passes, 1)
        check_whole("seed", self.seed, 0)

    def _set_columns(self, table: Table) -> None:
        """Means, and of the columns with two or more values standard deviations and ranges."""
        known = ~np.isnan(table)
        counts = np.maximum(known.sum(axis=0), 1)
        sizes = np.abs(table).max(axis=0, initial=0.0, where=known)
        sizes[sizes == 0] = 1.0  # squares of numbers up to 1 neither overflow nor vanish
        scaled = np.where(known, table / sizes, 0.0)
        means = scaled.sum(axis=0) / counts
        deviations = np.sqrt((np.where(known, scaled - means, 0.0) ** 2).sum(axis=0) / counts)
        lows = table.min(axis=0, initial=np.inf, where=known)
        highs = table.max(axis=0, initial=-np.inf, where=known)
        self._varied = np.flatnonzero((lows < highs) & (deviations > 0))
        self.means_ = np.where(lows == highs, lows, means * sizes)
        self.scales_ = deviations * sizes
        self._lows, self._highs = lows[self._varied], highs[self._varied]

    def _standardised(self, table: Table) -> Table:
        """The columns with two or more values, each with mean 0 and variance 1 in training."""
        scaled: Table = (table[:, self._varied] - self.means_[self._varied]) / self.scales_[self._varied]
        return scaled

    def _restored(self, standardised: Table) -> Table:
        table = standardised * self.scales_[self._varied] + self.means_[self._varied]
        return np.asarray(np.clip(table, self._lows, self._highs) if self.clip else table)

    def _fitted_model(self, standardised: Table) -> Model:
        model: Model = clone(self.model)
        ratings = Ratings.from_dense(standardised)
        self._raised_by = 0.0
        try:
            model._check(ratings)
        except ValueError:  # of negative ratings, or of what fit will say
            self._raised_by = -float(ratings.values.min())
            ratings = ratings.shifted(self._raised_by)
        return model.fit(ratings)

    def _predicted(self, standardised: Table) -> Table:
        if isinstance(self.model_, GaussianFactors):
            return self.model_.fill(standardised)
        assert self.model_ is not None
        raised = standardised + self._raised_by
        ratings = Ratings.from_dense(np.maximum(raised, 0.0) if self._raised_by else raised)
        columns, scores = self.model_.recommend(ratings, n=raised.shape[1], exclude_seen=False)
        predicted = np.empty(raised.shape)
        np.put_along_axis(predicted, columns, scores, axis=1)
        return predicted - self._raised_by
