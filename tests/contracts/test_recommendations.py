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
    if not model.ranks_by_prediction:
        assert_ratings_stand_beside_the_scores(model, users, best)
        return
    np.testing.assert_allclose(best.scores, -np.sort(-predicted, axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(best.scores, model.predict(users[:, None], best.items), rtol=1e-5, atol=1e-6)


def assert_ratings_stand_beside_the_scores(model, users, best):
    """Checks a model that ranks by something else than its predictions."""
    assert (np.diff(best.scores, axis=1) <= 0).all()
    np.testing.assert_allclose(best.ratings, model.predict(np.array(users)[:, None], best.items), rtol=1e-5, atol=1e-6)


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
    if not model.ranks_by_prediction:
        assert_ratings_stand_beside_the_scores(model, [-5], best)
        return
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


def test_candidates_and_exclusions_choose_among_the_same_list(model, ratings):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items.ids()
    everything = model.recommend(users, n=7).items
    for options, wanted in (
        ({"items": items[[5, 1, 2, 1]]}, items[[1, 2, 5]]),
        ({"exclude": items[[0, 3]]}, np.delete(items, [0, 3])),
        ({"items": items[:4], "exclude": items[2:]}, items[:2]),
        ({"items": [*items[:2].tolist(), 10**6]}, items[:2]),
        ({"items": int(items[4])}, items[4:5]),
        ({"items": []}, items[:0]),
        ({"exclude": []}, items),
    ):
        found = model.recommend(users, n=7, **options).items
        for row, whole in zip(found, everything, strict=True):
            assert row[row != -1].tolist() == whole[np.isin(whole, wanted)].tolist()


def test_newcomers_are_recommended_candidates_alone(model, ratings):
    model.fit(ratings)
    newcomers = rf.Ratings.from_arrays([1, 1, 2], ratings.items.ids()[[0, 1, 2]], [4.0, 2.0, 5.0])
    found = model.recommend(newcomers, n=7, items=ratings.items.ids()[:4], exclude=ratings.items.ids()[3]).items
    assert [sorted(row[row != -1].tolist()) for row in found] == [
        ratings.items.ids()[2:3].tolist(),
        ratings.items.ids()[:2].tolist(),
    ]


def varied(scores, vectors, n, share):
    """Places of the items that maximal marginal relevance picks from one list, by its definition."""
    left = np.flatnonzero(~np.isnan(scores)).tolist()
    spread = np.nanmax(scores) - np.nanmin(scores) if left else 0
    chosen = []
    while left and len(chosen) < n:
        likeness = [max((vectors[i] @ vectors[j] for j in chosen), default=0) for i in left]
        worth = (1 - share) * (scores[left] - np.nanmin(scores)) / (spread or 1) - share * np.array(likeness)
        chosen.append(left.pop(int(np.argmax(np.round(worth, 5))) if chosen else 0))
    return chosen


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_variety_is_what_its_definition_says(model, ratings, share):
    model.fit(ratings)
    users, items = ratings.users.ids(), ratings.items
    pool = model.recommend(users, n=7)
    vectors = model._view()._item_vectors(np.arange(7, dtype=np.int32)).astype(float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    found = model.recommend(users, n=3, diversify=share)
    for row, user in enumerate(users):
        rows = items.index(np.where(pool.items[row] == -1, items.ids()[0], pool.items[row]))
        places = varied(pool.scores[row].astype(float), vectors[rows], 3, share)
        taken = [pool.items[row].tolist().index(item) for item in found.items[row] if item != -1]
        assert len(taken) == len(places)
        if len(np.unique(np.round(vectors[rows] @ vectors[rows].T, 4))) > 2:  # else all are equally alike
            assert taken == places
        np.testing.assert_array_equal(found.scores[row, : len(taken)], pool.scores[row, taken])
        assert np.isnan(found.scores[row, len(taken) :]).all()
        np.testing.assert_array_equal(model.recommend(user, n=3, diversify=share).items[0], found.items[row])


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), "much"])
def test_variety_beyond_its_range_is_refused_in_words(model, ratings, share):
    model.fit(ratings)
    with pytest.raises(ValueError, match="diversify must be a number from 0 to 1, found"):
        model.recommend(1000, diversify=share)


def test_rarely_rated_items_come_last_by_default_where_predictions_are_ratings(model):
    """Forty films that many have rated, and two that one person each has loved."""
    random = np.random.default_rng(0)
    dense = np.where(random.random((60, 42)) < 0.8, random.integers(1, 5, (60, 42)), np.nan)
    dense[:, 40:] = np.nan
    dense[0, 40], dense[1, 41] = 5, 5
    ratings = rf.Ratings.from_dense(dense)
    model.fit(ratings)
    best = model.recommend(ratings.users.ids(), n=42, exclude_seen=False)
    free = model.recommend(ratings.users.ids(), n=42, exclude_seen=False, min_ratings=1)
    if not (model.predicts_ratings and model.ranks_by_prediction):  # lists by scores need no such care
        np.testing.assert_array_equal(best.items, free.items)
        return
    assert (best.items >= 0).all(), "the automatic minimum never shortens a list"
    assert np.isin(best.items[:, 40:], [40, 41]).all()
    for row, whole in zip(best.items, free.items, strict=True):
        assert row.tolist() == [*whole[whole < 40].tolist(), *whole[whole >= 40].tolist()]
