"""myFM: a Bayesian factorisation machine by Gibbs sampling; a pass is one sample of everything, one thread."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.rivals.base import Interactions, Plan, Rival


class MyFM(Rival):
    name = "myFM"
    package = "myfm"
    note = "nothing to tune; predictions are the mean over samples; one thread in training"

    def ladder(self, passes: tuple[int, ...]) -> tuple[int, ...]:
        """A chain needs a hundred samples or so, says its manual."""
        return (*passes, *(n for n in (4 * max(passes),) if max(passes) >= 8))

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        shape = train.n_users, train.n_items
        return _one_hot(train.users, train.items, shape), np.asarray(train.values, dtype=np.float64), shape

    def fit(self, prepared: Any, plan: Plan) -> Any:
        from myfm import MyFMRegressor

        design, values, shape = prepared
        model = MyFMRegressor(rank=plan.rank, random_seed=plan.seed)
        # The first samples are far off: the chain has to arrive before its mean means something.
        kept = max(plan.passes - max(plan.passes // 4, 1), 1)
        model.fit(design, values, n_iter=plan.passes, n_kept_samples=kept, group_shapes=list(shape))
        return model, shape, plan.threads

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        model, shape, threads = fitted
        return model.predict(_one_hot(users, items, shape), n_workers=threads)


def _one_hot(users: NDArray[np.int32], items: NDArray[np.int32], shape: tuple[int, int]) -> scipy.sparse.csr_matrix:
    """Two ones a row: the user's column and the item's."""
    columns = np.column_stack([users, items + np.int32(shape[0])]).ravel()
    starts = np.arange(0, 2 * len(users) + 1, 2)
    return scipy.sparse.csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(users), sum(shape)))


ENTRY = MyFM
