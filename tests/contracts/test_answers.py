"""Predictions by id: shapes, unknown ids, ids of the wrong kind, clipping."""

import numpy as np
import pytest

import rankfill as rf


def test_prediction_has_the_shape_of_the_question(model, ratings):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    assert model.predict(users[0], items[0]).shape == ()
    assert model.predict(users[0], items).shape == (7,)
    assert model.predict(users, items[0]).shape == (17,)
    assert model.predict(users[:7], items).shape == (7,)
    grid = model.predict(users[:, None], items)
    assert grid.shape == (17, 7)
    assert grid.dtype == np.float32
    np.testing.assert_array_equal(model.predict(users[:7], items), np.diagonal(grid))
    assert model.predict([], []).shape == (0,)
    with pytest.raises(ValueError, match="broadcast"):
        model.predict(users[:3], items[:2])


def test_a_user_is_a_user_and_an_item_an_item(rating_model):
    """On a lopsided matrix a mix-up of the two sides cannot hide."""
    users, items = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    ratings = rf.Ratings.from_arrays(users, 100 + items, np.where(items == 0, 1.0, 5.0))
    if "C" in rating_model.get_params():
        rating_model.set_params(C=0.5, passes=10)
    rating_model.fit(ratings)
    predicted = rating_model.predict(np.arange(6)[:, None], [100, 101])
    assert (predicted[:, 1] - predicted[:, 0] > 1).all()


def test_strings_and_numbers_are_ids_alike(model, ratings, fresh):
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    named = rf.Ratings.from_arrays([f"{u:05d}" for u in users], [f"{i:05d}" for i in items], ratings.values)
    numbers, names = fresh(model).fit(ratings), fresh(model).fit(named)
    np.testing.assert_array_equal(
        numbers.predict(users, items), names.predict([f"{u:05d}" for u in users], [f"{i:05d}" for i in items])
    )
    best, named_best = numbers.recommend(users[:3], n=2), names.recommend([f"{u:05d}" for u in users[:3]], n=2)
    assert named_best.items.tolist() == [[f"{i:05d}" for i in row] for row in best.items]


def test_unknown_ids_get_finite_values(model, ratings):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    assert np.isfinite(model.predict(-1, items)).all()
    assert np.isfinite(model.predict(users, -1)).all()
    assert np.isfinite(model.predict(-1, -1))


def test_a_pair_of_unknown_ids_is_predicted_the_mean_rating(rating_model, ratings):
    rating_model.fit(ratings)
    np.testing.assert_array_equal(rating_model.predict([-1, -2], [-5, 999_999]), np.float32(ratings.mean()))


def test_all_unknown_users_are_alike_and_so_are_unknown_items(model, ratings):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    np.testing.assert_array_equal(model.predict(-1, items), model.predict(-2, items))
    np.testing.assert_array_equal(model.predict(users, -1), model.predict(users, -2))


def test_ids_without_ratings_are_as_good_as_unknown(model, ratings, fresh):
    """The last user and the last item, where an index of −1 would point."""
    dense = np.full((18, 8), np.nan)
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    model.fit(rf.Ratings.from_dense(dense))
    np.testing.assert_array_equal(model.predict(17, np.arange(8)), model.predict(-1, np.arange(8)))
    np.testing.assert_array_equal(model.predict(np.arange(18), 7), model.predict(np.arange(18), -1))
    narrow = fresh(model).fit(rf.Ratings.from_dense(dense[:17, :7]))
    np.testing.assert_array_equal(
        model.predict(np.arange(17)[:, None], np.arange(7)), narrow.predict(np.arange(17)[:, None], np.arange(7))
    )


def test_ids_of_the_wrong_kind_are_refused_in_words(model, ratings, named_ratings, fresh):
    numbers, names = fresh(model).fit(ratings), fresh(model).fit(named_ratings)
    with pytest.raises(TypeError, match="the ids known here are numbers, found strings such as 'ann'"):
        numbers.predict("ann", 50)
    with pytest.raises(TypeError, match="the ids known here are strings, found numbers such as"):
        names.predict("päivi 1", 3)
    with pytest.raises(TypeError, match="the ids known here are strings, found numbers"):
        names.recommend([1, 2])
    with pytest.raises(TypeError, match="found None"):
        names.predict(["päivi 1", None], "film №1")
    with pytest.raises(ValueError, match=r"found 1\.5 at row 0"):
        numbers.predict(1.5, 50)
    with pytest.raises(TypeError, match="the ids known here are"):
        numbers.recommend(named_ratings)
    with pytest.raises(TypeError, match="the ids known here are"):
        names.fold_in(ratings)


def test_clip_keeps_predictions_within_the_ratings_seen(rating_model, ratings, fresh):
    free, clipped = fresh(rating_model, clip=False).fit(ratings), fresh(rating_model, clip=True).fit(ratings)
    users, items = np.append(ratings.users.ids(), -1)[:, None], np.append(ratings.items.ids(), -1)
    np.testing.assert_array_equal(
        clipped.predict(users, items), np.clip(free.predict(users, items), ratings.values.min(), ratings.values.max())
    )


def test_clip_shows(rating_model, ratings, fresh):
    """Somewhere a prediction leaves the range, or the test above proves nothing."""
    wild = ratings.with_values(lambda values: np.where(values > 3, 5.0, 0.0))
    settings = {"shrinkage": 0.0} if "shrinkage" in rating_model.get_params() else {}
    free = fresh(rating_model, clip=False, **settings).fit(wild)
    if "C" in free.get_params():
        free = fresh(free, C=5.0, slack="none").fit(wild)
    predicted = free.predict(ratings.users.ids()[:, None], ratings.items.ids())
    assert predicted.max() > 5 or predicted.min() < 0


def test_one_stray_rating_does_not_widen_the_range_of_all_predictions(model, ratings, fresh):
    """A 50 among a thousand ratings of 1 to 5 is a slip of the hand."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(60 * 40)[:1000]
    values = rng.integers(1, 6, 1000).astype(float)
    values[17] = 50.0
    stray = rf.Ratings.from_arrays(pairs // 40, pairs % 40, values)
    fitted = fresh(model).fit(stray)
    assert fitted.range_ == (1.0, 5.0)
    if fitted._clips:
        assert fitted.predict_all().max() <= 5
