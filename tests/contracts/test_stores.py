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


@pytest.mark.parametrize("name", sorted(set(RATING_MODELS) - set(FROM_STORE)))
def test_other_models_say_what_to_do(name, ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    with pytest.raises(ValueError, match=r"needs all ratings in memory.*fit\(store.load\(\)\)"):
        of_ratings(name).fit(store)
    of_ratings(name).fit(store.load())


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


def test_streams_tuning_and_cross_validation_take_a_store(ratings, tmp_path):
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    assert rf.cross_validate_stream(rf.SGD(rank=2), store, folds=3).error > 0
    result = rf.tune(rf.ALS(rank=2, passes=2), store, grid={"penalty": [0.1, 1.0]}, folds=2)
    expected = rf.tune(rf.ALS(rank=2, passes=2), ratings, grid={"penalty": [0.1, 1.0]}, folds=2)
    assert result.best_params == expected.best_params
    assert rf.as_ratings(tmp_path / "ratings.store") == ratings
