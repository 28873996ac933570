"""Features of items and users: answers for what has no ratings, in every model with factors."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import rankfill as rf
from rankfill.models import MODELS


@pytest.fixture
def films(ratings):
    """What is known of the items rated, and of two that nobody has rated yet."""
    ids = np.append(ratings.items.ids(), [500, 501])
    return rf.Features.from_table(
        ids,
        {
            "genres": [("a|b", "b|c", "c")[k % 3] for k in range(len(ids))],
            "year": [1990 + 3 * k % 7 for k in range(len(ids))],
            "colour": [("red", "blue")[k % 2] for k in range(len(ids))],
        },
    )


@pytest.fixture
def people(ratings):
    ids = np.append(ratings.users.ids(), [7000])
    return rf.Features.from_table(ids, {"job": [("cook", "nurse")[k % 2] for k in range(len(ids))]})


def rows_of(model):
    return model._items.array[:, : model._width].astype(np.float64)


def lifts(model, ratings, films):
    """What the choices of the users add to the predictions of items without ratings, by definition."""
    users, items = model._users.array.astype(np.float64), rows_of(model)
    if not model.predicts_ratings:
        return np.zeros((len(users), len(items)))
    rated = np.zeros((len(users), len(items)), bool)
    rated[model.users_.index(ratings.users.ids())[ratings.user_indices], ratings.item_indices] = True
    guesses = model._item_map.rows(films)[films.ids.index(model.items_.ids())]
    above = users[:, : model._width] @ (items - guesses).T
    surplus = np.where(rated, above, 0).sum(axis=0) / np.maximum(rated.sum(axis=0), 1)
    return np.outer(rated @ surplus / (rated.sum(axis=1) + 10), ~rated.any(axis=0))


def test_the_row_of_a_new_item_is_a_ridge_regression_on_its_features(factor_model, ratings, films):
    model = factor_model.fit(ratings, item_features=films)
    rated, rows = model._item_counts.array > 0, rows_of(model)
    counts = model._item_counts.array[rated]
    weights = counts / (counts + 10 * counts.mean())
    inputs = films.aligned(model.items_).toarray().astype(np.float64)
    unit = float(np.mean(weights @ inputs[rated] ** 2))
    oracle = Ridge(alpha=model._item_map.penalty * unit, tol=1e-12)
    oracle.fit(inputs[rated], rows[rated], sample_weight=weights)
    expected = np.clip(oracle.predict(inputs[~rated]).reshape(2, -1), rows[rated].min(axis=0), rows[rated].max(axis=0))
    assert model.items_.ids(np.flatnonzero(~rated)).tolist() == [500, 501]
    own = model._item_map.high > 1e299  # features that are part of the row
    np.testing.assert_allclose(rows[~rated][:, ~own], expected[:, ~own], rtol=1e-4, atol=1e-5 * np.abs(rows).max())
    if own.any():
        np.testing.assert_allclose(rows[~rated][:, own], inputs[~rated], rtol=1e-6)


def test_a_new_item_and_a_new_user_get_answers_of_their_own(factor_model, ratings, films, people, fresh):
    model = factor_model.fit(ratings, item_features=films, user_features=people)
    unclipped = fresh(model, clip=False).fit(ratings, item_features=films, user_features=people)
    users, items = unclipped._users.array.astype(np.float64), unclipped._items.array.astype(np.float64)
    expected = users @ items.T + unclipped.offset_ + lifts(unclipped, ratings, films)
    np.testing.assert_allclose(
        unclipped.predict(unclipped.users_.ids()[:, None], unclipped.items_.ids()[None, :]),
        expected,
        rtol=1e-4,
        atol=1e-4,
    )
    assert model.predict(7000, 500) == model.predict([7000], [500])[0]
    assert model.predict_all([7000])[0, model.items_.row_of(500)] == model.predict(7000, 500)
    plain = fresh(model).fit(ratings)
    assert model.predict(-77, -77) == plain.predict(-77, -77)
    if not model.features_shape_all:
        assert model.predict(-77, [-77, 50]).tolist() == plain.predict(-77, [-77, 50]).tolist()


def test_what_was_learned_from_ratings_stays(factor_model, ratings, films, people, fresh):
    if factor_model.features_shape_all:
        pytest.skip("learns from features and ratings together")
    plain = fresh(factor_model).fit(ratings)
    model = factor_model.fit(ratings, item_features=films, user_features=people)
    users, items = ratings.users.ids(), ratings.items.ids()
    assert (model.predict(users[:, None], items) == plain.predict(users[:, None], items)).all()
    assert (model.fold_in(ratings) == plain.fold_in(ratings)).all()


def test_the_order_of_the_columns_and_of_the_lines_makes_no_difference(factor_model, ratings, films, fresh):
    names = films.names[::-1]
    values = films.matrix.toarray()
    one = rf.Features.from_arrays(films.ids.ids(), values, films.names)
    other = rf.Features.from_arrays(films.ids.ids()[::-1], values[::-1, ::-1], names)
    first, second = (fresh(factor_model).fit(ratings, item_features=each) for each in (one, other))
    users = ratings.users.ids()[:, None]
    assert (first.predict(users, [500, 501, 50]) == second.predict(users, [500, 501, 50])).all()


def test_new_items_are_recommended(factor_model, ratings, films, state):
    model = factor_model.fit(ratings, item_features=films)
    user = ratings.users.ids()[0]
    everything = model.recommend(user, n=99, exclude_seen=False).items[0]
    assert {500, 501} <= set(everything.tolist())
    new = rf.Features.from_table([900], {"genres": ["b|c"], "year": [1991]}, like=films)
    before = state(model)
    found = model.recommend(user, n=99, exclude_seen=False, new_items=new)
    assert set(found.items[0].tolist()) == {*ratings.items.ids().tolist(), 500, 501, 900}
    scores = found.scores[0]
    assert (np.diff(scores) <= 0).all()
    only = model.recommend([user, -77], n=3, items=[900], new_items=new)
    assert (only.items[:, 0] == 900).all()
    assert 900 not in model.items_
    assert state(model) == before
    model.add_features(item_features=new)
    expected = np.clip(scores[found.items[0] == 900], *model.range_)
    assert model.predict([user], [900]) == pytest.approx(expected, rel=1e-5)


def test_a_model_with_features_comes_back_from_its_file(factor_model, ratings, films, people, state, answers, tmp_path):
    model = factor_model.fit(ratings, item_features=films, user_features=people)
    rf.save(model, tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    assert answers(loaded) == answers(model)
    assert state(loaded) == state(model)
    new = rf.Features.from_table([900], {"genres": ["b|c"]}, like=films)
    one, other = (each.add_features(item_features=new).predict(7000, [900, 500]) for each in (model, loaded))
    assert one.tobytes() == other.tobytes()


def test_a_new_item_grows_into_a_row_of_its_own(incremental_model, ratings, films):
    if not hasattr(type(incremental_model), "item_factors_"):
        pytest.skip("has no factors")
    model = incremental_model.fit(ratings, item_features=films)
    place, users = model.items_.row_of(500), ratings.users.ids()
    before, guess = model._items.array[place].copy(), model.predict(users, 500)
    model.partial_fit(rf.Ratings.from_arrays(users, [500] * len(users), np.full(len(users), 5.0)))
    assert model.items_.row_of(500) == place
    assert (model._items.array[place] != before).any()
    assert model.predict(users, 500).mean() > guess.mean()
    model.learn_one(int(users[0]), 501, 4.0)  # the first rating of the other
    model.learn_one(12345, 501, 4.0)
    assert np.isfinite(model.predict(12345, [500, 501, 50])).all()


def test_lists_and_explanations_count_what_the_user_chooses(factor_model, ratings, films, fresh):
    model = fresh(factor_model, clip=False).fit(ratings, item_features=films)
    assert np.abs(lifts(model, ratings, films)).max() > 0 or not model.predicts_ratings
    users = ratings.users.ids()
    found = model.recommend(users, n=99, exclude_seen=False)
    for user, items, scores in zip(users.tolist(), found.items, found.scores, strict=True):
        np.testing.assert_allclose(scores, model.predict(user, items), rtol=1e-5, atol=1e-5)
    reasons = model.explain(int(users[0]), 500)
    assert sum(part.contribution for part in reasons.parts) == pytest.approx(model.predict(users[0], 500), abs=1e-4)


def test_a_newcomer_chooses_as_a_user_does(factor_model, ratings, films, fresh):
    model = fresh(factor_model, clip=False).fit(ratings, item_features=films)
    alone = ratings.select(ratings.user_indices == 0)
    newcomer = model.recommend(alone, n=99, exclude_seen=False)
    place = newcomer.items[0].tolist().index(500)
    row = np.concatenate([model.fold_in(alone)[0], np.zeros(99)])[: model._width].astype(np.float64)
    base = row @ rows_of(model)[model.items_.row_of(500)] + model.offset_
    lift = lifts(model, ratings, films)[model.users_.row_of(ratings.users.ids()[0]), -1]
    assert newcomer.scores[0, place] == pytest.approx(base + lift, rel=1e-4, abs=1e-4)


def test_fitting_again_forgets_the_features(factor_model, ratings, films, answers, fresh):
    again = factor_model.fit(ratings, item_features=films).fit(ratings)
    assert answers(again) == answers(fresh(factor_model).fit(ratings))
    with pytest.raises(ValueError, match="has not learned from features of items"):
        again.add_features(item_features=films)
    with pytest.raises(ValueError, match="fit it with user_features="):
        again.add_features(user_features=films)


def test_features_that_say_nothing_are_refused(factor_model, ratings):
    strangers = rf.Features.from_table([1, 2], {"year": [1, 2]})
    with pytest.raises(ValueError, match="none of the 2 items with features has ratings"):
        factor_model.fit(ratings, item_features=strangers)
    same = rf.Features.from_table(ratings.items.ids(), {"year": [1] * ratings.n_items})
    with pytest.raises(ValueError, match="have no columns to learn from; year is constant"):
        factor_model.fit(ratings, item_features=same)


@pytest.mark.parametrize("name", [name for name, cls in MODELS.items() if not cls.takes_features])
def test_models_without_factors_refuse_features_in_words(name, ratings, films):
    model = MODELS[name]()
    with pytest.raises(TypeError, match="leave item_features out, or use a model with factors, such as ALS"):
        model.fit(ratings, item_features=films)
    with pytest.raises(TypeError, match="leave new_items out, or use a model with factors"):
        model.fit(ratings).recommend(ratings.users.ids()[0], new_items=films)


def test_every_model_with_factors_takes_features():
    assert {name for name, cls in MODELS.items() if cls.takes_features} >= {
        name for name, cls in MODELS.items() if hasattr(cls, "item_factors_")
    }
