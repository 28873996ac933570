"""LIBMF (stochastic gradient in blocks) through its PyPI bindings.

It has to be built with CFLAGS and CXXFLAGS "-O3 -march=native -DUSEAVX -DUSEOMP -fopenmp": a plain `pip install` gives
code without vectors, several times slower, which is refused here. The bindings set L1 penalties of 0.04 where LIBMF
itself has none, so they are set to zero, and their `predict` misreads sliced arrays, so predictions come from the
factors. LIBMF has no seed.

Its threads can wait for each other for ever: they are told to go on and, a moment later, that all is done; who is
through with another pass by then is never told. That takes tiny data and a busy machine, and another attempt helps.
"""

import importlib.util
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import INSTALL, Grid, Interactions, Plan, Rival, Settings, inner_products


class Libmf(Rival):
    name = "LIBMF"
    package = "libmf"
    defaults = Settings(penalty=0.05, eta=0.1, bins=20)
    grids = (Grid(penalty=(0.02, 0.05, 0.1, 0.15), eta=(0.02, 0.05, 0.1, 0.2)),)
    note = "L2 loss, L1 penalties 0"

    def available(self) -> str | None:
        """Whether it was built with the flags is seen by the OpenMP that comes with them."""
        reason = super().available()
        spec = importlib.util.find_spec("libmf")
        if reason or spec is None or spec.origin is None:
            return reason
        library = next(Path(spec.origin).parents[1].glob("libmf*.so"), None)
        if library is not None and not any(name in library.read_bytes() for name in (b"GOMP_", b"__kmpc_")):
            return f"libmf was built without AVX and OpenMP; run {INSTALL}"
        return None

    def prepare(self, train: Interactions, plan: Plan) -> NDArray[np.float32]:
        return np.column_stack([train.users, train.items, train.values]).astype(np.float32)

    def fit(self, prepared: NDArray[np.float32], plan: Plan) -> Any:
        from libmf import mf

        penalty = self.settings["penalty"]
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
        return engine, _seconds_of(engine, prepared, patience=30 + 1e-6 * len(prepared) * plan.passes)

    def seconds(self, fitted: Any) -> float:
        """The seconds of the attempt that came through."""
        return fitted[1]

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return inner_products(fitted[0].p_factors(), fitted[0].q_factors(), users, items)


def _seconds_of(engine: Any, prepared: NDArray[np.float32], patience: float, attempts: int = 3) -> float:
    for _ in range(attempts):
        started = time.perf_counter()
        attempt = threading.Thread(target=engine.fit, args=(prepared,), daemon=True)
        attempt.start()
        attempt.join(patience)
        if not attempt.is_alive():
            return time.perf_counter() - started
    raise TimeoutError(f"LIBMF hung {attempts} times")


ENTRY = Libmf
