"""Recommendations: n a user or padded, best first, nothing seen, nothing never rated."""

import numpy as np
import pytest

import rankfill as rf


def test_exactly_n_best_first_and_never_a_seen_item(model, ratings):
    model.fit(ratings)
    users = ratings.users.ids()
    best = model.recommend(users, n=3)
    assert best.items.shape == best.scores.shape == (17, 3)
    for row, (items, scores) in enumerate(zip(best.items, best.scores, strict=True)):
        seen = set(ratings.items.ids(ratings.item_indices[ratings.user_indices == row]).tolist())
        filled = items[items != -1]
        assert len(filled) == min(3, 7 - len(seen))
        assert not seen & set(filled.tolist())
        assert len(set(filled.tolist())) == len(filled)
        assert (np.diff(scores[: len(filled)]) <= 0).all()
        assert np.isnan(scores[len(filled) :]).all()
        assert (items[len(filled) :] == -1).all()


def test_recommended_are_those_with_the_highest_predictions(model, ratings, fresh):
    model = fresh(model, clip=False).fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    predicted = model.predict(users[:, None], items)
    best = model.recommend(users, n=7, exclude_seen=False)
    assert (np.sort(best.items, axis=1) == items).all()
    np.testing.assert_allclose(best.scores, -np.sort(-predicted, axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(best.scores, model.predict(users[:, None], best.items), rtol=1e-5, atol=1e-6)


def test_exclude_seen_is_the_only_difference_it_makes(model, ratings):
    model.fit(ratings)
    for user in ratings.users.ids():
        everything = model.recommend(user, n=7, exclude_seen=False).items[0]
        unseen = model.recommend(user, n=7).items[0]
        left = unseen[unseen != -1]
        assert len(left) < len(everything)
        np.testing.assert_array_equal(everything[np.isin(everything, left)], left)


def test_equal_scores_go_by_the_order_of_the_items(model):
    """Items rated alike by the same people cannot be told apart by a model that starts them alike."""
    dense = np.full((5, 40), np.nan)
    dense[:4] = 3.0
    dense[4, 0] = 3.0
    model.fit(rf.Ratings.from_dense(dense))
    scores = model.recommend(4, n=39).scores[0]
    items = model.recommend(4, n=39).items[0]
    for first, second in zip(range(38), range(1, 39), strict=True):
        assert scores[first] > scores[second] or items[first] < items[second]


def test_padding_among_strings_is_none(model, named_ratings):
    model.fit(named_ratings)
    best = model.recommend("päivi 3", n=9)
    padding = best.items[0] == None  # noqa: E711
    assert padding.any()
    assert np.isnan(best.scores[0][padding]).all()
    assert all(isinstance(item, str) for item in best.items[0][~padding])


def test_one_user_many_users_the_same_twice_and_none(model, ratings):
    model.fit(ratings)
    first, second = ratings.users.ids()[:2]
    one, many = model.recommend(first, n=2), model.recommend([first, second, first], n=2)
    np.testing.assert_array_equal(many.items[[0, 2]], np.repeat(one.items, 2, axis=0))
    np.testing.assert_array_equal(many.scores[[0]], one.scores)
    assert model.recommend([], n=2).items.shape == (0, 2)


def test_unknown_user_gets_what_the_prediction_for_unknown_users_ranks_first(model, ratings, fresh):
    model = fresh(model, clip=False).fit(ratings)
    best = model.recommend([-5], n=7)
    assert sorted(best.items[0].tolist()) == ratings.items.ids().tolist()
    np.testing.assert_allclose(best.scores[0], model.predict(-5, best.items[0]), rtol=1e-5, atol=1e-6)
    assert (np.diff(best.scores[0]) <= 0).all()


def test_n_beyond_the_number_of_items_is_padded(model, ratings):
    model.fit(ratings)
    best = model.recommend(ratings.users.ids()[0], n=50, exclude_seen=False)
    assert (best.items[0] != -1).sum() == 7
    assert np.isnan(best.scores[0, 7:]).all()


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_n_below_one_is_refused_in_words(model, ratings, n):
    model.fit(ratings)
    with pytest.raises(ValueError, match=rf"n must be a whole number of at least 1, found {n}"):
        model.recommend(1000, n=n)


def test_rarely_rated_items_are_left_out_on_request(model, ratings):
    model.fit(ratings)
    counts = dict(zip(ratings.items.ids().tolist(), ratings.by_item.counts().tolist(), strict=True))
    least = sorted(counts.values())[3]
    common = {item for item, count in counts.items() if count >= least}
    assert 0 < len(common) < len(counts)
    best = model.recommend(ratings.users.ids(), n=7, exclude_seen=False, min_ratings=least).items
    assert all(set(row[row != -1].tolist()) == common for row in best)
    with pytest.raises(ValueError, match="min_ratings must be a whole number of at least 1, found 0"):
        model.recommend(ratings.users.ids(), min_ratings=0)
