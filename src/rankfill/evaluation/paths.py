"""Trace-norm models for one penalty after another, from the largest down, each started from the last."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankfill.data import Ratings, RatingsLike, as_ratings
from rankfill.data.liked import Liked, check_liked
from rankfill.evaluation.certificates import certificate
from rankfill.models import Model
from rankfill.models.base.judging import error_of
from rankfill.models.base.settings import check_whole
from rankfill.models.convex.model import PenalisedModel
from rankfill.objectives.scores import parse_score
from rankfill.shown import html_table

SMALLEST = 0.01
"""The last penalty of a path that is not given, as a share of the first."""


@dataclass(frozen=True)
class PathStep:
    """The solution for one penalty.

    Attributes
    ----------
    penalty : float
        The penalty of the model.
    rank : int
        Number of factors of the solution.
    train : float
        Root mean square error on the ratings it learned from.
    validation : float or None
        The value of `measure` on the validation ratings, None without any.
    gap : float
        How far the objective can be from the best possible, as a share; proved.
    seconds : float
        How long the fit took.
    measure : str
        What `validation` is: "rmse" unless the path was asked to go by another measure.

    Examples
    --------
    >>> PathStep(4.0, rank=3, train=0.9, validation=1.1, gap=1e-4, seconds=0.2).rank
    3
    """

    penalty: float
    rank: int
    train: float
    validation: float | None
    gap: float
    seconds: float
    measure: str = "rmse"

    @property
    def loss(self) -> float:
        """The validation with the sign with which less is better; minus infinity without any."""
        return -math.inf if self.validation is None else parse_score(self.measure).loss(self.validation)


@dataclass(frozen=True, eq=False, repr=False)
class PenaltyPath(Sequence[PathStep]):
    """The steps of a path, largest penalty first. Prints as a table.

    Attributes
    ----------
    steps : list of PathStep
        One step per penalty; the path itself is a sequence of them.
    model : Model
        The fitted model that predicts the validation ratings best; without any, that of the last penalty.
    best : PathStep
        The step of that model.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    >>> found = rf.path(rf.SoftImpute(offset="mean"), ratings, penalties=[20, 10])
    >>> len(found), found.best is found[1]
    (2, True)
    """

    steps: list[PathStep]
    model: PenalisedModel
    best: PathStep

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: Any) -> Any:
        return self.steps[index]

    def __iter__(self) -> Iterator[PathStep]:
        return iter(self.steps)

    def __str__(self) -> str:
        widths = (10, 6, 9, 12, 10, 9)
        lines = ["".join(text.rjust(width) for text, width in zip(row, widths, strict=False)) for row in self._rows()]
        return "\n".join(line + row[-1] for line, row in zip(lines, self._rows(), strict=True))

    def _repr_html_(self) -> str:
        header, *rows = self._rows()
        return html_table(rows, header)

    def _rows(self) -> list[tuple[str, ...]]:
        """The table as texts; the last column marks the best step."""
        judged = "validation" if self.best.measure == "rmse" else self.best.measure
        return [
            ("penalty", "rank", "train", judged, "gap", "seconds", ""),
            *(
                (
                    f"{step.penalty:.4g}",
                    f"{step.rank}",
                    f"{step.train:.4f}",
                    "" if step.validation is None else f"{step.validation:.4f}",
                    f"{step.gap:.1e}",
                    f"{step.seconds:.2f}",
                    " best" if step is self.best and step.validation is not None else "",
                )
                for step in self.steps
            ),
        ]


def path(
    model: Model,
    train: RatingsLike,
    penalties: ArrayLike | None = None,
    validation: RatingsLike | None = None,
    *,
    steps: int = 20,
    measure: str | None = None,
    liked: Liked = "above-mean",
) -> PenaltyPath:
    """Fits a copy of the model for every penalty, the largest first, each from the solution of the one before.

    Parameters
    ----------
    model : Model
        A convex model with a penalty: SoftImpute, TraceTradeoff or PrimalDual. It is not changed.
    train : Ratings, or whatever `as_ratings` makes some of
        The ratings to learn from.
    penalties : array-like of float, optional
        The penalties, positive and in any order. By default they fall by equal ratios from λ_max, the smallest with
        which nothing is learned, to a hundredth of it.
    validation : Ratings or the like, optional
        Ratings that tell which penalty is best.
    steps : int, default=20
        Number of penalties where they are not given.
    measure : str, optional
        What tells which penalty is best on the validation ratings: any measure of `evaluate`, such as "ndcg@10". By
        default the root mean square error.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        Which validation ratings make an item relevant, as in `evaluate`; for measures of lists.

    Returns
    -------
    PenaltyPath
        With the error, the rank and the proved gap for every penalty, and the best model.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    >>> train, test = rf.split(ratings, test=0.2, seed=0)
    >>> found = rf.path(rf.SoftImpute(offset="mean"), train, validation=test, steps=6)
    >>> [step.rank for step in found][0], found.best.penalty < found[0].penalty
    (0, True)
    """
    if not isinstance(model, PenalisedModel):
        raise TypeError(f"a path needs a convex model with a penalty, found {type(model).__name__}; try SoftImpute")
    check_whole("steps", steps, 1)
    check_liked(liked)
    measure = model.measure if measure is None else parse_score(measure).label
    train = as_ratings(train)
    validation = None if validation is None else as_ratings(validation)
    fitted: PenalisedModel | None = None
    kept: tuple[PenalisedModel, PathStep] | None = None
    done: list[PathStep] = []
    for penalty in _descending(model, train, penalties, steps):
        following = clone(model).set_params(penalty=penalty)
        begun = time.perf_counter()
        following.fit(train, init=fitted)
        seconds = time.perf_counter() - begun
        fitted = following
        error = None if validation is None else error_of(fitted, validation, measure, liked)
        gap = certificate(fitted, train).relative_gap
        done.append(PathStep(penalty, fitted.rank_, fitted.history_[-1].train, error, gap, seconds, measure))
        if kept is None or validation is None or done[-1].loss < kept[1].loss or math.isnan(kept[1].loss):
            kept = fitted, done[-1]
    assert kept is not None
    return PenaltyPath(done, *kept)


def _descending(model: PenalisedModel, train: Ratings, penalties: ArrayLike | None, steps: int) -> list[float]:
    if penalties is not None:
        given = np.sort(np.atleast_1d(np.asarray(penalties, dtype=np.float64)))[::-1]
        if len(given) == 0 or not np.all((given > 0) & np.isfinite(given)):
            raise ValueError(f"penalties must be positive numbers, found {penalties!r}")
        return [float(each) for each in given]
    largest = model.largest_penalty(train)
    rounding = float(np.finfo(np.float32).eps) * float(np.linalg.norm(train.values.astype(np.float64)))
    if largest <= rounding:
        raise ValueError(
            f"offset={model.offset!r} leaves nothing over of the {len(train)} ratings from {train.values.min():g} to "
            f"{train.values.max():g}, so that there is no largest penalty; give penalties, or ratings that differ"
        )
    return [float(each) for each in largest * np.geomspace(1.0, SMALLEST, steps)]
