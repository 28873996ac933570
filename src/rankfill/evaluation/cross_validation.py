"""V-fold cross-validation: each part of the ratings is predicted by a model that learned from the others."""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.folds import check_folds, stratified_pieces
from rankfill.data.liked import Liked, check_liked
from rankfill.data.ratings.dividing import Division
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.models.base.judging import error_of
from rankfill.models.base.training import ended_by_interruption
from rankfill.objectives.measures import MEASURES, Measure
from rankfill.objectives.scores import parse_score


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(FoldErrors):
    """The errors of a cross-validation. Prints as the error with its standard error.

    Attributes
    ----------
    measure : str
        The name of the measure, such as "rmse" or "ndcg@10".
    errors : ndarray of shape (n_folds,)
        The error in each fold, NaN for folds that Ctrl-C left out.
    error : float
        The mean of the errors.
    std_error : float
        The standard error of that mean.
    seconds : float
        How long it took.

    Examples
    --------
    >>> CrossValidation("mae", np.array([0.7, 0.8, 0.9]), seconds=1.5)
    mae 0.8000 ± 0.0577 (3 folds)
    """

    seconds: float

    __repr__ = FoldErrors.__str__


def cross_validate(
    model: Model,
    ratings: Ratings,
    folds: int = 5,
    *,
    measure: str | None = None,
    liked: Liked = "above-mean",
    seed: int = 0,
    callbacks: Iterable[Callable[[FoldErrors], Any]] = (),
) -> CrossValidation:
    """Measures a model on ratings it has not learned from, holding each rating out once.

    The ratings are dealt into folds, each with its share of every user's ratings. For each fold a copy of the model
    learns from the others and predicts it; the model itself stays as it is. Ctrl-C ends this early and keeps the
    errors so far.

    Parameters
    ----------
    model : Model
        The model with the settings to measure; it need not be fitted.
    ratings : Ratings
        At least as many as there are folds.
    folds : int, default=5
        Number of parts; at least 2. More take longer and leave more to learn from.
    measure : str, optional
        The error or the measure of lists to go by: "rmse", "mae", "nmae", "top5", or one that `evaluate` has for lists,
        such as "ndcg@10" (lists of 10 without @). By default the model's own `measure`.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        Which held-out ratings make an item relevant, as in `evaluate`; for measures of lists.
    seed : int, default=0
        Seed of the choice of folds.
    callbacks : iterable of callable, default=()
        Each is called after every fold with the errors so far, as `FoldErrors`.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=1200, rank=2, seed=0)
    >>> rf.cross_validate(rf.Bias(effects="none"), ratings).error > rf.cross_validate(rf.Bias(), ratings).error
    True
    >>> rf.cross_validate(rf.Bias(), ratings, measure="ndcg@5").measure
    'ndcg@5'
    """
    measure = check_arguments(model, measure, liked)
    parts, calls = fold_parts(ratings, folds, seed), tuple(callbacks)
    started, errors, fold = time.perf_counter(), np.full(folds, np.nan), 0
    try:
        with ended_by_interruption():
            for fold in range(folds):
                errors[fold] = error_of(clone(model).fit(parts.rest(fold)), parts.part(fold), measure, liked)
                for call in calls:
                    call(FoldErrors(measure, errors[: fold + 1]))
    except KeyboardInterrupt:
        if np.isnan(errors).all():
            raise
        warnings.warn(f"interrupted in fold {fold + 1} of {folds}; the errors so far are kept", stacklevel=2)
    return CrossValidation(measure, errors, time.perf_counter() - started)


def fold_parts(ratings: Ratings, folds: int, seed: int) -> Division:
    """The folds, the same share of every user's ratings in each."""
    check_folds(folds)
    if not isinstance(ratings, Ratings):
        raise TypeError(f"cross-validation needs Ratings, found {type(ratings).__name__}; use Ratings.from_…")
    if len(ratings) < folds:
        raise ValueError(f"{folds} folds need at least as many ratings, found {len(ratings)}; give fewer folds")
    return ratings.divided(stratified_pieces(ratings, folds, seed), folds)


def check_arguments(model: Model, measure: str | None, liked: Liked = "above-mean") -> str:
    """The full name of the measure to go by."""
    if not isinstance(model, Model):
        raise TypeError(f"cross-validation needs a rankfill model such as ALS(), found {type(model).__name__}")
    check_liked(liked)
    return model.measure if measure is None else parse_score(measure).label


def check_error(measure: str) -> Measure:
    """Refuses measures of lists, which are known only when a model has learned to the end."""
    if measure not in MEASURES:
        names = ", ".join(MEASURES)
        raise ValueError(f"a stream is measured by one of {names}, found {measure!r}; give Ratings and no passes")
    return cast("Measure", measure)
