"""LIBMF (stochastic gradient in blocks) through its PyPI bindings.

Build it with CFLAGS="-O3 -march=native -DUSEAVX -DUSEOMP -fopenmp": without them it neither vectorises nor uses
OpenMP. The bindings set L1 penalties of 0.04 where LIBMF itself has none, so they are set to zero here, and their
`predict` misreads sliced arrays, so predictions come from the factors. LIBMF has no seed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Interactions, Plan, Rival, inner_products


class Libmf(Rival):
    name = "LIBMF"
    package = "libmf"
    defaults = {"lambda": 0.05, "eta": 0.1, "bins": 20}
    grid = {"lambda": (0.02, 0.05, 0.1, 0.15), "eta": (0.03, 0.05, 0.1)}
    note = "L2 loss, L1 penalties 0"

    def prepare(self, train: Interactions, plan: Plan) -> NDArray[np.float32]:
        return np.column_stack([train.users, train.items, train.values]).astype(np.float32)

    def fit(self, prepared: NDArray[np.float32], plan: Plan) -> Any:
        from libmf import mf

        penalty = self.settings["lambda"]
        engine = mf.MF(
            k=plan.rank,
            nr_threads=plan.threads,
            nr_iters=plan.passes,
            nr_bins=max(self.settings["bins"], 2 * plan.threads + 1),
            lambda_p1=0.0,
            lambda_q1=0.0,
            lambda_p2=penalty,
            lambda_q2=penalty,
            eta=self.settings["eta"],
            quiet=True,
            copy_data=False,
        )
        engine.fit(prepared)
        return engine

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return inner_products(fitted.p_factors(), fitted.q_factors(), users, items)


ENTRY = Libmf
