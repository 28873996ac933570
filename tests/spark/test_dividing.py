"""Blocks completed on a cluster and combined are the model that one machine makes of them."""

import numpy as np
import pytest

import rankfill as rf
import rankfill.spark

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(90, 40, n_ratings=1500, noise=0.3, seed=3)


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (rf.TraceTradeoff(penalty=2.0), {"blocks": 3}),
        (rf.SoftImpute(penalty=2.0, weighting="count", passes=5), {"blocks": 2, "combine": "average", "seed": 5}),
    ],
)
def test_dividing_on_the_cluster_makes_the_bits_of_one_machine(spark, ratings, part, options):
    frame = spark.createDataFrame(ratings.to_frame("pyarrow")).repartition(3)
    fitted = rankfill.spark.divide(part, frame, **options)
    here = rf.DivideAndConquer(model=part, **options).fit(ratings)
    assert here.rank_ > 1
    assert np.array_equal(fitted._users.array, here._users.array)
    assert np.array_equal(fitted._items.array, here._items.array)
    assert fitted.penalty_ == here.penalty_
    assert fitted.history_[0].objective == pytest.approx(here.history_[0].objective, rel=1e-12)


def test_what_cannot_be_divided_is_refused_before_anything_is_gathered(make_frame):
    frame = make_frame([("ann", "tea", 5.0)], ["user", "item", "rating"])
    with pytest.raises(TypeError, match="model must be one of TraceTradeoff"):
        rankfill.spark.divide(rf.ALS(), frame)
    with pytest.raises(TypeError, match=r"rankfill\.spark\.divide completes blocks"):
        rankfill.spark.fit(rf.SoftImpute(), frame)
