"""Tuning of a parameter as in the paper: five folds, and every value of a grid in turn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

import rankfill as rf

FOLDS, RISES = 5, 2
Parts = list[tuple[rf.Ratings, rf.Ratings]]


@dataclass(frozen=True)
class Found:
    """The best value, the error in each fold, the CPU seconds of the search, and how many values were tried."""

    value: float
    errors: list[float]
    seconds: float
    tried: int


def folds_of(ratings: rf.Ratings) -> Parts:
    """Five parts at random, each with the rest to learn from."""
    fold = np.random.default_rng(0).permutation(len(ratings)) % FOLDS
    return [(ratings.select(fold != each), ratings.select(fold == each)) for each in range(FOLDS)]


def search(model: Any, parameter: str, values: Sequence[float], parts: Parts) -> Found:
    """The value with the least mean error; simple models first, each fit from that of the value before.

    Past the best value the error rises without end and fits become slow, so the search ends once it has risen twice in
    a row.
    """
    began, errors = time.process_time(), list[list[float]]()
    fitted: list[Any] = [None] * len(parts)
    for value in values:
        fresh = clone(model).set_params(**{parameter: value})
        fitted = [clone(fresh).fit(train, init=init) for (train, _), init in zip(parts, fitted, strict=True)]
        errors.append([_error(each, test) for each, (_, test) in zip(fitted, parts, strict=True)])
        rises = np.diff(np.mean(errors, axis=1))[-RISES:]
        if len(rises) == RISES and (rises > 0).all():
            break
    best = int(np.argmin(np.mean(errors, axis=1)))
    return Found(float(values[best]), errors[best], time.process_time() - began, len(errors))


def measure(model: Any, parts: Parts) -> tuple[list[float], float]:
    """The error in each fold, and the CPU seconds of all fits."""
    began = time.process_time()
    errors = [_error(clone(model).fit(train), test) for train, test in parts]
    return errors, time.process_time() - began


def _error(model: rf.Model, test: rf.Ratings) -> float:
    return float(rf.evaluate(model, test, scores=["rmse"])["rmse"])
