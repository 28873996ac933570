"""Cross-validation in one stream: the data are read once, and V models learn from them side by side.

Every rating belongs to one fold for good, by a hash of the ids of its user and item (`data.folds`). Model v learns
from the ratings of all folds but v, and those of fold v only ever measure it. A batch is predicted before it is learned
from, so each error is that of a model that knows nothing later in the stream either. The memory is that of V models.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.batches import batches_of, read_batches
from rankfill.data.folds import check_folds, hashed_folds
from rankfill.evaluation.cross_validation import check_arguments
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.models.training import asked_to_stop
from rankfill.objectives.measures import ErrorSums, Measure

Stream = Ratings | str | os.PathLike[str] | Iterable[Ratings]


@dataclass(frozen=True, eq=False, repr=False)
class StreamReport(FoldErrors):
    """After a batch. `errors` are those since the pass began; `latest` is the error on this batch alone."""

    ratings: int
    """How many have gone by, over all passes."""
    passes: int
    """The number of the pass, from 1."""
    latest: float
    seconds: float

    __repr__ = FoldErrors.__str__


@dataclass(frozen=True, eq=False, repr=False)
class StreamValidation(FoldErrors):
    """The errors in the last pass, a report a batch in `history`, and the V models; prints as the error."""

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
                sums = ErrorSums.of(self.measure, test.values, model._predicted(test))
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
    seed: int = 0,
    callbacks: Iterable[Callable[[StreamReport], bool | None]] = (),
) -> StreamValidation:
    """Cross-validates a model that learns by `partial_fit` while its data go by, once or `passes` times.

    `ratings` are `Ratings` (in the order of their timestamps or of arrival), the path of a file, which is read in
    batches and never held in memory, or batches of `Ratings` of your own. An iterator can be gone through once;
    for more passes give a list. The first batch of all is learned without being scored; batches made here begin with
    one rating and grow to 20,000, each at most a third of what went before. Each of `callbacks` is called
    after every batch with a `StreamReport`, and ends the stream by returning True; Ctrl-C ends it too, and what was
    found is kept.

    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(200, 80, n_ratings=5000, rank=2, seed=0)
    >>> result = rf.cross_validate_stream(rf.SGD(rank=2), ratings, folds=4, passes=2)
    >>> len(result.errors), len(result.models), result.history[-1].passes
    (4, 4, 2)
    """
    check_arguments(model, measure)
    check_incremental(model)
    check_folds(folds)
    measure = measure or model.measure
    learners = StreamingFolds(model, folds, measure)
    history: list[StreamReport] = []
    calls, seen, started = tuple(callbacks), 0, time.perf_counter()
    try:
        for number, batch in batches(ratings, passes):
            if history and number != history[-1].passes:
                learners.begin_pass()
            latest = learners.take(batch, hashed_folds(batch, folds, seed))
            seen += len(batch)
            seconds = time.perf_counter() - started
            history.append(StreamReport(measure, learners.errors, seen, number, latest, seconds))
            if asked_to_stop(calls, history[-1]):
                break
    except KeyboardInterrupt:
        if not history:
            raise
        warnings.warn(f"interrupted after {seen:,} ratings; the errors so far are kept", stacklevel=2)
    errors = history[-1].errors if history else np.full(folds, math.nan)
    return StreamValidation(measure, errors, history, learners.models)


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
