"""Trace-norm models for one penalty after another, from the largest down, each started from the last."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.evaluation.certificates import certificate
from rankfill.models import Model
from rankfill.models.settings import check_whole
from rankfill.models.trace_norm import TraceNormModel

SMALLEST = 0.01
"""The last penalty of a path that is not given, as a share of the first."""


@dataclass(frozen=True)
class PathStep:
    """The solution for one penalty. `gap` is relative and proved; `train` and `validation` are root mean squares."""

    penalty: float
    rank: int
    train: float
    validation: float | None
    gap: float
    seconds: float


class PenaltyPath(Sequence[PathStep]):
    """The steps of a path, and the best model on the validation ratings (without any, that of the last penalty)."""

    def __init__(self, steps: list[PathStep], model: TraceNormModel, best: PathStep) -> None:
        self.steps = steps
        self.model = model
        self.best = best

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: Any) -> Any:
        return self.steps[index]

    def __iter__(self) -> Iterator[PathStep]:
        return iter(self.steps)

    def __str__(self) -> str:
        lines = [f"{'penalty':>10}{'rank':>6}{'train':>9}{'validation':>12}{'gap':>10}{'seconds':>9}"]
        for step in self.steps:
            held_out = "" if step.validation is None else f"{step.validation:.4f}"
            lines.append(
                f"{step.penalty:10.4g}{step.rank:6d}{step.train:9.4f}{held_out:>12}{step.gap:10.1e}{step.seconds:9.2f}"
                + (" best" if step is self.best and step.validation is not None else "")
            )
        return "\n".join(lines)


def path(
    model: Model,
    train: Ratings,
    penalties: ArrayLike | None = None,
    validation: Ratings | None = None,
    *,
    steps: int = 20,
) -> PenaltyPath:
    """Fits a copy of the model for every penalty, the largest first, each from the solution of the one before.

    Without `penalties` they fall by equal ratios, in so many `steps`, from λ_max, the smallest for which nothing is
    learned, to a hundredth of it. The gap of each is proved by `certificate`.

    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    >>> train, test = rf.split(ratings, test=0.2, seed=0)
    >>> found = rf.path(rf.SoftImpute(offset="mean"), train, validation=test, steps=6)
    >>> [step.rank for step in found][0], found.best.penalty < found[0].penalty
    (0, True)
    """
    if not isinstance(model, TraceNormModel) or not model.convex or "penalty" not in model.get_params():
        raise TypeError(f"a path needs a convex model with a penalty, found {type(model).__name__}; try SoftImpute")
    check_whole("steps", steps, 1)
    fitted: TraceNormModel | None = None
    kept: tuple[TraceNormModel, PathStep] | None = None
    done: list[PathStep] = []
    for penalty in _descending(model, train, penalties, steps):
        following = clone(model).set_params(penalty=penalty)
        begun = time.perf_counter()
        following.fit(train, init=fitted)
        seconds = time.perf_counter() - begun
        fitted = following
        error = None if validation is None else fitted._error(validation)
        gap = certificate(fitted, train).relative_gap
        done.append(PathStep(penalty, fitted.rank_, fitted.history_[-1].train, error, gap, seconds))
        if kept is None or error is None or error < (kept[1].validation or np.inf):
            kept = fitted, done[-1]
    assert kept is not None
    return PenaltyPath(done, *kept)


def _descending(model: TraceNormModel, train: Ratings, penalties: ArrayLike | None, steps: int) -> list[float]:
    if penalties is not None:
        given = np.sort(np.atleast_1d(np.asarray(penalties, dtype=np.float64)))[::-1]
        if len(given) == 0 or not np.all(given > 0):
            raise ValueError(f"penalties must be positive numbers, found {penalties!r}")
        return [float(each) for each in given]
    largest = model.largest_penalty(train)
    return [float(each) for each in largest * np.geomspace(1.0, SMALLEST, steps)]
