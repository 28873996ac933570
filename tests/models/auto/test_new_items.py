"""Features given to Auto: items and users without ratings get predictions and places in lists."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import rankfill as rf


@pytest.fixture(scope="module")
def ratings():
    """People who like one of two genres, rate it high and choose it more often; item 5 is of the first genre."""
    random = np.random.default_rng(0)
    users, items = np.nonzero(random.random((120, 40)) < 0.3)
    loves = (users + items) % 2 == 0
    keep = loves | (random.random(len(users)) < 0.4)
    users, items, loves = users[keep], items[keep], loves[keep]
    values = np.clip(np.round(1.8 + 2.5 * loves + 0.4 * random.normal(size=len(users))), 1, 5)
    return rf.Ratings.from_arrays(users, items, values)


@pytest.fixture(scope="module")
def films(ratings):
    """Those rated, but for one of which nothing is known, and two that nobody has rated."""
    ids = [each for each in [*range(40), 100, 101] if each != 7]
    return rf.Features.from_table(ids, {"genre": [("even", "odd")[each % 2] for each in ids]})


@pytest.fixture(scope="module")
def model(ratings, films):
    return rf.Auto(seconds=5).fit(ratings, item_features=films)


@pytest.fixture(scope="module", params=["ItemRegression", "Popularity", "ALS", "one for both"])
def any_model(request, ratings, films):
    """With each recommender, as if it had been chosen."""
    made = rf.Auto(seconds=1).fit(ratings)
    made.predictor_ = made.recommender_ = rf.ALS(rank=2, penalty=1.0).fit(ratings)
    if request.param != "one for both":
        settings = {"ItemRegression": {"penalty": 20.0}, "ALS": {"feedback": "implicit", "rank": 4}}
        part = rf.MODELS[{"ItemRegression": "item-regression"}.get(request.param, request.param.lower())]
        made.recommender_, made._learns = part(**settings.get(request.param, {})).fit(ratings), "all"
    made._learn_features({"item": films})
    made._renew_view()
    return made


def test_a_new_item_is_predicted_by_the_predictor(any_model):
    model = any_model
    new = model.predict([0, 1], [100, 100])
    assert new[0] > new[1] + 0.3  # even users love even items
    np.testing.assert_array_equal(new, model.predictor_.predict([0, 1], [100, 100]))
    assert model.predict(0, 100) == new[0]
    assert model.predict_all([0]).shape == (1, 42)


def test_scores_of_new_items_are_a_ridge_regression_of_the_other_scores(any_model, ratings, films):
    part, items = any_model.recommender_, any_model.items_
    if part.takes_features:
        return
    found = any_model.recommend([3, 4], n=2, items=[100, 101])
    counts = np.bincount(ratings.item_indices)
    known = np.arange(40) != 7
    weights = counts[known] / (counts[known] + 10 * counts[known].mean())
    inputs = films.aligned(items).toarray().astype(np.float64)
    scores = part.predict_all([3, 4]).T[known].astype(np.float64)
    oracle = Ridge(alpha=any_model._guessed.penalty, tol=1e-12)
    oracle.fit(inputs[:40][known], scores, sample_weight=weights)
    expected = np.clip(oracle.predict(inputs[40:]), scores.min(axis=0), scores.max(axis=0)).T
    by_id = np.take_along_axis(found.scores, np.argsort(found.items, axis=1), axis=1)
    np.testing.assert_allclose(by_id, expected, rtol=1e-4, atol=1e-6)


def test_lists_are_those_of_all_scores_together(any_model):
    everything = any_model.recommend([2, 5], n=42, exclude_seen=False)
    assert everything.items.shape == (2, 42)
    assert (np.sort(everything.items, axis=1) == np.sort(any_model.items_.ids())).all()
    short = any_model.recommend([2, 5], n=6, exclude_seen=False)
    if not any_model.recommender_.predicts_ratings:  # else rarely rated items come last
        assert (np.diff(everything.scores, axis=1) <= 0).all()
        np.testing.assert_array_equal(short.items, everything.items[:, :6])
    assert 100 not in any_model.recommend(2, n=42, exclude=[100]).items
    assert 100 not in any_model.recommend(2, n=42, min_ratings=1).items
    assert set(any_model.recommend(2, n=5, items=[100, 101], diversify=0.5).items[0, :2].tolist()) == {100, 101}


def test_newcomers_get_new_items(any_model, ratings):
    theirs = ratings.of_users([2, 5])
    found = any_model.recommend(theirs, n=2, items=[100, 101])
    assert set(found.items[0].tolist()) == {100, 101}
    assert np.isfinite(found.scores).all()
    everything = any_model.recommend(theirs, n=42).items
    assert not set(theirs.of_users(2).items.ids().tolist()) & set(everything[0].tolist())


def test_new_items_of_one_call_leave_the_model_alone(any_model, films):
    before = any_model.recommend([2, 5], n=5)
    new = rf.Features.from_table([900, 901], {"genre": ["even", "odd"]}, like=films)
    found = any_model.recommend([2, 5], n=2, items=[900, 901], new_items=new)
    assert found.items.tolist() == [[900, 901], [901, 900]] or type(any_model.recommender_) is rf.Popularity
    assert 900 not in any_model.items_
    after = any_model.recommend([2, 5], n=5)
    np.testing.assert_array_equal(before.items, after.items)
    np.testing.assert_array_equal(before.scores, after.scores)
    assert 900 in any_model.recommend(2, n=60, new_items=new, min_ratings=1).items


def test_a_file_gives_the_same_answers(any_model, tmp_path, films):
    any_model.save(tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    new = rf.Features.from_table([900], {"genre": ["even"]}, like=films)
    for asked in ({}, {"items": [100, 101]}, {"new_items": new}):
        one, other = (each.recommend([2, 5, 9999], n=8, **asked) for each in (any_model, loaded))
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(any_model.predict([2, 3], [100, 1]), loaded.predict([2, 3], [100, 1]))


def test_more_items_can_be_added(ratings, films):
    model = rf.Auto(seconds=1).fit(ratings, item_features=films)
    model.add_features(item_features=rf.Features.from_table([900, 100], {"genre": ["odd", "odd"]}, like=films))
    assert len(model.items_) == 43
    assert model.predict(1, 900) > model.predict(0, 900)
    assert set(model.recommend(1, n=2, items=[900, 100]).items[0].tolist()) == {900, 100}
    assert model.similar_items(3, n=43).ids.shape == (1, 43)
    assert model.explain(1, 900).score == pytest.approx(float(model.predict(1, 900)), rel=1e-5)
    model.forget([5])
    assert set(model.recommend(1, n=2, items=[900, 100]).items[0].tolist()) == {900, 100}


def test_users_without_ratings_get_answers_from_their_features(ratings, films):
    people = rf.Features.from_table([*range(120), 7000], {"job": [("cook", "nurse")[each % 2] for each in range(121)]})
    model = rf.Auto(seconds=1).fit(ratings, item_features=films, user_features=people)
    assert model.predict(7000, 100) > model.predict(7000, 101)
    assert len(model.recommend(7000, n=3).items[0]) == 3
    with pytest.raises(ValueError, match="has not learned from features of users"):
        rf.Auto(seconds=1).fit(ratings, item_features=films).add_features(user_features=people)


def test_choices_are_those_made_without_features(model, ratings):
    without = rf.Auto(seconds=5).fit(ratings)
    assert [(each.model, each.error, each.ndcg) for each in without.choices_] == [
        (each.model, each.error, each.ndcg) for each in model.choices_
    ]
    with pytest.raises(ValueError, match="has not learned from features of items"):
        without.recommend(1, new_items=rf.Features.from_table([900], {"genre": ["odd"]}))
