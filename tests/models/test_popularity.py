"""Popularity against counts made by hand, and what time does to them."""

import numpy as np
import pytest

import rankfill as rf

USERS, ITEMS = [1, 1, 1, 2, 2, 3], [10, 20, 30, 10, 20, 10]
VALUES = [5.0, 3.0, 4.0, 2.0, 1.0, 3.0]


def test_an_item_counts_once_for_everybody_who_rated_it_no_lower_than_his_mean():
    model = rf.Popularity().fit(rf.Ratings.from_arrays(USERS, ITEMS, VALUES))
    assert model.popularity_.tolist() == [3.0, 0.0, 1.0]
    np.testing.assert_array_equal(model.predict([1, 99], [10, 10]), [3.0, 3.0])
    assert model.predict(1, 999) == 0


def test_positives_alone_all_count():
    model = rf.Popularity().fit(rf.Ratings.from_arrays(USERS, ITEMS, np.full(6, 0.1)))
    assert model.popularity_.tolist() == [3.0, 2.0, 1.0]
    assert model.recommend(3, n=2).items.tolist() == [[20, 30]]


def test_scores_are_never_clipped():
    users = np.arange(50)
    assert rf.Popularity().fit(rf.Ratings.from_arrays(users, 0 * users, np.full(50, 3.0))).predict(0, 0) == 50


def test_a_rating_counts_half_after_its_half_life():
    days = np.array([0, 10, 20, 20, 10, 30])
    ratings = rf.Ratings.from_arrays(USERS, ITEMS, np.ones(6), days * 86_400)
    model = rf.Popularity(half_life=10).fit(ratings)
    np.testing.assert_allclose(model.popularity_, [1 / 8 + 1 / 2 + 1, 1 / 4 + 1 / 4, 1 / 2])


def test_a_model_with_a_half_life_is_saved_and_loaded(tmp_path):
    ratings = rf.Ratings.from_arrays([0, 1], [0, 1], [1.0, 2.0], timestamps=[0, 86_400])
    model = rf.Popularity(half_life=3).fit(ratings)
    model.save(tmp_path / "m.rankfill")
    np.testing.assert_array_equal(rf.load(tmp_path / "m.rankfill").recommend(0, 2).scores, model.recommend(0, 2).scores)


def test_half_life_without_timestamps_is_refused_in_words():
    ratings = rf.Ratings.from_arrays(USERS, ITEMS, VALUES)
    with pytest.raises(ValueError, match=r"half_life=7 needs .* no timestamps; give them, or leave half_life out"):
        rf.Popularity(half_life=7).fit(ratings)
    with pytest.raises(ValueError, match="half_life must be a positive number, found 0"):
        rf.Popularity(half_life=0).fit(ratings)
