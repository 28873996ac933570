"""Training and lists on a Spark cluster beside those of pyspark.ml, on the same cluster and the same data.

    python -m benchmarks spark make --millions 10 --folder FOLDER          writes made-up ratings once
    python -m benchmarks spark passes --millions 10 --folder FOLDER [--rank 16] [--passes 3] [--rounds 3]
        [--only ours|theirs] [--exchange auto|whole|needed]
    python -m benchmarks spark passes --millions 40 --folder FOLDER --only ours --rounds 0  one fit, by its clock
    python -m benchmarks spark lists --millions 10 --folder FOLDER [--rank 64]

The cluster is local: two executors of one core each, processes of their own. The ratings have the shape of MovieLens
10M, with twice the users and the items for four times the ratings; one in fifty is kept aside. An alternation is what
a fit of 1 + n alternations takes longer than one of 1, divided by n. Both have the penalty 0.05 per rating.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

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
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system (default 3; 0: one fit)")
    parser.add_argument("--exchange", default="auto", help="whole, needed or auto: what our tasks get (default auto)")
    arguments = parser.parse_args()
    files = arguments.folder / f"{arguments.millions:g}m"
    if arguments.part == "make":
        make(files, arguments.millions)
        return
    session = start()
    train, test = (session.read.parquet(str(files / name)) for name in ("train", "test"))
    train = train.persist()
    print(f"{train.count():,} ratings, rank {arguments.rank}, {MASTER}", flush=True)
    own, rival = Ours(arguments.rank, arguments.exchange), Theirs(arguments.rank)
    both = [each for each, name in ((own, "ours"), (rival, "theirs")) if arguments.only in (None, name)]
    (time_passes if arguments.part == "passes" else time_lists)(both, train, test, arguments.passes, arguments.rounds)
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

    def __init__(self, rank: int, exchange: Any) -> None:
        self.rank, self.exchange = rank, exchange

    def fit(self, train: Any, passes: int) -> Any:
        import rankfill.spark

        model = rf.ALS(rank=self.rank, passes=passes, tol=None, penalty=PENALTY, weighting="count")
        return rankfill.spark.fit(model, train, exchange=self.exchange)

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


def time_passes(systems: Sequence[Any], train: Any, test: Any, passes: int, rounds: int) -> None:
    """What an alternation costs: the systems take turns, and the medians over the rounds count."""
    lengths = 1, 1 + passes
    models: dict[str, Any] = {}
    for system in systems:  # processes start, code is compiled
        whole = cost_of(lambda system=system: models.update({system.name: system.fit(train, 1 + passes)}))
        own = np.diff([report.seconds for report in getattr(models[system.name], "history_", [])])
        clock = f", an alternation {np.median(own):.2f} s by its clock" if len(own) else ""
        print(f"{system.name}: the first fit, of {1 + passes}, {whole}{clock}", flush=True)
    if rounds == 0:
        return
    spent: dict[tuple[str, int], list[Cost]] = {}
    for _ in range(rounds):
        for n, system in product(lengths, systems):
            spent.setdefault((system.name, n), []).append(cost_of(partial(system.fit, train, n)))
    alternations = {}
    for system in systems:
        first, more = (Cost.median(spent[system.name, n]) for n in lengths)
        alternations[system.name] = each = more.minus(first).divided(passes)
        own = [report.seconds for report in getattr(models[system.name], "history_", [])]
        clock = f" ({np.median(np.diff(own)):.2f} s by the clock of the fit)" if own else ""
        error = f"RMSE {system.rmse(models[system.name], test):.4f}"
        print(f"{system.name}: an alternation {each}{clock}, a fit of one {first}, {error}", flush=True)
    if len(systems) == 2:
        own, theirs = (alternations[system.name] for system in systems)
        print(
            f"{theirs.seconds / own.seconds:.2f} times as fast, {theirs.cpu / own.cpu:.2f} times less CPU", flush=True
        )


def time_lists(systems: Sequence[Any], train: Any, test: Any, passes: int, rounds: int) -> None:
    models = {system.name: system.fit(train, 1) for system in systems}
    spent: dict[str, list[Cost]] = {}
    for _, system in product(range(rounds), systems):
        spent.setdefault(system.name, []).append(
            cost_of(lambda system=system: written(system.lists(models[system.name], train)))
        )
    costs = {name: Cost.median(each) for name, each in spent.items()}
    for name, cost in costs.items():
        print(f"{name}: ten items for every user in {cost}, largest process {largest_process()} MB", flush=True)
    if len(systems) == 2:
        own, theirs = (costs[system.name] for system in systems)
        print(
            f"{theirs.seconds / own.seconds:.2f} times as fast, {theirs.cpu / own.cpu:.2f} times less CPU", flush=True
        )


def written(lists: Any) -> None:
    lists.write.format("noop").mode("overwrite").save()


class Cost(NamedTuple):
    """Seconds by the clock, and of all processors in all processes of the cluster and the driver."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.cpu:.2f} s CPU)"

    @classmethod
    def median(cls, costs: Sequence["Cost"]) -> "Cost":
        return cls(*np.median(np.array(costs), axis=0).tolist())

    def minus(self, other: "Cost") -> "Cost":
        return Cost(self.seconds - other.seconds, self.cpu - other.cpu)

    def divided(self, n: int) -> "Cost":
        return Cost(self.seconds / n, self.cpu / n)


def cost_of(work: Callable[[], Any]) -> Cost:
    before = processor_seconds()
    seconds = timed(work).seconds
    return Cost(seconds, processor_seconds() - before)


def family() -> list[int]:
    """This process and all that it and they have started."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if stat := fields_of(int(folder.name)):
            parents.setdefault(int(stat[1]), []).append(int(folder.name))
    found = [os.getpid()]
    for each in found:  # grows meanwhile
        found += parents.get(each, [])
    return found


def fields_of(pid: int) -> list[str]:
    """The numbers of /proc/…/stat after the name; none where the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def processor_seconds() -> float:
    """Of the whole family, with those of its members that have ended."""
    ticks = sum(int(each) for pid in family() for each in fields_of(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def largest_process() -> int:
    """The most memory that a process of the family has ever had, in megabytes."""
    peaks = []
    for pid in family():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        peaks += [int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")]
    return max(peaks)


if __name__ == "__main__":
    main()
