"""Means and effects against dense NumPy, by definition."""

import numpy as np
import pytest

import rankfill as rf

EFFECTS = ("none", "items", "users", "both")


@pytest.fixture
def dense():
    """9 users by 5 items; the last user and the third item without ratings, an observed zero among them."""
    rng = np.random.default_rng(0)
    ratings = np.where(rng.random((9, 5)) < 0.6, rng.integers(0, 11, (9, 5)) / 2, np.nan)
    ratings[0, 0], ratings[8], ratings[:, 2] = 0.0, np.nan, np.nan
    return ratings


def by_definition(dense, effects, shrinkage):
    """r̂ of every pair, straight from the formulas of the module, one user and one item at a time."""
    mean = np.nanmean(dense)
    n_users, n_items = dense.shape
    item_level = np.full(n_items, mean)
    for i in range(n_items):
        seen = dense[~np.isnan(dense[:, i]), i]
        if effects in ("items", "both") and len(seen):
            item_level[i] = (shrinkage * mean + seen.sum()) / (shrinkage + len(seen))
    predicted = np.empty(dense.shape)
    for u in range(n_users):
        rated = ~np.isnan(dense[u])
        deviation = 0.0
        if effects in ("users", "both") and rated.any():
            deviation = (dense[u, rated] - item_level[rated]).sum() / (shrinkage + rated.sum())
        predicted[u] = item_level + deviation
    return predicted


@pytest.mark.parametrize("shrinkage", [0.0, 2.5, 5])
@pytest.mark.parametrize("effects", EFFECTS)
def test_effects_are_those_of_the_definition(dense, effects, shrinkage):
    model = rf.Bias(effects=effects, shrinkage=shrinkage, clip=False).fit(rf.Ratings.from_dense(dense))
    predicted = model.predict(np.arange(9)[:, None], np.arange(5))
    np.testing.assert_allclose(predicted, by_definition(dense, effects, shrinkage), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("effects", EFFECTS)
def test_a_prediction_is_the_mean_and_both_effects(dense, effects):
    model = rf.Bias(effects=effects, clip=False).fit(rf.Ratings.from_dense(dense))
    parts = model.mean_ + model.user_effects_[:, None] + model.item_effects_
    np.testing.assert_allclose(parts, by_definition(dense, effects, 5.0), rtol=1e-5, atol=1e-6)
    assert not model.user_effects_[8]
    assert not model.item_effects_[2]
    if effects in ("none", "items"):
        assert not model.user_effects_.any()
    if effects in ("none", "users"):
        assert not model.item_effects_.any()


def test_shrunken_mean_of_a_user_is_the_formula_of_the_slides(dense):
    """b̃_u = α/(α+|I(u)|) b + |I(u)|/(α+|I(u)|) b_u."""
    model = rf.Bias(effects="users", shrinkage=3.0, clip=False).fit(rf.Ratings.from_dense(dense))
    n, own, overall = (~np.isnan(dense[1])).sum(), np.nanmean(dense[1]), np.nanmean(dense)
    expected = 3 / (3 + n) * overall + n / (3 + n) * own
    np.testing.assert_allclose(model.predict(1, np.arange(5)), expected, rtol=1e-6)


def test_without_effects_everything_is_the_mean_and_with_overwhelming_shrinkage_too(dense):
    ratings = rf.Ratings.from_dense(dense)
    for model in (rf.Bias(effects="none"), rf.Bias(shrinkage=1e30)):
        predicted = model.fit(ratings).predict(np.arange(9)[:, None], np.arange(5))
        np.testing.assert_allclose(predicted, np.nanmean(dense), rtol=1e-6)


@pytest.mark.parametrize("effects", EFFECTS)
def test_unknown_ids_have_no_effect(dense, effects):
    model = rf.Bias(effects=effects, shrinkage=1.0, clip=False).fit(rf.Ratings.from_dense(dense))
    everyone = by_definition(dense, effects, 1.0)
    np.testing.assert_allclose(model.predict(-1, np.arange(5)), everyone[8], rtol=1e-5)
    np.testing.assert_allclose(model.predict(np.arange(9), -1), everyone[:, 2], rtol=1e-5)
    np.testing.assert_allclose(model.predict(-1, -1), np.nanmean(dense), rtol=1e-6)


@pytest.mark.parametrize("effects", EFFECTS)
def test_folding_in_the_training_ratings_gives_their_own_rows(dense, effects):
    ratings = rf.Ratings.from_dense(dense)
    model = rf.Bias(effects=effects).fit(ratings)
    np.testing.assert_array_equal(model.fold_in(ratings), model.user_factors_)


def test_fold_in_shrinks_the_deviation_of_new_people(dense):
    model = rf.Bias(shrinkage=2.0, clip=False).fit(rf.Ratings.from_dense(dense))
    row = model.fold_in(rf.Ratings.from_arrays(["new", "new"], [0, 3], [5.0, 4.0]))
    levels = by_definition(dense, "items", 2.0)[0]
    np.testing.assert_allclose(row, [[1.0, (5 - levels[0] + 4 - levels[3]) / (2 + 2)]], rtol=1e-5)


def test_history_is_one_pass_with_the_squared_error(dense):
    ratings = rf.Ratings.from_dense(dense)
    model = rf.Bias(clip=False).fit(ratings, validation=ratings)
    residual = dense - by_definition(dense, "both", 5.0)
    (report,) = model.history_
    assert report.objective == pytest.approx(np.nansum(residual**2), rel=1e-5)
    assert report.train == pytest.approx(np.sqrt(np.nanmean(residual**2)), rel=1e-5)
    assert report.validation == report.train
    assert report.measure == "rmse"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"effects": "everything"}, "effects must be one of none, items, users, both, found 'everything'"),
        ({"shrinkage": -1.0}, "shrinkage must be zero or a positive number, found -1.0"),
        ({"shrinkage": np.nan}, "shrinkage must be zero or a positive number, found nan"),
        ({"shrinkage": "much"}, "shrinkage must be zero or a positive number, found 'much'"),
    ],
)
def test_settings_are_checked_in_words(dense, settings, words):
    with pytest.raises(ValueError, match=words):
        rf.Bias(**settings).fit(rf.Ratings.from_dense(dense))


def test_negative_ratings_are_welcome(dense):
    model = rf.Bias(clip=False).fit(rf.Ratings.from_dense(dense - 7))
    shifted = rf.Bias(clip=False).fit(rf.Ratings.from_dense(dense))
    pairs = np.arange(9)[:, None], np.arange(5)
    np.testing.assert_allclose(model.predict(*pairs), shifted.predict(*pairs) - 7, atol=1e-5)
