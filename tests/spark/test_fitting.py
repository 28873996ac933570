"""What is fitted on a cluster is what is fitted here: the same bits, whatever the ids, the blocks and what dies."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf
import rankfill.spark
from rankfill.spark.ratings import ClusterRatings

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

MODELS = {
    "bias": lambda: rf.Bias(),
    "explicit ALS": lambda: rf.ALS(rank=5, passes=3),
    "non-negative ALS": lambda: rf.ALS(rank=5, passes=2, nonnegative="both", weighting="count", penalty=0.05),
    "implicit ALS": lambda: rf.ALS(rank=5, passes=2, feedback="implicit", confidence=2.0, penalty=1.0),
    "passive-aggressive": lambda: rf.PassiveAggressive(rank=5, passes=3),
    "coordinate descent": lambda: rf.CoordinateDescent(rank=5, passes=3, order="rows", nonnegative="items"),
}


@pytest.fixture(scope="module")
def ratings():
    """More users than items, ids that are not row numbers, rows of very different lengths."""
    numbers = rf.synthetic.low_rank(150, 60, n_ratings=2500, seed=0)
    users, items = numbers.users.ids(numbers.user_indices), numbers.items.ids(numbers.item_indices)
    return rf.Ratings.from_arrays(users * 7 + 2**40, [f"item {item}" for item in items], numbers.values)


@pytest.fixture(scope="module")
def frame(spark, ratings):
    table = ratings.to_frame("pyarrow")
    shuffled = np.random.default_rng(0).permutation(table.num_rows)
    return spark.createDataFrame(table.take(shuffled)).repartition(3).persist()


def assert_same(fitted, here):
    assert np.array_equal(fitted._users.array, here._users.array)
    assert np.array_equal(fitted._items.array, here._items.array)
    assert fitted.users_ == here.users_
    assert fitted.items_ == here.items_
    assert (fitted.mean_, fitted.range_, fitted.n_ratings_) == (here.mean_, here.range_, here.n_ratings_)
    for ours, theirs in zip(fitted.history_, here.history_, strict=True):
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-12)
        assert ours.train == pytest.approx(theirs.train, rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_fitted_on_the_cluster_has_the_bits_of_one_fitted_here(frame, ratings, name):
    fitted = rankfill.spark.fit(MODELS[name](), frame, blocks=3)
    assert_same(fitted, MODELS[name]().fit(ratings))


@pytest.mark.parametrize("name", ["implicit ALS", "passive-aggressive"])
def test_rows_that_are_sent_to_those_who_need_them_move_to_the_same_bits(frame, ratings, name):
    fitted = rankfill.spark.fit(MODELS[name](), frame, blocks=3, exchange="needed")
    assert_same(fitted, MODELS[name]().fit(ratings))


def test_two_executors_work(frame, ratings):
    pids = []

    def where(batches):
        import pyarrow

        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"pid": [os.getppid()] * batch.num_rows})

    blocks = ClusterRatings.gather(frame, "user", "item", "rating", 4)
    try:
        pids = blocks._frames["user"].select("first").mapInArrow(where, "pid long").toArrow().column("pid").to_pylist()
    finally:
        blocks.release()
    assert len(pids) == 4
    assert len(set(pids)) == 2
    assert os.getpid() not in pids


class SuicidalStep:
    """The first half pass of whoever finds no file kills its executor from within the task, then works as usual."""

    def __init__(self, step, mark):
        self.step, self.mark, self.goes_on = step, mark, step.goes_on

    def __call__(self, rows, moving, fixed, first):
        if first == 0:
            try:
                descriptor = os.open(self.mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                pass
            else:
                os.write(descriptor, str(os.getpid()).encode())
                os.close(descriptor)
                executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
                time.sleep(60)
        return self.step(rows, moving, fixed, first)


def test_an_executor_that_dies_in_a_task_changes_no_bit(frame, ratings, tmp_path, monkeypatch):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    mark = tmp_path / "pid"
    half_pass = ClusterRatings.half_pass
    monkeypatch.setattr(
        ClusterRatings,
        "half_pass",
        lambda self, side, step, *rows: half_pass(self, side, SuicidalStep(step, str(mark)), *rows),
    )
    fitted = rankfill.spark.fit(MODELS["explicit ALS"](), frame, blocks=2)
    assert int(mark.read_text()) != os.getpid()
    assert_same(fitted, MODELS["explicit ALS"]().fit(ratings))


def test_a_fit_whose_driver_was_killed_goes_on(spark, frame, ratings, tmp_path):
    ratings.to_frame("pandas").to_parquet(tmp_path / "ratings.parquet")
    address, code = f"file://{tmp_path}/checkpoint", tmp_path / "driver.py"
    code.write_text(
        textwrap.dedent(f"""
        import os, signal
        import rankfill as rf
        import rankfill.spark
        from pyspark.sql import SparkSession
        options = {{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}}
        session = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
        frame = session.read.parquet({str(tmp_path / "ratings.parquet")!r})
        die = lambda report: report.epoch == 3 and os.kill(os.getpid(), signal.SIGKILL)
        rankfill.spark.fit(rf.PassiveAggressive(rank=5, passes=5), frame, callbacks=[die],
                           checkpoint={address!r}, every=2)
        """)
    )
    done = subprocess.run([sys.executable, str(code)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    epochs = []
    model = rf.PassiveAggressive(rank=5, passes=5)
    rankfill.spark.fit(
        model, frame, callbacks=[lambda report: epochs.append(report.epoch)], checkpoint=address, every=2, blocks=3
    )
    assert epochs == [2, 3, 4, 5]
    assert_same(model, rf.PassiveAggressive(rank=5, passes=5).fit(ratings))


def test_validation_ratings_choose_the_pass(frame, ratings):
    validation = ratings.select(np.arange(len(ratings)) % 9 == 0)
    make = MODELS["explicit ALS"]
    fitted = rankfill.spark.fit(make(), frame, validation=validation)
    here = make().fit(ratings, validation=validation)
    assert [report.validation for report in fitted.history_] == [report.validation for report in here.history_]


def test_extreme_ratings_are_learned_in_their_own_unit(spark, ratings):
    large = ratings.with_values(lambda values: values * np.float32(1e30))
    frame = spark.createDataFrame(large.to_frame("pyarrow"))
    make = MODELS["explicit ALS"]
    fitted = rankfill.spark.fit(make().set_params(passes=1), frame, blocks=2)
    here = make().set_params(passes=1).fit(large)
    np.testing.assert_allclose(fitted.user_factors_, here.user_factors_, rtol=1e-4)


def test_what_cannot_be_learned_is_refused_in_words(frame, make_frame):
    rows = [("ann", "tea", 5.0), ("ann", "milk", 3.0), ("bob", "tea", 4.0)]

    def make(rows):
        return make_frame(rows, ["user", "item", "rating"])

    with pytest.raises(TypeError, match="does not learn one side at a time; on Spark use one of ALS"):
        rankfill.spark.fit(rf.SGD(), frame)
    with pytest.raises(TypeError, match=r'on Spark use CoordinateDescent\(order="rows"\)'):
        rankfill.spark.fit(rf.CoordinateDescent(), frame)
    with pytest.raises(TypeError, match="must be a data frame of Spark"):
        rankfill.spark.fit(rf.Bias(), rows)
    with pytest.raises(ValueError, match="has no column 'stars'"):
        rankfill.spark.fit(rf.Bias(), frame, rating="stars")
    with pytest.raises(ValueError, match='blocks must be a whole number or "auto"'):
        rankfill.spark.fit(rf.Bias(), frame, blocks="many")
    with pytest.raises(ValueError, match="exchange must be one of auto, whole, needed, found 'both'"):
        rankfill.spark.fit(rf.Bias(), frame, exchange="both")
    with pytest.raises(ValueError, match="user 'ann' has rated item 'tea' more than once"):
        rankfill.spark.fit(rf.Bias(), make([*rows, ("ann", "tea", 1.0)]))
    with pytest.raises(ValueError, match="of user 'bob' for item 'milk' is no finite number"):
        rankfill.spark.fit(rf.Bias(), make([*rows, ("bob", "milk", float("nan"))]))
    with pytest.raises(ValueError, match="'user' has rows without an id"):
        rankfill.spark.fit(rf.Bias(), make([*rows, (None, "milk", 1.0)]))
    with pytest.raises(ValueError, match="there are no ratings"):
        rankfill.spark.fit(rf.Bias(), make(rows).limit(0))
    with pytest.raises(ValueError, match="needs ratings >= 0, found -1"):
        rankfill.spark.fit(rf.PassiveAggressive(rank=2), make([*rows, ("bob", "milk", -1.0)]))
