"""Cross-validation in one stream: the data are read once, and V models learn from them side by side.

Every rating belongs to one fold for good, by a hash of the ids of its user and item (`data.folds`), or by its place in
the stream: rating number i to fold i mod V. Model v learns from the ratings of all folds but v, and those of fold v
only ever measure it. A batch is predicted before it is learned from, so each error is that of a model that knows
nothing later in the stream either. The memory is that of V models.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.batches import batches_of, read_batches
from rankfill.data.folds import check_folds, hashed_folds, placed_folds
from rankfill.evaluation.cross_validation import check_arguments, check_error
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.models.base.settings import check_word
from rankfill.models.base.training import asked_to_stop
from rankfill.objectives.measures import ErrorSums, Measure

Stream = Ratings | str | os.PathLike[str] | Iterable[Ratings]
FoldsBy = Literal["pair", "place"]


@dataclass(frozen=True, eq=False, repr=False)
class StreamReport(FoldErrors):
    """The report of one batch of a stream.

    Attributes
    ----------
    measure : str
        The name of the error: "rmse", "mae" or "nmae".
    errors : ndarray of shape (n_folds,)
        The error in each fold since the pass began.
    error : float
        The mean of the errors.
    std_error : float
        The standard error of that mean.
    ratings : int
        Number of ratings that have gone by, over all passes.
    passes : int
        Number of the pass, from 1.
    latest : float
        The error on this batch alone, NaN where nothing could be predicted yet.
    seconds : float
        Time since the stream began.

    Examples
    --------
    >>> StreamReport("rmse", np.array([0.9, 1.1]), ratings=500, passes=1, latest=1.02, seconds=0.1)
    rmse 1.0000 ± 0.1000 (2 folds)
    """

    ratings: int
    passes: int
    latest: float
    seconds: float

    __repr__ = FoldErrors.__str__


@dataclass(frozen=True, eq=False, repr=False)
class StreamValidation(FoldErrors):
    """The errors of a cross-validated stream. Prints as the error with its standard error.

    Attributes
    ----------
    measure : str
        The name of the error: "rmse", "mae" or "nmae".
    errors : ndarray of shape (n_folds,)
        The error in each fold over the last pass.
    error : float
        The mean of the errors.
    std_error : float
        The standard error of that mean.
    history : list of StreamReport
        One report per batch.
    models : list of Model
        One model per fold, which has learned from all other folds.

    Examples
    --------
    >>> StreamValidation("rmse", np.array([0.9, 1.1]), history=[], models=[])
    rmse 1.0000 ± 0.1000 (2 folds)
    """

    history: list[StreamReport]
    models: list[Model] = field(repr=False)

    __repr__ = FoldErrors.__str__


class StreamingFolds:
    """V copies of a model; number v learns what is not in fold v, and is scored on what is."""

    def __init__(self, model: Model, folds: int, measure: Measure) -> None:
        self.measure = measure
        self.models = [clone(model) for _ in range(folds)]
        self.begin_pass()

    def begin_pass(self) -> None:
        """Forgets the errors, not what was learned."""
        self.sums = [ErrorSums()] * len(self.models)

    def take(self, batch: Ratings, fold_of_each: NDArray[np.int64]) -> float:
        """Scores, then learns; returns the error on this batch, NaN where nothing could be predicted yet."""
        total = ErrorSums()
        for fold, model in enumerate(self.models):
            own = fold_of_each == fold
            if hasattr(model, "users_"):
                test = batch.select(own)
                sums = ErrorSums.of(self.measure, test.values, model._predict_ratings(test))
                self.sums[fold], total = self.sums[fold].plus(sums), total.plus(sums)
            model.partial_fit(batch.select(~own))
        return total.error(self.measure)

    @property
    def errors(self) -> NDArray[np.float64]:
        return np.array([sums.error(self.measure) for sums in self.sums])


def cross_validate_stream(
    model: Model,
    ratings: Stream,
    folds: int = 5,
    *,
    passes: int = 1,
    measure: Measure | None = None,
    by: FoldsBy = "pair",
    seed: int = 0,
    callbacks: Iterable[Callable[[StreamReport], bool | None]] = (),
) -> StreamValidation:
    """Cross-validates a model that learns by `partial_fit`, while its data go by.

    The first batch of all is learned without being scored. Batches made here begin with one rating and grow to 20,000,
    each at most a third of what went before. Ctrl-C ends the stream early and keeps what was found.

    Parameters
    ----------
    model : Model
        A model with `partial_fit`, such as `SGD`; it need not be fitted.
    ratings : Ratings, path, or iterable of Ratings
        Ratings in the order of their timestamps or of arrival; the path of a file, which is read in batches and never
        held in memory; or batches of your own. An iterator can be gone through once; for more passes give a list.
    folds : int, default=5
        Number of models that learn side by side; at least 2.
    passes : int, default=1
        How often to go through the stream.
    measure : {"rmse", "mae", "nmae"}, optional
        The error to measure. By default the model's own `measure`.
    by : {"pair", "place"}, default="pair"
        What gives a rating its fold: a hash of its user and item, so that it keeps its fold in a stream that has grown
        or comes in another order; or its place in the stream, number i going to fold i mod `folds`.
    seed : int, default=0
        Seed of that hash.
    callbacks : iterable of callable, default=()
        Each is called after every batch with a `StreamReport`, and ends the stream by returning True.

    Returns
    -------
    StreamValidation

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(200, 80, n_ratings=5000, rank=2, seed=0)
    >>> result = rf.cross_validate_stream(rf.SGD(rank=2), ratings, folds=4, passes=2)
    >>> len(result.errors), len(result.models), result.history[-1].passes
    (4, 4, 2)
    """
    error = check_error(check_arguments(model, measure))
    check_incremental(model)
    check_folds(folds)
    check_word("by", by, FoldsBy)
    learners = StreamingFolds(model, folds, error)
    history: list[StreamReport] = []
    calls, seen, place, started = tuple(callbacks), 0, 0, time.perf_counter()
    try:
        for number, batch in batches(ratings, passes):
            if history and number != history[-1].passes:
                learners.begin_pass()
                place = 0
            of_each = hashed_folds(batch, folds, seed) if by == "pair" else placed_folds(batch, folds, place)
            latest = learners.take(batch, of_each)
            seen, place = seen + len(batch), place + len(batch)
            seconds = time.perf_counter() - started
            history.append(StreamReport(error, learners.errors, seen, number, latest, seconds))
            if asked_to_stop(calls, history[-1]):
                break
    except KeyboardInterrupt:
        if not history:
            raise
        warnings.warn(f"interrupted after {seen:,} ratings; the errors so far are kept", stacklevel=2)
    errors = history[-1].errors if history else np.full(folds, math.nan)
    return StreamValidation(error, errors, history, learners.models)


def batches(ratings: Stream, passes: int) -> Iterator[tuple[int, Ratings]]:
    """The number of the pass, from 1, and each batch in its turn."""
    if not isinstance(passes, int | np.integer) or passes < 1:
        raise ValueError(f"passes must be a whole number of at least 1, found {passes!r}")
    if isinstance(ratings, Iterator) and passes > 1:
        raise ValueError(
            f"an iterator of batches can be gone through once, found passes={passes}; give a list or a file"
        )
    for number in range(1, passes + 1):
        for batch in _one_pass(ratings):
            if not isinstance(batch, Ratings):
                raise TypeError(f"a stream is made of batches of Ratings, found {type(batch).__name__}")
            if len(batch):
                yield number, batch


def _one_pass(ratings: Stream) -> Iterable[Ratings]:
    if isinstance(ratings, Ratings):
        return batches_of(ratings)
    if isinstance(ratings, str | os.PathLike):
        return read_batches(Path(ratings))
    return ratings


def check_incremental(model: Model) -> None:
    if not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit, so it cannot learn from a stream; use cross_validate, or a "
            "model such as SGD or PassiveAggressive"
        )
