"""rankfill's models in batch, and their recommendations: an entry for every model there is.

A line in `GRIDS` brings a model into every comparison. Without one it takes part when it is named, with its defaults:
convex models choose their rank themselves, and have benchmarks of their own.
"""

import inspect
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings

_LEAST_SQUARES = (
    Grid(penalty=(0.03, 0.05, 0.08, 0.12, 0.2), weighting=("count",)),
    Grid(penalty=(5.0, 10.0, 20.0, 35.0), weighting=("constant",)),
)
_GRADIENTS = Grid(penalty=(0.01, 0.02, 0.05, 0.1))

GRIDS: dict[str, tuple[Grid, ...]] = {
    "als": _LEAST_SQUARES,
    "bias": (Grid(shrinkage=(1.0, 2.0, 5.0, 10.0, 20.0)),),
    "coordinate-descent": _LEAST_SQUARES,
    "gradient-descent": (_GRADIENTS,),
    "multiplicative-nmf": (Grid(penalty=(0.5, 1.0, 2.0, 5.0, 10.0, 20.0)),),
    "passive-aggressive": (Grid(slack=("linear", "quadratic")),),
    "sgd": (Grid(**_GRADIENTS, rate=(0.02, 0.05, 0.1, 0.2)),),
    "variance-reduced": (_GRADIENTS,),
}
NOTES = {
    "bias": "no factors, one pass",
    "passive-aggressive": "non-negative, finds its C; linear slack is for absolute errors, quadratic for squared ones",
}
SERVES = "passive-aggressive"
"""The model whose recommendations are timed: they are the same code for all."""


class RankfillModel(Rival):
    """One model, as `rankfill.MODELS` calls it."""

    model: ClassVar[str]

    def ladder(self, passes: tuple[int, ...]) -> tuple[int, ...]:
        return passes if "passes" in self._parameters() else (1,)

    def prepare(self, train: Interactions, plan: Plan) -> rf.Ratings:
        return as_ratings(train)

    def fit(self, prepared: rf.Ratings, plan: Plan) -> rf.Model:
        rf.set_threads(plan.threads)
        same = {"rank": plan.rank, "passes": plan.passes, "seed": plan.seed, "tol": None}
        known = {name: value for name, value in same.items() if name in self._parameters()}
        return rf.MODELS[self.model](**known, **self.settings).fit(prepared)

    def predict(self, fitted: rf.Model, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return fitted.predict(users, items)

    def top_n(self, fitted: rf.Model, users: NDArray[np.int32], n: int) -> NDArray[np.integer]:
        return fitted.recommend(users, n).items

    def _parameters(self) -> set[str]:
        return set(inspect.signature(rf.MODELS[self.model]).parameters)


def as_ratings(train: Interactions) -> rf.Ratings:
    """The ratings with row numbers as ids."""
    users, items = rf.Vocabulary.of_range(train.n_users), rf.Vocabulary.of_range(train.n_items)
    return rf.Ratings.from_indices(users, items, train.users, train.items, train.values)


def _entry(name: str) -> type[RankfillModel]:
    grids = GRIDS.get(name, ())
    shown = inspect.signature(rf.MODELS[name]).parameters
    defaults = Settings({parameter: shown[parameter].default for grid in grids for parameter in grid})
    about = {
        "name": f"rankfill {rf.MODELS[name].__name__}",
        "model": name,
        "tasks": ("fit", "top_n") if name == SERVES else ("fit",),
        "defaults": defaults,
        "grids": grids,
        "unasked": bool(grids),
        "note": NOTES.get(name, ""),
    }
    return type(rf.MODELS[name].__name__, (RankfillModel,), about)


ENTRIES: dict[str, type[Rival]] = {f"rankfill_{name.replace('-', '_')}": _entry(name) for name in rf.MODELS}
