"""Predictions, lists and measures on the cluster are those of the model."""

import numpy as np
import pytest

import rankfill as rf
import rankfill.spark
import rankfill.spark.evaluating

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture(scope="module")
def ratings():
    numbers = rf.synthetic.low_rank(60, 40, n_ratings=900, seed=1)
    return rf.Ratings.from_arrays(
        [f"user {user}" for user in numbers.user_indices], numbers.item_indices.astype(np.int64), numbers.values
    )


@pytest.fixture(scope="module")
def model(ratings):
    return rf.ALS(rank=4, passes=3).fit(ratings)


def frame_of(spark, ratings):
    return spark.createDataFrame(ratings.to_frame("pyarrow"))


def test_predictions_are_those_of_the_model_also_for_ids_it_does_not_know(make_frame, model):
    rows = [("user 3", 5), ("user 3", 10**12), ("nobody", 5), ("nobody", 10**12)]
    frame = make_frame(rows, ["user", "item"])
    found = rankfill.spark.predict(model, frame).toArrow().to_pylist()
    expected = model.predict([row[0] for row in rows], [row[1] for row in rows])
    assert [row["prediction"] for row in found] == expected.tolist()
    assert np.isfinite(expected).all()


def test_errors_are_those_of_the_predictions(spark, model):
    test = rf.Ratings.from_arrays(["user 1", "user 2", "nobody"], [1, 2, 3], [5.0, 1.0, 3.0])
    found = rankfill.spark.evaluate(model, frame_of(spark, test))
    assert found["mae"] == pytest.approx(np.abs(_predict_ratings(model, test) - test.values).mean(), rel=1e-6)
    assert found["rmse"] == pytest.approx(
        np.sqrt(np.square(_predict_ratings(model, test) - test.values).mean()), rel=1e-6
    )
    assert found["nmae"] == pytest.approx(100 * found["mae"] / test.values.mean(), rel=1e-6)


def test_measures_of_lists_are_those_of_one_machine(spark, model, ratings, monkeypatch):
    monkeypatch.setattr(rankfill.spark.evaluating, "RATINGS_OF_BLOCK", 600)  # some blocks
    liked = "above-user-mean"
    drawn = rf.synthetic.low_rank(70, 45, n_ratings=400, seed=9)  # with users and items that the model does not know
    users = [f"user {user}" for user in drawn.user_indices]
    known = set(zip(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices), strict=True))
    new = [pair not in known for pair in zip(users, drawn.item_indices.tolist(), strict=True)]
    test = rf.Ratings.from_arrays(np.array(users)[new], drawn.item_indices[new], drawn.values[new])
    scores = ["rmse", "top5", "ndcg@3", "precision", "recall@5", "map", "auc", "coverage", "coverage@2", "novelty"]
    expected = rf.evaluate(model, test, liked=liked, scores=scores)
    fitted = rankfill.spark.fit(rf.ALS(rank=4, passes=3), frame_of(spark, ratings))  # who knows nobody's ratings
    found = rankfill.spark.evaluate(
        fitted, frame_of(spark, test), seen=frame_of(spark, ratings), liked=liked, scores=scores
    )
    assert list(found) == scores
    assert found == pytest.approx(expected, rel=1e-12)
    assert all(value > 0 for value in found.values())


def test_measures_of_lists_need_what_users_have_seen(spark, model, ratings):
    frame = frame_of(spark, ratings.select(np.arange(len(ratings)) < 30))
    with pytest.raises(ValueError, match=r"ndcg need what users have rated in training.*: seen="):
        rankfill.spark.evaluate(model, frame, scores=["rmse", "ndcg"])
    with pytest.raises(ValueError, match="found 'ndgc'"):
        rankfill.spark.evaluate(model, frame, scores=["ndgc"])
    with pytest.warns(UserWarning, match="learned from 30 of the 30 test ratings"):
        rankfill.spark.evaluate(model, frame, seen=frame, scores=["recall"])


def _predict_ratings(model, test):
    return model.predict(test.users.ids(test.user_indices), test.items.ids(test.item_indices))


@pytest.mark.parametrize("unseen", [True, False])
def test_lists_are_those_of_the_model(spark, model, ratings, unseen):
    found = rankfill.spark.recommend(model, frame_of(spark, ratings), 4, item="item" if unseen else None)
    lists = {row["user"]: row for row in found.toArrow().to_pylist()}
    expected = model.recommend(ratings.users.ids(), 4, exclude_seen=unseen)
    assert len(lists) == ratings.n_users
    for user, items, scores in zip(ratings.users.ids(), expected.items, expected.scores, strict=True):
        assert lists[user]["items"] == items.tolist()
        assert lists[user]["scores"] == scores.tolist()


def test_newcomers_get_the_list_of_the_mean_user(make_frame, model):
    frame = make_frame([("nobody",), ("nobody",)], ["user"])
    (row,) = rankfill.spark.recommend(model, frame, 3).toArrow().to_pylist()
    assert row["items"] == model.recommend("nobody", 3).items[0].tolist()


def test_a_model_of_the_cluster_saves_folds_in_and_goes_on(spark, ratings, tmp_path):
    model = rankfill.spark.fit(rf.PassiveAggressive(rank=3, C=0.1, passes=2), frame_of(spark, ratings))
    model.save(tmp_path / "m.rankfill")
    again = rf.load(tmp_path / "m.rankfill")
    assert again.predict("user 3", [5]) == model.predict("user 3", [5])
    assert again.recommend("user 3", 2, exclude_seen=False).items.shape == (1, 2)
    newcomer = rf.Ratings.from_arrays(["new"], [5], [4.0])
    assert again.fold_in(newcomer).shape == (1, 3)
    assert again.partial_fit(newcomer).n_ratings_ == len(ratings) + 1
    with pytest.raises(ValueError, match="exclude_seen=False"):
        model.recommend("user 3", 2)
