"""rankfill's models as events arrive: ids in, some events a call; an entry for every model that goes on learning."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings

GRIDS: dict[str, tuple[Grid, ...]] = {
    "passive-aggressive": (Grid(C=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2), slack=("linear", "quadratic")),),
    "sgd": (Grid(penalty=(0.01, 0.02, 0.05, 0.1), rate=(0.02, 0.05, 0.1, 0.2)),),
}
BATCH = 1000


class RankfillOnline(Rival):
    """One model, as `rankfill.MODELS` calls it; `batch` is how many events a call brings."""

    model: ClassVar[str]
    tasks = ("stream",)

    def stream(self, events: Interactions, plan: Plan) -> rf.Model:
        rf.set_threads(plan.threads)
        settings = dict(self.settings)
        size = settings.pop("batch")
        model = rf.MODELS[self.model](rank=plan.rank, seed=plan.seed, **settings)
        for first in range(0, len(events), size):
            part = slice(first, first + size)
            arrays = events.users[part], events.items[part], events.values[part]
            model.partial_fit(rf.Ratings.from_arrays(*arrays, duplicates="last"))
        return model

    def predict(self, fitted: rf.Model, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return fitted.predict(users, items)


def _entry(name: str) -> type[RankfillOnline]:
    about = {
        "name": f"rankfill {rf.MODELS[name].__name__} online",
        "model": name,
        "defaults": Settings(batch=BATCH),
        "grids": GRIDS.get(name, ()),
        "note": f"{BATCH} events a call, ids looked up",
    }
    return type(rf.MODELS[name].__name__ + "Online", (RankfillOnline,), about)


ENTRIES: dict[str, type[Rival]] = {
    f"rankfill_{name.replace('-', '_')}_online": _entry(name)
    for name, model in rf.MODELS.items()
    if hasattr(model, "partial_fit")
}
