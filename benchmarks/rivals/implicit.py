"""implicit: recommendations only, for it factorises counts, not ratings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Interactions, Plan, Rival


class Implicit(Rival):
    name = "implicit"
    tasks = ("top_n",)
    package = "implicit"
    note = "factors of its own ALS; does not predict ratings"

    def environment(self, threads: int) -> dict[str, str]:
        return {"OPENBLAS_NUM_THREADS": "1"}  # as it asks for: its own threads call BLAS

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        return train.to_coo().tocsr()

    def fit(self, prepared: Any, plan: Plan) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(
            factors=plan.rank, iterations=plan.passes, num_threads=plan.threads, random_state=plan.seed
        )
        model.fit(prepared, show_progress=False)
        return model, prepared

    def top_n(self, fitted: Any, users: NDArray[np.int32], n: int) -> NDArray[np.integer]:
        model, seen = fitted
        return model.recommend(users, seen[users], N=n, filter_already_liked_items=True)[0]


ENTRY = Implicit
