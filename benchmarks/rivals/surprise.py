"""Surprise's SVD: stochastic gradient with biases, one thread."""

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings


class Surprise(Rival):
    name = "Surprise SVD"
    package = "surprise"
    defaults = Settings(lr_all=0.005, reg_all=0.02)
    grids = (Grid(lr_all=(0.005, 0.01, 0.02, 0.03), reg_all=(0.02, 0.05, 0.1, 0.15)),)
    note = "one thread whatever is asked"

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        """Its training set without the look-up of ids, which are row numbers already."""
        from surprise import Trainset

        by_user, by_item = defaultdict(list), defaultdict(list)
        for user, item, value in zip(train.users.tolist(), train.items.tolist(), train.values.tolist(), strict=True):
            by_user[user].append((item, value))
            by_item[item].append((user, value))
        scale = float(train.values.min()), float(train.values.max())
        return Trainset(by_user, by_item, train.n_users, train.n_items, len(train), scale, {}, {})

    def fit(self, prepared: Any, plan: Plan) -> Any:
        from surprise import SVD

        return SVD(n_factors=plan.rank, n_epochs=plan.passes, random_state=plan.seed, **self.settings).fit(prepared)

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        """From the factors: its own `test` takes one Python object per pair."""
        matched = np.einsum("nk,nk->n", fitted.pu[users], fitted.qi[items])
        return fitted.trainset.global_mean + fitted.bu[users] + fitted.bi[items] + matched


ENTRY = Surprise
