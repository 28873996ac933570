"""cmfrec's CMF: alternating least squares with biases, conjugate gradients or Cholesky."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings


class Cmfrec(Rival):
    name = "cmfrec"
    tasks = ("fit", "top_n")
    package = "cmfrec"
    defaults = Settings(lambda_=0.05, scale_lam=True, use_cg=True)
    # Its manual names 0.05, scaled by counts, or 35, plain, for MovieLens 10M, and says that without CG it fits better.
    grids = (
        Grid(lambda_=(0.03, 0.05, 0.1, 0.2), scale_lam=(True,), use_cg=(True, False)),
        Grid(lambda_=(5.0, 10.0, 20.0, 35.0), scale_lam=(False,), use_cg=(True, False)),
    )
    note = "ALS with biases"
    most_users = 2000

    def environment(self, threads: int) -> dict[str, str]:
        return {"OPENBLAS_NUM_THREADS": "1"}  # its own threads call BLAS

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        return train.to_coo()

    def fit(self, prepared: Any, plan: Plan) -> Any:
        from cmfrec import CMF

        model = CMF(
            k=plan.rank,
            niter=plan.passes,
            nthreads=plan.threads,
            random_state=plan.seed + 1,
            verbose=False,
            handle_interrupt=False,
            precompute_for_predictions=False,
            **self.settings,
        ).fit(prepared)
        return model, prepared.tocsr()

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return fitted[0].predict(users, items)

    def top_n(self, fitted: Any, users: NDArray[np.int32], n: int) -> NDArray[np.integer]:
        """It recommends to one user at a time; a second thread would only wait."""
        model, seen = fitted
        model.nthreads = 1
        rows = [
            model.topN(user, n=n, exclude=seen.indices[seen.indptr[user] : seen.indptr[user + 1]])
            for user in users.tolist()
        ]
        return np.array(rows)


ENTRY = Cmfrec
