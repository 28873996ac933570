"""Spark's ALS (weighted by counts) in local mode, one block per thread."""

import importlib.util
import os
import shutil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import INSTALL, Grid, Interactions, Plan, Rival, Settings, inner_products


class Spark(Rival):
    name = "Spark ALS"
    package = "pyspark"
    defaults = Settings(regParam=0.1)
    grids = (Grid(regParam=(0.03, 0.05, 0.08, 0.12, 0.2)),)
    note = "local mode"

    def available(self) -> str | None:
        if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
            return "Spark needs java, which is not here"
        missing = [name for name in ("pandas", "pyarrow") if importlib.util.find_spec(name) is None]
        return super().available() or (f"{', '.join(missing)} not installed; run {INSTALL}" if missing else None)

    def environment(self, threads: int) -> dict[str, str]:
        return {"SPARK_LOCAL_IP": "127.0.0.1"}

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        import pandas

        frame = pandas.DataFrame({"user": train.users, "item": train.items, "rating": train.values})
        ratings = _session(plan.threads).createDataFrame(frame).repartition(plan.threads).cache()
        ratings.count()
        return ratings

    def fit(self, prepared: Any, plan: Plan) -> Any:
        from pyspark.ml.recommendation import ALS

        estimator = ALS(
            rank=plan.rank,
            maxIter=plan.passes,
            seed=plan.seed,
            numUserBlocks=plan.threads,
            numItemBlocks=plan.threads,
            **self.settings,
        )
        return estimator.fit(prepared)

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        factors = (_dense(fitted.userFactors, int(users.max()) + 1), _dense(fitted.itemFactors, int(items.max()) + 1))
        return inner_products(*factors, users, items)


def _session(threads: int) -> Any:
    from pyspark.sql import SparkSession

    options = {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(threads),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{threads}]").appName("rankfill-benchmarks")
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _dense(rows: Any, n_rows: int) -> NDArray[np.float32]:
    """Its frame of (id, features) as a matrix, NaN for ids it has not seen."""
    frame = rows.toPandas()
    factors = np.stack(frame["features"].to_numpy())
    ids = frame["id"].to_numpy()
    dense = np.full((max(n_rows, int(ids.max()) + 1), factors.shape[1]), np.nan, dtype=np.float32)
    dense[ids] = factors
    return dense


ENTRY = Spark
