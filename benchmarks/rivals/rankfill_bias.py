"""rankfill's Bias: means and effects, the error everything has to beat."""

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings
from benchmarks.rivals.rankfill_passive_aggressive import as_ratings


class RankfillBias(Rival):
    name = "rankfill Bias"
    defaults = Settings(shrinkage=5.0)
    grid = Grid(shrinkage=(1.0, 2.0, 5.0, 10.0, 20.0))
    note = "no factors; one pass"

    def ladder(self, passes: tuple[int, ...]) -> tuple[int, ...]:
        return (1,)

    def prepare(self, train: Interactions, plan: Plan) -> rf.Ratings:
        return as_ratings(train)

    def fit(self, prepared: rf.Ratings, plan: Plan) -> rf.Bias:
        rf.set_threads(plan.threads)
        return rf.Bias(**self.settings).fit(prepared)

    def predict(self, fitted: rf.Bias, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return fitted.predict(users, items)


ENTRY = RankfillBias
