"""Models that learn from a store learn the same bits from it as from memory; the others refuse it in words."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.store import rows
from rankfill.models.base.state import Parts, pack, snapshot

from .conftest import RATING_MODELS, of_ratings


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and pieces of a few rows."""
    monkeypatch.setattr(rows, "BLOCK", 30)
    monkeypatch.setattr("rankfill.kernels.rows.PIECE", 20)
    monkeypatch.setattr("rankfill.data.ratings.entries.PIECE", 20)


def learned(model):
    parts = Parts({}, {})
    for name, value in snapshot(model).items():
        pack(name, value, parts)
    return parts


def same(mine, theirs):
    for name, array in learned(theirs).tensors.items():
        np.testing.assert_array_equal(learned(mine).tensors[name], array, err_msg=name)
    assert learned(mine).words == learned(theirs).words
    assert [(report.objective, report.train, report.validation) for report in mine.history_] == [
        (report.objective, report.train, report.validation) for report in theirs.history_
    ]


FROM_STORE = [name for name in sorted(rf.MODELS) if rf.MODELS[name].learns_from_store]


def test_the_models_that_have_to_learn_from_a_store():
    assert {"passive-aggressive", "sgd", "als", "bias", "broyden", "coordinate-descent"} <= set(FROM_STORE)


@pytest.mark.parametrize("name", FROM_STORE)
@pytest.mark.parametrize("which", ["ratings", "named_ratings"])
def test_a_store_teaches_the_same_bits_as_memory(name, which, request, tmp_path, small_blocks):
    ratings = request.getfixturevalue(which)
    train, test = rf.split(ratings, 0.3)
    store = rf.store_ratings(train, tmp_path / "train.store")
    mine, theirs = (of_ratings(name).fit(data, validation=test) for data in (store, train))
    same(mine, theirs)
    held_out = rf.store_ratings(test, tmp_path / "test.store")
    assert rf.evaluate(mine, held_out, n=3) == pytest.approx(rf.evaluate(theirs, test, n=3), abs=0, nan_ok=True)
    everybody = ratings.users.ids()
    np.testing.assert_array_equal(mine.recommend(everybody, 3).items, theirs.recommend(everybody, 3).items)


@pytest.mark.parametrize("name", FROM_STORE)
def test_a_part_of_a_store_teaches_and_tests_as_one_in_memory(name, ratings, other_ratings, tmp_path, small_blocks):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    parts, expected = rf.split(store, 0.3), rf.split(ratings, 0.3)
    mine, theirs = (of_ratings(name).fit(train, validation=test) for train, test in (parts, expected))
    same(mine, theirs)
    assert rf.evaluate(mine, parts[1], n=3) == pytest.approx(rf.evaluate(theirs, expected[1], n=3), abs=0, nan_ok=True)
    everybody = ratings.users.ids()
    np.testing.assert_array_equal(mine.recommend(everybody, 3).items, theirs.recommend(everybody, 3).items)
    np.testing.assert_array_equal(mine.recommend(everybody[4], 3).items, theirs.recommend(everybody[4], 3).items)
    np.testing.assert_array_equal(mine.recommend(parts[1], 3).items, theirs.recommend(expected[1], 3).items)
    np.testing.assert_array_equal(mine.fold_in(parts[1]), theirs.fold_in(expected[1]))
    mine.save(tmp_path / "m.rankfill")
    same(rf.load(tmp_path / "m.rankfill"), theirs)
    if hasattr(mine, "partial_fit"):
        same(mine.partial_fit(other_ratings), theirs.partial_fit(other_ratings))


@pytest.mark.parametrize("name", sorted(set(RATING_MODELS) - set(FROM_STORE)))
def test_other_models_say_what_to_do(name, ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    for on_disk in (store, rf.split(store, 0.3)[0]):
        with pytest.raises(ValueError, match=r"needs all ratings in memory.*fit\(store.load\(\)\)"):
            of_ratings(name).fit(on_disk)
        of_ratings(name).fit(on_disk.load())


@pytest.mark.parametrize("name", FROM_STORE)
def test_a_model_is_saved_and_goes_on_after_a_store(name, ratings, other_ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    mine, theirs = (of_ratings(name).fit(data) for data in (store, ratings))
    mine.save(tmp_path / "m.rankfill")
    same(rf.load(tmp_path / "m.rankfill"), theirs)
    if hasattr(mine, "partial_fit"):
        mine.partial_fit(other_ratings)
        theirs.partial_fit(other_ratings)
        same(mine, theirs)


def test_a_fit_from_a_store_goes_on_from_its_checkpoint(ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    whole = rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(store)
    folder = tmp_path / "checkpoint"
    rf.PassiveAggressive(rank=3, passes=3, tol=None).fit(store, checkpoint=folder, every=3)
    same(rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(store, checkpoint=folder, every=3), whole)
    other = rf.store_ratings(ratings.select(np.arange(len(ratings)) > 0), tmp_path / "other.store")
    with pytest.raises(ValueError, match="of a fit with other ratings"):
        rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(other, checkpoint=folder, every=3)


def test_a_fit_from_a_part_goes_on_from_its_checkpoint(ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    whole = rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(rf.split(store, 0.3)[0])
    told = {"checkpoint": tmp_path / "checkpoint", "every": 3}
    rf.PassiveAggressive(rank=3, passes=3, tol=None).fit(rf.split(store, 0.3)[0], **told)
    same(rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(rf.split(store, 0.3)[0], **told), whole)
    with pytest.raises(ValueError, match="of a fit with other ratings"):
        rf.PassiveAggressive(rank=3, passes=6, tol=None).fit(rf.split(store, 0.3, seed=1)[0], **told)


@pytest.fixture(params=["store", "part"])
def twice(request, ratings, tmp_path, small_blocks):
    """The same ratings on disk and in memory."""
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    return (store, ratings) if request.param == "store" else (rf.split(store, 0.2)[0], rf.split(ratings, 0.2)[0])


def test_cross_validation_and_tuning_find_the_same(twice):
    errors = [rf.cross_validate(rf.ALS(rank=2, passes=2), each, 3).errors for each in twice]
    np.testing.assert_array_equal(*errors)
    errors = [rf.cross_validate(rf.PassiveAggressive(rank=2), each, 3, measure="ndcg@3").errors for each in twice]
    np.testing.assert_array_equal(*errors)
    grid = {"penalty": [0.1, 1.0]}
    found = [rf.tune(rf.ALS(rank=2, passes=2), each, grid=grid, folds=2) for each in twice]
    assert found[0].best_params == found[1].best_params
    np.testing.assert_array_equal(*([trial.errors for trial in each.trials] for each in found))
    same(*(each.best_model for each in found))
    with pytest.raises(ValueError, match=r"needs all ratings in memory.*fit\(store.load\(\)\)"):
        rf.cross_validate(rf.SoftImpute(), twice[0], 3)


def in_memory(ratings):
    return ratings if type(ratings) is rf.Ratings else ratings.load()


READERS = {
    "to_frame": lambda ratings: ratings.to_frame("pandas").to_dict(),
    "to_sparse": lambda ratings: ratings.to_sparse().toarray(),
    "describe": lambda ratings: ratings.describe(),
    "shifted": lambda ratings: ratings.shifted().values,
    "filter": lambda ratings: ratings.filter(min_user=3).values,
    "of_users": lambda ratings: ratings.of_users(ratings.users.ids()[:3]).values,
    "of_items": lambda ratings: ratings.of_items(ratings.items.ids()[:3]).values,
    "select": lambda ratings: ratings.select(ratings.values > 3).values,
    "concat": lambda ratings: rf.Ratings.concat([ratings]).values,
    "stream_order": lambda ratings: np.sort(ratings.stream_order()),
    "sample_submatrix": lambda ratings: rf.sample_submatrix(ratings, 0.9, 1).values,
    "with_values": lambda ratings: ratings.with_values(np.negative).values,
    "certificate": lambda ratings: rf.certificate(rf.SoftImpute(penalty=1.0).fit(in_memory(ratings)), ratings).gap,
    "topics": lambda ratings: repr(rf.topics(rf.PassiveAggressive(rank=2, C=0.1).fit(ratings), n=2)),
    "accepted": lambda ratings: rf.as_ratings(ratings).mean(),
}


@pytest.mark.parametrize("name", sorted(READERS))
def test_whatever_reads_ratings_reads_them_on_disk(name, twice):
    mine, theirs = map(READERS[name], twice)
    if isinstance(mine, np.ndarray):
        np.testing.assert_array_equal(mine, theirs)
    else:
        assert mine == pytest.approx(theirs, rel=1e-12) if isinstance(mine, float) else mine == theirs


def test_streams_tuning_and_cross_validation_take_a_store(ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    assert rf.cross_validate_stream(rf.SGD(rank=2), store, folds=3).error > 0
    result = rf.tune(rf.ALS(rank=2, passes=2), store, grid={"penalty": [0.1, 1.0]}, folds=2)
    expected = rf.tune(rf.ALS(rank=2, passes=2), ratings, grid={"penalty": [0.1, 1.0]}, folds=2)
    assert result.best_params == expected.best_params
    assert rf.as_ratings(tmp_path / "ratings.store") == ratings
