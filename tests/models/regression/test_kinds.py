"""Logistic item regressions against scikit-learn, the sparse kind against ridge regressions, and odd ratings."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import rankfill as rf
from rankfill.models.regression import memory

KINDS = [{"kind": "ridge"}, {"kind": "sparse", "keep": 6}, {"kind": "logistic"}]


@pytest.fixture(scope="module")
def votes():
    """−1 and +1 of two tastes, where likes of one kind go with dislikes of the other."""
    rng = np.random.default_rng(3)
    taste, kind = rng.choice([-1, 1], 200), np.where(np.arange(24) % 2, 1, -1)
    users, items = np.nonzero(rng.random((200, 24)) < 0.4)
    agrees = rng.random(len(users)) < 0.8
    return rf.Ratings.from_arrays(users, items, np.where(agrees, 1, -1) * taste[users] * kind[items])


def dense(ratings, values):
    X = np.zeros(ratings.shape)
    X[ratings.user_indices, ratings.item_indices] = values
    return X


def with_features(X, features, penalty):
    """The level is held by a penalty of 1, inputs by `penalty`; scikit-learn has one for all."""
    return np.hstack([X, features * np.sqrt(penalty)])


@pytest.mark.parametrize("penalty", [0.5, 10.0])
def test_logistic_regressions_of_votes_are_those_of_scikit_learn(votes, penalty):
    baseline = rf.Bias(effects="items", clip=False).fit(votes)
    left_over = votes.values - baseline.predict_all()[votes.user_indices, votes.item_indices]
    X = dense(votes, left_over) / np.sqrt(votes.by_user.counts())[:, None]  # of −1 and +1 half the distance is 1
    rows = with_features(X, np.ones((len(X), 1)), penalty)
    model = rf.ItemRegression(kind="logistic", feedback="explicit", penalty=penalty).fit(votes)
    predicted, rated = model.predict_all(), dense(votes, 1)
    total = 0.0
    for item in range(24):
        inputs = np.delete(rows, item, axis=1)
        own = rated[:, item] > 0
        y = dense(votes, votes.values)[own, item]
        oracle = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(inputs[own], y)
        np.testing.assert_allclose(np.delete(model.item_weights_[:, item], item), oracle.coef_[0][: 24 - 1], atol=2e-5)
        assert model.item_weights_[item, item] == 0
        np.testing.assert_allclose(predicted[:, item], 2 * oracle.predict_proba(inputs)[:, 1] - 1, atol=1e-4)
        margins = y * oracle.decision_function(inputs[own])
        total += np.logaddexp(0, -margins).sum() + 0.5 * penalty * (oracle.coef_**2).sum()
    assert model.history_[0].objective == pytest.approx(total, rel=1e-6)


def test_logistic_regressions_of_choices_are_those_of_scikit_learn(votes):
    chosen = votes.select(votes.values > 0).with_values(np.ones_like)
    X, penalty = dense(chosen, 1), 3.0
    rows = with_features(X, np.ones((len(X), 1)), penalty)
    model = rf.ItemRegression(kind="logistic", penalty=penalty).fit(chosen)
    for item in (0, 7, 23):
        inputs = np.delete(rows, item, axis=1)
        oracle = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000)
        oracle.fit(inputs, X[:, item])
        known = X.sum(axis=1) > 0
        scores = oracle.predict_proba(inputs)[:, 1]
        np.testing.assert_allclose(model.predict_all()[known, item], scores[known], atol=1e-4)


def test_votes_are_predicted_better_than_by_the_bias(votes):
    train, test = rf.split(votes, test=0.2, by="user", seed=0)
    errors = [
        rf.evaluate(model.fit(train), test)["rmse"]
        for model in (rf.ItemRegression(kind="logistic", feedback="explicit"), rf.Bias())
    ]
    assert errors[0] < 0.95 * errors[1]


def test_ratings_of_many_values_are_liked_or_not(votes):
    stars = votes.with_values(lambda values: np.where(values > 0, 4.0, 1.0) + (np.arange(len(values)) % 2))
    model = rf.ItemRegression(kind="logistic", feedback="explicit", penalty=2.0).fit(stars)
    liked = stars.values >= 4
    everything = model.predict_all()
    assert stars.values[~liked].mean() < everything.min()
    assert everything.max() < stars.values[liked].mean()


def test_the_sparse_kind_is_a_ridge_regression_on_its_inputs(votes):
    X = dense(votes, votes.values)
    model = rf.ItemRegression(kind="sparse", keep=5, penalty=4.0, weighting="rating").fit(votes)
    weights = model.item_weights_.toarray()
    for item in range(24):
        kept = np.flatnonzero(weights[:, item])
        assert len(kept) == 5
        assert item not in kept
        oracle = Ridge(alpha=4.0, fit_intercept=False).fit(X[:, kept], X[:, item]).coef_
        np.testing.assert_allclose(weights[kept, item], oracle, atol=1e-5)


def test_the_sparse_kind_with_room_for_all_is_the_dense_one(votes):
    votes = votes.with_values(lambda values: values + 2)  # all items go together
    settings = {"penalty": 4.0, "weighting": "rating"}
    sparse = rf.ItemRegression(kind="sparse", keep=24, **settings).fit(votes)
    whole = rf.ItemRegression(**settings).fit(votes)
    np.testing.assert_allclose(sparse.predict_all(), whole.predict_all(), atol=1e-5)
    assert sparse.history_[0].objective == pytest.approx(whole.history_[0].objective, rel=1e-5)


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_newcomers_and_files_of_every_kind(votes, settings, feedback, tmp_path):
    model = rf.ItemRegression(penalty=5.0, feedback=feedback, **settings).fit(votes)
    some = votes.select(votes.user_indices < 20)
    np.testing.assert_allclose(model.predict_folded(some)[:20], model.predict_all(np.arange(20)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.recommend(some, n=5).items[:20], model.recommend(np.arange(20), n=5).items)
    model.save(tmp_path / "m")
    loaded = rf.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_all(), model.predict_all())
    np.testing.assert_array_equal(loaded.predict_folded(some), model.predict_folded(some))


@pytest.mark.filterwarnings("ignore:all .* ratings are")
@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
@pytest.mark.parametrize(
    "values",
    [
        lambda n: np.full(n, 3.0),
        lambda n: 1e30 * (1 + np.arange(n) % 3),
        lambda n: 1e-30 * (np.arange(n) % 2),
        np.zeros,
    ],
    ids=["constant", "huge", "tiny", "zero"],
)
def test_odd_ratings_are_learned_and_answers_are_finite(votes, settings, feedback, values):
    odd = votes.with_values(lambda old: values(len(old)))
    model = rf.ItemRegression(feedback=feedback, **settings).fit(odd)
    everything = model.predict_all()
    assert np.isfinite(everything).all()
    if feedback == "explicit":
        scale = max(odd.values.max(), np.finfo(np.float32).tiny)
        assert odd.values.min() / scale - 1e-5 <= (everything / scale).min()
        assert (everything / scale).max() <= odd.values.max() / scale + 1e-5


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_one_user_and_an_item_nobody_rated(settings, feedback):
    alone = rf.Ratings.from_arrays([1, 1, 1], ["a", "b", "c"], [1.0, -1.0, 1.0])
    assert np.isfinite(rf.ItemRegression(feedback=feedback, **settings).fit(alone).predict_all()).all()
    rated = rf.Ratings.from_arrays([1, 1, 2, 2, 3], ["a", "b", "a", "c", "d"], [1.0, -1.0, 1.0, 1.0, -1.0])
    without = rated.select(rated.item_indices != 2)  # the id of "c" stays
    model = rf.ItemRegression(penalty=1.0, feedback=feedback, **settings).fit(without)
    assert np.isfinite(model.predict_all()).all()
    assert "c" not in model.recommend([1, 2, 3], n=4).items
    np.testing.assert_allclose(model.predict(1, "c"), model.predict(1, "unheard of"))
    np.testing.assert_allclose(model.predict_folded(without)[0, 2], model.predict(1, "c"), atol=1e-6)


def test_what_does_not_fit_into_memory_is_refused_with_the_remedy(votes, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1600)
    with pytest.raises(MemoryError, match=r"regressions of 24 items take .* lower max_items_dense to 10, lower keep"):
        rf.ItemRegression(penalty=1.0).fit(votes)
    rf.ItemRegression(penalty=1.0, max_items_dense=10, keep=2).fit(votes)
    assert memory.needed_bytes(20_000, 25_000, 100, sparse=False) == 1_600_000_000
    assert memory.needed_bytes(200_000, 25_000, 100, sparse=True) == 2_820_000_000


def test_logistic_regressions_of_too_many_items_are_refused_with_the_remedy(votes):
    with pytest.raises(ValueError, match=r"more than max_items_dense=20; raise that, .* or use kind=\"sparse\""):
        rf.ItemRegression(kind="logistic", max_items_dense=20).fit(votes)
