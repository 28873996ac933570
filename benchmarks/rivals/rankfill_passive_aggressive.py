"""rankfill's PassiveAggressive in batch, and its recommendations."""

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings


def as_ratings(train: Interactions) -> rf.Ratings:
    """The ratings with row numbers as ids."""
    users, items = rf.Vocabulary.of_range(train.n_users), rf.Vocabulary.of_range(train.n_items)
    return rf.Ratings.from_indices(users, items, train.users, train.items, train.values)


class RankfillPassiveAggressive(Rival):
    name = "rankfill PassiveAggressive"
    tasks = ("fit", "top_n")
    defaults = Settings(C=0.01, slack="linear", nonnegative="both")
    grid = Grid(C=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1), nonnegative=("both", "none"))

    def prepare(self, train: Interactions, plan: Plan) -> rf.Ratings:
        return as_ratings(train)

    def fit(self, prepared: rf.Ratings, plan: Plan) -> rf.PassiveAggressive:
        rf.set_threads(plan.threads)
        model = rf.PassiveAggressive(rank=plan.rank, passes=plan.passes, tol=None, seed=plan.seed, **self.settings)
        return model.fit(prepared)

    def predict(
        self, fitted: rf.PassiveAggressive, users: NDArray[np.int32], items: NDArray[np.int32]
    ) -> NDArray[np.floating]:
        return fitted.predict(users, items)

    def top_n(self, fitted: rf.PassiveAggressive, users: NDArray[np.int32], n: int) -> NDArray[np.integer]:
        return fitted.recommend(users, n).items


ENTRY = RankfillPassiveAggressive
