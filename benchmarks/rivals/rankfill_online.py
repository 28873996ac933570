"""rankfill's PassiveAggressive as events arrive: ids in, batches of the given size, one round an event."""

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings


class RankfillOnline(Rival):
    name = "rankfill PassiveAggressive online"
    tasks = ("stream",)
    defaults = Settings(C=0.05, batch=1000)
    grid = Grid(C=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2))

    def stream(self, events: Interactions, plan: Plan) -> rf.PassiveAggressive:
        rf.set_threads(plan.threads)
        model = rf.PassiveAggressive(rank=plan.rank, C=self.settings["C"], seed=plan.seed)
        size = self.settings["batch"]
        for first in range(0, len(events), size):
            part = slice(first, first + size)
            model.partial_fit(
                rf.Ratings.from_arrays(events.users[part], events.items[part], events.values[part], duplicates="last")
            )
        return model

    def predict(
        self, fitted: rf.PassiveAggressive, users: NDArray[np.int32], items: NDArray[np.int32]
    ) -> NDArray[np.floating]:
        return fitted.predict(users, items)


ENTRY = RankfillOnline
