"""Training and lists on a Spark cluster beside those of pyspark.ml, on the same cluster and the same data.

    python -m benchmarks spark make --millions 10 --folder FOLDER          writes made-up ratings once
    python -m benchmarks spark passes --millions 10 --folder FOLDER [--rank 16] [--passes 3] [--only ours|theirs]
    python -m benchmarks spark lists --millions 10 --folder FOLDER [--rank 64]

The cluster is local: two executors of one core each, processes of their own. The ratings have the shape of MovieLens
10M, with twice the users and the items for four times the ratings; one in fifty is kept aside. An alternation is what
a fit of 1 + n alternations takes longer than one of 1, divided by n. Both have the penalty 0.05 per rating.
"""

import argparse
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rankfill as rf
from benchmarks.harness.clock import timed

MASTER = "local-cluster[2,1,3072]"
PENALTY = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("make", "passes", "lists"))
    parser.add_argument("--millions", type=float, default=10.0, help="number of ratings (default 10 million)")
    parser.add_argument("--folder", type=Path, required=True, help="where the ratings are kept")
    parser.add_argument("--rank", type=int, default=16, help="number of factors (default 16)")
    parser.add_argument("--passes", type=int, default=3, help="alternations that are timed (default 3)")
    parser.add_argument("--only", choices=("ours", "theirs"), help="one of the two alone")
    arguments = parser.parse_args()
    files = arguments.folder / f"{arguments.millions:g}m"
    if arguments.part == "make":
        make(files, arguments.millions)
        return
    session = start()
    train, test = (session.read.parquet(str(files / name)) for name in ("train", "test"))
    train = train.persist()
    print(f"{train.count():,} ratings, rank {arguments.rank}, {MASTER}", flush=True)
    own, rival = Ours(arguments.rank), Theirs(arguments.rank)
    both = [each for each, name in ((own, "ours"), (rival, "theirs")) if arguments.only in (None, name)]
    for system in both:
        (time_passes if arguments.part == "passes" else time_lists)(system, train, test, arguments.passes)
    session.stop()


def make(files: Path, millions: float) -> None:
    """Some files of Parquet for each part, as a cluster has them."""
    import pyarrow
    import pyarrow.parquet

    side = (millions / 10) ** 0.5
    shape = round(69_878 * side), round(10_677 * side)
    ratings = rf.synthetic.low_rank(*shape, round(10_000_054 * millions / 10), scale=(0.5, 5.0), step=0.5, seed=0)
    aside = np.random.default_rng(0).random(len(ratings)) < 0.02
    for name, keep in (("train", ~aside), ("test", aside)):
        columns = {"user": ratings.user_indices[keep], "item": ratings.item_indices[keep]}
        table = pyarrow.table(columns | {"rating": ratings.values[keep]})
        (files / name).mkdir(parents=True)
        size = -(-table.num_rows // 8)
        for part in range(8):
            pyarrow.parquet.write_table(table.slice(part * size, size), files / name / f"{part}.parquet")


def start() -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "OPENBLAS_NUM_THREADS": "1", "RANKFILL_THREADS": "1"}
    options = {
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "log.level": "ERROR",
        "driver.memory": "2g",
        "executor.memory": "3g",
    }
    builder = SparkSession.builder.master(MASTER).appName("rankfill-benchmarks")
    for name, value in options.items():
        builder = builder.config(f"spark.{name}", value)
    return builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()


class Ours:
    """`rankfill.spark`, with biases."""

    name = "rankfill.spark"

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def fit(self, train: Any, passes: int) -> Any:
        import rankfill.spark

        model = rf.ALS(rank=self.rank, passes=passes, tol=None, penalty=PENALTY, weighting="count")
        return rankfill.spark.fit(model, train)

    def rmse(self, model: Any, test: Any) -> float:
        import rankfill.spark

        return rankfill.spark.evaluate(model, test, scores=["rmse"])["rmse"]

    def lists(self, model: Any, train: Any) -> Any:
        import rankfill.spark

        return rankfill.spark.recommend(model, train, 10)


class Theirs:
    """The `ALS` of pyspark.ml."""

    name = "pyspark.ml"

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def fit(self, train: Any, passes: int) -> Any:
        from pyspark.ml.recommendation import ALS

        settings = {"userCol": "user", "itemCol": "item", "ratingCol": "rating", "coldStartStrategy": "drop"}
        blocks = {"numUserBlocks": 2, "numItemBlocks": 2, "regParam": PENALTY, "seed": 0}
        model = ALS(rank=self.rank, maxIter=passes, **settings, **blocks).fit(train)
        model.itemFactors.count()
        model.userFactors.count()
        return model

    def rmse(self, model: Any, test: Any) -> float:
        from pyspark.ml.evaluation import RegressionEvaluator

        return RegressionEvaluator(labelCol="rating").evaluate(model.transform(test))

    def lists(self, model: Any, train: Any) -> Any:
        return model.recommendForAllUsers(10)


def time_passes(system: Any, train: Any, test: Any, passes: int) -> None:
    model = system.fit(train, 1 + passes)  # processes are started, code is compiled
    first, more = (min(_seconds(partial(system.fit, train, n)) for _ in range(2)) for n in (1, 1 + passes))
    note = f"RMSE {system.rmse(model, test):.4f}, largest process here {_megabytes()} MB"
    own = [report.seconds for report in getattr(model, "history_", [])]
    clock = f" (by the clock of the fit {np.median(np.diff(own)):.2f})" if own else ""
    alternation = (more - first) / passes
    print(f"{system.name}: an alternation {alternation:.2f} s{clock}, a fit of one {first:.1f} s, {note}", flush=True)


def time_lists(system: Any, train: Any, test: Any, passes: int) -> None:
    model = system.fit(train, 1)

    def answer() -> None:
        system.lists(model, train).write.format("noop").mode("overwrite").save()

    seconds = _seconds(answer)
    print(f"{system.name}: ten items for every user in {seconds:.1f} s", flush=True)


def _seconds(work: Callable[[], Any]) -> float:
    return timed(work).seconds


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
