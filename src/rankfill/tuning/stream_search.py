"""The search over a stream: all candidates learn side by side while the data go by, V + 1 models each.

V of them are scored on their own folds (`evaluation.streaming`), and one learns from everything, so that the best model
is ready when the stream ends. Between passes the better third of the paths goes on, up to the last pass.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from rankfill.data.folds import hashed_folds
from rankfill.evaluation.streaming import Stream, StreamingFolds, batches
from rankfill.models import Model
from rankfill.objectives.measures import Measure
from rankfill.tuning.candidates import Params, paths
from rankfill.tuning.result import Trial
from rankfill.tuning.search import KEEP, Progress, drop_worse


class StreamSearch:
    """The trials in `trials` are always as far as the stream has come; `models` have learned from everything."""

    def __init__(
        self,
        model: Model,
        stream: Stream,
        found: list[Params],
        *,
        folds: int,
        passes: int,
        measure: Measure,
        halving: bool,
        seed: int,
        report: Callable[[Progress], None],
    ) -> None:
        self.stream, self.folds, self.passes, self.halving, self.seed = stream, folds, passes, halving, seed
        self.alive = paths(found, "none")
        self.models: dict[int, Any] = {
            position: clone(model).set_params(**params) for position, params in enumerate(found)
        }
        self.learners = {position: StreamingFolds(each, folds, measure) for position, each in self.models.items()}
        self.trials = [Trial(measure, np.full(folds, np.nan), params, 0) for params in found]
        self.report, self._seen, self._started = report, 0, time.perf_counter()

    def run(self) -> None:
        current = 1
        for number, batch in batches(self.stream, self.passes):
            if number != current:
                current = number
                self._next_pass()
            fold_of_each = hashed_folds(batch, self.folds, self.seed)
            for position, learners in self.learners.items():
                started = time.perf_counter()
                learners.take(batch, fold_of_each)
                self.models[position].partial_fit(batch)
                trial = self.trials[position]
                seconds = trial.seconds + time.perf_counter() - started
                self.trials[position] = replace(
                    trial, errors=learners.errors, passes=number, rung=number - 1, learned=number, seconds=seconds
                )
            self._seen += len(batch)
            self.report(Progress(self.trials, self._seen, None, time.perf_counter() - self._started))

    def _next_pass(self) -> None:
        if self.halving and len(self.alive) >= KEEP:
            self.alive = drop_worse(self.trials, self.alive)
            kept = {position for path in self.alive for position in path}
            self.learners = {position: each for position, each in self.learners.items() if position in kept}
            self.models = {position: each for position, each in self.models.items() if position in kept}
        for learners in self.learners.values():
            learners.begin_pass()
