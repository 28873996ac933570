"""Regressions on features: scikit-learn's solution for every user and item, by every solver."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import rankfill as rf

N_USERS, N_ITEMS = 12, 9


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    films = rf.Features.from_arrays(np.arange(N_ITEMS + 1), rng.normal(size=(N_ITEMS + 1, 3)), ["fun", "long", "old"])
    people = rf.Features.from_arrays(np.arange(N_USERS + 1), rng.normal(size=(N_USERS + 1, 2)), ["age", "tall"])
    return films, people


@pytest.fixture
def ratings():
    rng = np.random.default_rng(1)
    dense = np.where(rng.random((N_USERS, N_ITEMS)) < 0.7, rng.integers(1, 6, (N_USERS, N_ITEMS)), np.nan)
    dense[np.arange(N_ITEMS), np.arange(N_ITEMS)] = 3.0
    return rf.Ratings.from_dense(dense)


def ridges(inputs, targets, known, penalty, shrinkage):
    """One regression a row on the inputs and a constant, by scikit-learn."""
    constant = np.sqrt(penalty / shrinkage)
    design = np.hstack([inputs, np.full((len(inputs), 1), constant)])
    found = np.array(
        [
            Ridge(alpha=penalty, fit_intercept=False, solver="cholesky").fit(design[row], values[row]).coef_
            if row.any()
            else np.zeros(design.shape[1])
            for values, row in zip(targets, known, strict=True)
        ]
    )
    found[:, -1] *= constant
    return found


@pytest.mark.parametrize("side", ["users", "items", "both"])
def test_every_row_is_a_ridge_regression(side, ratings, features):
    films, people = features
    model = rf.FeatureRidge(side=side, penalty=2.0, shrinkage=0.5, clip=False).fit(
        ratings, item_features=films, user_features=people
    )
    x = films.matrix.toarray()[:N_ITEMS] if side != "items" else np.zeros((N_ITEMS, 0))
    z = people.matrix.toarray()[:N_USERS] if side != "users" else np.zeros((N_USERS, 0))
    dense = np.full((N_USERS, N_ITEMS), np.nan)
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    known, left = ~np.isnan(dense), np.nan_to_num(dense) - ratings.mean()
    of_items = ridges(z, left.T, known.T, 2.0, 0.5)
    left = left - (z @ of_items[:, :-1].T + of_items[:, -1])
    of_users = ridges(x, left, known, 2.0, 0.5)
    expected = ratings.mean() + np.nan_to_num(dense) * 0
    expected = expected + z @ of_items[:, :-1].T + of_items[:, -1] + of_users[:, :-1] @ x.T + of_users[:, -1:]
    assert model.factor_names_ == [
        *(films.names if side != "items" else []),
        *(people.names if side != "users" else []),
    ]
    np.testing.assert_allclose(model.predict_all(np.arange(N_USERS))[:, :N_ITEMS], expected, atol=1e-4)


@pytest.mark.parametrize("solver", ["sag", "saga", "svrg"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_solver_finds_the_same(solver, loss, ratings, features):
    if loss == "logistic":
        ratings = ratings.with_values(lambda values: np.where(values > 2.5, 1.0, -1.0))
    exact, other = (
        rf.FeatureRidge(loss=loss, solver=each, clip=False).fit(ratings, item_features=features[0])
        for each in ("exact", solver)
    )
    np.testing.assert_allclose(exact.predict_all(), other.predict_all(), atol=2e-5)


@pytest.mark.parametrize("solver", ["sgd", "asgd"])
def test_sgd_comes_near(solver, ratings, features):
    exact, other = (
        rf.FeatureRidge(solver=each, clip=False).fit(ratings, item_features=features[0]) for each in ("exact", solver)
    )
    np.testing.assert_allclose(exact.predict_all(), other.predict_all(), atol=0.1)


def test_the_logistic_loss_is_logistic_regression(ratings, features):
    films = features[0]
    signs = ratings.with_values(lambda values: np.where(values > 2.5, 1.0, -1.0))
    model = rf.FeatureRidge(loss="logistic", penalty=0.5, shrinkage=0.5, clip=False).fit(signs, item_features=films)
    design = np.hstack([films.matrix.toarray()[:N_ITEMS], np.ones((N_ITEMS, 1))]).astype(float)
    compared = 0
    for user in range(N_USERS):
        own = signs.user_indices == user
        if len(np.unique(signs.values[own])) < 2:
            continue
        oracle = LogisticRegression(C=2.0, fit_intercept=False, solver="newton-cholesky", tol=1e-10)
        oracle.fit(design[signs.item_indices[own]], signs.values[own])
        np.testing.assert_allclose(model.predict([user], np.arange(N_ITEMS)), design @ oracle.coef_[0], atol=1e-4)
        compared += 1
    assert compared > 5


def test_a_new_item_is_predicted_by_its_features(ratings, features):
    films = features[0]
    model = rf.FeatureRidge(clip=False).fit(ratings, item_features=films)
    place = model.items_.row_of(N_ITEMS)
    np.testing.assert_allclose(model.item_factors_[place], films.matrix.toarray()[N_ITEMS], rtol=1e-6)
    guessed = model._item_map.rows(films)[:N_ITEMS, model.rank_ + 1]
    rated = ratings.to_sparse().toarray() > 0
    chosen = rated @ (model.item_biases_[:N_ITEMS] - guessed) / (rated.sum(axis=1) + 10)
    expected = (
        model.offset_
        + model.user_biases_[:N_USERS]
        + model.item_biases_[place]
        + chosen
        + model.user_factors_[:N_USERS] @ films.matrix.toarray()[N_ITEMS]
    )
    np.testing.assert_allclose(model.predict(np.arange(N_USERS), N_ITEMS), expected, atol=1e-5)


def test_without_features_it_is_a_model_of_biases(ratings):
    model = rf.FeatureRidge().fit(ratings)
    bias = rf.Bias().fit(ratings)
    assert (model.rank_, model.factor_names_) == (0, [])
    np.testing.assert_allclose(model.predict_all(), bias.predict_all(), atol=1e-5)


def test_too_many_features_are_refused_before_memory_ends(ratings, monkeypatch, features):
    monkeypatch.setattr("rankfill.models.regression.feature_ridge._MOST_NUMBERS", 50)
    with pytest.raises(ValueError, match="3 features of 19 items would take 0 GB as full rows; leave rare categories"):
        rf.FeatureRidge().fit(ratings, item_features=features[0])
    rf.FeatureRidge().fit(ratings, user_features=features[1])


@pytest.mark.data
def test_items_that_nobody_has_rated_are_predicted_better_than_by_the_users_mean(data_folder):
    ratings = rf.datasets.movielens("100k", path=data_folder).ratings
    films = rf.read_features(data_folder / "ml-100k" / "u.item")
    train, test = rf.split(ratings, test=0.1, by="cold-items", seed=0)
    error = rf.evaluate(rf.FeatureRidge().fit(train, item_features=films), test, scores=["rmse"])["rmse"]
    users = rf.evaluate(rf.Bias(effects="users", shrinkage=0).fit(train), test, scores=["rmse"])["rmse"]
    without = rf.evaluate(rf.FeatureRidge().fit(train), test, scores=["rmse"])["rmse"]
    assert error < min(users, without)
