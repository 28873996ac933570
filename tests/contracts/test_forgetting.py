"""Forgetting: who was forgotten is unknown, nothing of them is in a file, and the others stay as they were."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.tensors import read_tensors


def without(ratings, users):
    return ratings.of_users(np.setdiff1d(ratings.users.ids(), users))


def test_the_forgotten_are_as_unknown_users(model, ratings, fresh):
    model = fresh(model, clip=False).fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    gone, stay = users[[0, 5, 16]], np.delete(users, [0, 5, 16])
    before = model.predict(stay[:, None], items)
    assert model.forget(gone) is model
    assert model.users_.ids().tolist() == stay.tolist()
    np.testing.assert_array_equal(model.predict(gone[:, None], items), np.tile(model.predict(-5, items), (3, 1)))
    np.testing.assert_array_equal(model.recommend(gone[0], n=7).items, model.recommend(-5, n=7).items)
    left = without(ratings, gone)
    assert model.n_ratings_ == len(left)
    assert model.mean_ == pytest.approx(left.mean(), rel=1e-6)
    counts = dict(zip(left.items.ids().tolist(), left.by_item.counts().tolist(), strict=True))
    assert model._view()._item_counts.array.tolist() == [counts.get(item, 0) for item in items.tolist()]
    assert model.range_ == tuple(ratings.scale())
    if not isinstance(model, rf.NearestNeighbors | rf.Popularity | rf.Auto):  # these learn anew from the others
        np.testing.assert_allclose(model.predict(stay[:, None], items), before, rtol=1e-6, atol=1e-6)
    seen = {user: set(left.items.ids(left.item_indices[left.user_indices == row])) for row, user in enumerate(stay)}
    for user, listed in zip(stay, model.recommend(stay, n=7).items, strict=True):
        assert set(listed[listed != -1]) == {item for item in items if counts.get(item)} - seen[user]


def _axes(tensors, n_users):
    """Where a tensor has one row per user, or one more."""
    return [
        (name, axis)
        for name, tensor in tensors.items()
        for axis, n in enumerate(tensor.shape)
        if n in (n_users, n_users + 1)
    ]


def test_a_file_holds_nothing_of_the_forgotten(model, named_ratings, tmp_path):
    model.fit(named_ratings).save(tmp_path / "before")
    model.forget("päivi 3").save(tmp_path / "m")
    assert "päivi 3".encode() not in (tmp_path / "m").read_bytes()
    (before, _), (tensors, _) = (read_tensors(tmp_path / name) for name in ("before", "m"))
    n_users = len(named_ratings.users)
    assert len(model.users_) == n_users - 1
    assert not {n_users, n_users + 1} & {len(named_ratings.items), len(named_ratings.items) + 1}
    shorter = [tensors[name].shape[axis] for name, axis in _axes(before, n_users)]
    # A row for each user, or one more: bounds, and the row that stands in for the unknown.
    assert shorter == [before[name].shape[axis] - 1 for name, axis in _axes(before, n_users)]
    assert len(shorter) >= 3
    loaded = rf.load(tmp_path / "m")
    users, items = named_ratings.users.ids(), named_ratings.items.ids()
    np.testing.assert_array_equal(loaded.predict(users[:, None], items), model.predict(users[:, None], items))
    np.testing.assert_array_equal(loaded.recommend(users, n=3).items, model.recommend(users, n=3).items)


def test_forgetting_nobody_changes_nothing_and_everybody_is_refused(model, ratings):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    before = model.predict(users[:, None], items)
    for nobody in (-5, [], [-5, 10**9]):
        model.forget(nobody)
    np.testing.assert_array_equal(model.predict(users[:, None], items), before)
    with pytest.raises(ValueError, match="all 17 users are to be forgotten, which leaves no model; delete it instead"):
        model.forget(users)


def test_a_model_without_history_says_that_it_cannot(model, ratings, tmp_path):
    model.fit(ratings).save(tmp_path / "m", history=False)
    with pytest.raises(ValueError, match="saved without what users have rated"):
        rf.load(tmp_path / "m").forget(ratings.users.ids()[0])


def test_an_incremental_model_goes_on_without_the_forgotten(incremental_model, ratings, tmp_path):
    users, items = ratings.users.ids(), ratings.items.ids()
    for begin in (incremental_model.fit, incremental_model.partial_fit):
        begin(ratings)
        incremental_model.learn_one(users[1], items[0], 3.0).learn_one(users[1], items[0], 4.0)
        incremental_model.forget(users[1])
        incremental_model.save(tmp_path / "m")
        for model in (incremental_model, rf.load(tmp_path / "m")):
            model.learn_one(users[2], items[1], 2.0).learn_one(users[1], items[1], 4.0).learn_one(10**6, 10**6, 3.0)
            assert np.isfinite(model.predict(users[:, None], items)).all()
            assert model._view()._item_counts.array.sum() == model._view()._user_counts.array.sum() == model.n_ratings_


def test_threads_that_read_see_the_model_before_or_after(model, ratings):
    model.fit(ratings)
    view, gone = model._view(), ratings.users.ids()[3]
    before = view.predict(gone, ratings.items.ids())
    model.forget(gone)
    np.testing.assert_array_equal(view.predict(gone, ratings.items.ids()), before)
