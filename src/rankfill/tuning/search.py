"""The search over Ratings in memory: fold after fold, path after path, fewer paths with more passes.

Rungs: all paths get the first number of passes, the best third of them thrice as many, and so on up to the model's own
number. A fold is the outer loop, so that after the first one every candidate has an error, and one fold at a time is
in memory. Along a path a model that warms up starts from the solution before it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.liked import Liked
from rankfill.evaluation.cross_validation import fold_parts
from rankfill.models import Model
from rankfill.models.base.judging import error_of
from rankfill.models.base.training import ended_by_interruption
from rankfill.tuning.candidates import Params, paths
from rankfill.tuning.result import Trial

KEEP = 3


@dataclass(frozen=True)
class Progress:
    """After every fit: the trials so far, and how many fits are done of how many; in a stream, after every batch, how
    many ratings have gone by."""

    trials: list[Trial]
    done: int
    total: int | None
    seconds: float


class Search:
    """The trials in `trials` are always as far as the search has come."""

    def __init__(
        self,
        model: Model,
        ratings: Ratings,
        found: list[Params],
        *,
        folds: int,
        measure: str,
        liked: Liked,
        halving: bool,
        seed: int,
        report: Callable[[Progress], None],
    ) -> None:
        self.model, self.ratings, self.folds = model, ratings, folds
        self.measure, self.liked = measure, liked
        self.parts = fold_parts(ratings, folds, seed)
        self.paths = paths(found, model.warm_path)
        self.rungs = rungs(model, len(self.paths), halving and "passes" not in found[0])
        self.trials = [Trial(measure, np.full(folds, np.nan), params, 0) for params in found]
        self.report, self._done, self._started = report, 0, time.perf_counter()

    def run(self) -> None:
        alive = self.paths
        with ended_by_interruption():
            for rung, passes in enumerate(self.rungs):
                if rung:
                    alive = drop_worse(self.trials, alive)
                self._climb(alive, rung, passes)

    def _climb(self, alive: list[list[int]], rung: int, passes: int | None) -> None:
        for fold in range(self.folds):
            train, test = self.parts.rest(fold), self.parts.part(fold)
            for path in alive:
                before: Model | None = None
                for position in path:
                    if self.trials[position].failed:
                        continue
                    learner, started = self._learner(position, passes), time.perf_counter()
                    try:
                        learner.fit(train, init=before if self.model.warm_path != "none" else None)
                    except ValueError as refusal:  # of a setting that cannot be; others may do
                        self.trials[position] = replace(
                            self.trials[position], errors=np.full(self.folds, math.inf), failed=str(refusal)
                        )
                        continue
                    error = error_of(learner, test, self.measure, self.liked)
                    self._note(position, rung, fold, learner, error, started)
                    before = learner

    def _learner(self, position: int, passes: int | None) -> Model:
        learner: Model = clone(self.model).set_params(**self.trials[position].params)
        return learner if passes is None else learner.set_params(passes=passes)

    def _note(self, position: int, rung: int, fold: int, learner: Model, error: float, started: float) -> None:
        trial = self.trials[position]
        errors = trial.errors.copy() if fold else np.full(self.folds, np.nan)
        errors[fold] = error
        self._done += 1
        self.trials[position] = replace(
            trial,
            errors=errors,
            rung=rung,
            passes=int(getattr(learner, "passes", 1)),
            learned=trial.learned + len(learner.history_),
            seconds=trial.seconds + time.perf_counter() - started,
        )
        self.report(Progress(self.trials, self._done, self._expected_fits(), time.perf_counter() - self._started))

    def _expected_fits(self) -> int:
        """The expected number of fits; how many paths a later rung has is known, how long they are is not."""
        longest, n = max(map(len, self.paths)), len(self.paths)
        total = sum(map(len, self.paths))
        for _ in self.rungs[1:]:
            n = math.ceil(n / KEEP)
            total += n * longest
        return max(total * self.folds, self._done)


def drop_worse(trials: list[Trial], alive: list[list[int]]) -> list[list[int]]:
    """The best third of the paths, at least one, best first, each judged by the best on it; marks the others."""
    ranked = sorted(alive, key=lambda path: min(_loss_or_infinity(trials[position]) for position in path))
    kept = ranked[: math.ceil(len(ranked) / KEEP)]
    for path in ranked[len(kept) :]:
        for position in path:
            trials[position] = replace(trials[position], dropped=True)
    return kept


def _loss_or_infinity(trial: Trial) -> float:
    return trial.loss if math.isfinite(trial.error) else math.inf


def rungs(model: Model, n_paths: int, halving: bool) -> list[int | None]:
    """The numbers of passes to give, one after the other; None leaves it to the model."""
    most = model.get_params(deep=False).get("passes")
    if not halving or most is None or n_paths < KEEP:
        return [None]
    steps = range(math.floor(math.log(n_paths, KEEP) + 1e-9), -1, -1)
    return sorted({math.ceil(most / KEEP**step) for step in steps})
