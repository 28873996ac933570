"""V-fold cross-validation: each part of the ratings is predicted by a model that learned from the others."""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.folds import check_folds, stratified_folds
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.models.training import ended_by_interruption
from rankfill.objectives.measures import MEASURES, Measure


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(FoldErrors):
    """Prints as the error with its standard error."""

    seconds: float

    __repr__ = FoldErrors.__str__


def cross_validate(
    model: Model,
    ratings: Ratings,
    folds: int = 5,
    *,
    measure: Measure | None = None,
    seed: int = 0,
    callbacks: Iterable[Callable[[FoldErrors], Any]] = (),
) -> CrossValidation:
    """The error of a model on ratings it has not learned from, each rating being held out once.

    The folds are parts of the ratings, each with its share of every user's (`data.folds.stratified_folds`). The model
    itself stays as it is; a copy of it learns each time, on all threads. `measure` is the model's own unless
    given. Each of `callbacks` is called after every fold with the errors so far. Ctrl-C ends it early and keeps them.

    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=1200, rank=2, seed=0)
    >>> rf.cross_validate(rf.Bias(effects="none"), ratings).error > rf.cross_validate(rf.Bias(), ratings).error
    True
    """
    check_arguments(model, measure)
    measure = measure or model.measure
    fold_of_each, calls = fold_numbers(ratings, folds, seed), tuple(callbacks)
    started, errors, fold = time.perf_counter(), np.full(folds, np.nan), 0
    try:
        with ended_by_interruption():
            for fold in range(folds):
                train, test = fold_pair(ratings, fold_of_each, fold)
                errors[fold] = error_of(clone(model).fit(train), test, measure)
                for call in calls:
                    call(FoldErrors(measure, errors[: fold + 1]))
    except KeyboardInterrupt:
        if np.isnan(errors).all():
            raise
        warnings.warn(f"interrupted in fold {fold + 1} of {folds}; the errors so far are kept", stacklevel=2)
    return CrossValidation(measure, errors, time.perf_counter() - started)


def fold_numbers(ratings: Ratings, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each rating, the same share of every user's in each."""
    check_folds(folds)
    if not isinstance(ratings, Ratings):
        raise TypeError(f"cross-validation needs Ratings, found {type(ratings).__name__}; use Ratings.from_…")
    if len(ratings) < folds:
        raise ValueError(f"{folds} folds need at least as many ratings, found {len(ratings)}; give fewer folds")
    return stratified_folds(ratings, folds, seed)


def fold_pair(ratings: Ratings, fold_of_each: NDArray[np.int64], fold: int) -> tuple[Ratings, Ratings]:
    """What to learn from and what to predict."""
    return ratings.select(fold_of_each != fold), ratings.select(fold_of_each == fold)


def error_of(model: Model, test: Ratings, measure: Measure) -> float:
    if measure == model.measure:
        return model._error(test)
    return MEASURES[measure](test.values, model._predicted(test))


def check_arguments(model: Model, measure: str | None) -> None:
    if not isinstance(model, Model):
        raise TypeError(f"cross-validation needs a rankfill model such as ALS(), found {type(model).__name__}")
    if measure is not None and measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, found {measure!r}")
