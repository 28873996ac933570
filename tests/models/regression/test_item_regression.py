"""Item regressions against EASE in NumPy and ridge regressions of scikit-learn; newcomers, neighbours, files."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import rankfill as rf
from rankfill.kernels import Rows
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.regression import weights
from rankfill.models.regression.choice import choose
from rankfill.models.regression.inputs import Inputs
from rankfill.models.regression.weights import regress


def ease(X, penalty):
    """Steck 2019, algorithm 1."""
    P = np.linalg.inv(X.T @ X + penalty * np.eye(X.shape[1]))
    B = P / -np.diag(P)
    np.fill_diagonal(B, 0)
    return B


@pytest.fixture(scope="module")
def ratings():
    """Two tastes: people choose mostly among the items of theirs."""
    rng = np.random.default_rng(0)
    taste, kind = rng.integers(0, 2, 300), np.arange(60) % 2
    chosen = rng.random((300, 60)) < np.where(taste[:, None] == kind, 0.3, 0.06) * rng.uniform(0.3, 1.5, 60)
    chosen[np.arange(300), rng.integers(0, 60, 300)] = True
    users, items = np.nonzero(chosen)
    return rf.Ratings.from_arrays(users, items, rng.integers(1, 6, len(users)).astype(float))


def dense(ratings, values):
    X = np.zeros(ratings.shape)
    X[ratings.user_indices, ratings.item_indices] = values
    return X


def inputs_of(X):
    """All of a dense matrix, zeros too."""
    n_users, n_items = X.shape
    rows = Rows(
        n_items * np.arange(n_users + 1),
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        X.ravel().astype(np.float32),
    )
    return Inputs.of(rows, n_items)


WEIGHTS = {
    "one": np.ones_like,
    "rating": lambda values: values / 5,
    "log": lambda values: np.log1p(values) / np.log(6),
    "square": lambda values: (values / 5) ** 2,
}


@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("penalty", [0.5, 20.0, 1e4])
def test_scores_are_those_of_ease_in_double_precision(ratings, weighting, penalty):
    X = dense(ratings, WEIGHTS[weighting](ratings.values))
    model = rf.ItemRegression(penalty=penalty, weighting=weighting).fit(ratings)
    B = ease(X, penalty)
    np.testing.assert_allclose(model.item_weights_, B, atol=1e-5)
    np.testing.assert_allclose(model.predict_all(), X @ B, atol=1e-4)
    objective = 0.5 * ((X - X @ B) ** 2).sum() + 0.5 * penalty * (B**2).sum()
    assert model.history_[0].objective == pytest.approx(objective, rel=1e-5)


def test_tiny_penalties_are_solved_in_double_precision():
    rng = np.random.default_rng(1)
    X = (rng.random((400, 5)) @ rng.random((5, 80)) + 1e-4 * rng.random((400, 80))).astype(np.float32).astype(float)
    B = ease(X, 1e-6)
    found = regress(inputs_of(X), 1e-6)
    assert np.abs(X @ found.weights - X @ B).max() < 1e-4
    with pytest.raises(ValueError, match=r"penalty=1e-30 is too small for these ratings; give a larger one"):
        regress(inputs_of(np.ones((30, 30))), 1e-30)


@pytest.mark.parametrize("penalty", [0.3, 20.0])
def test_few_users_give_the_same_weights_by_a_smaller_inverse(penalty, monkeypatch):
    rng = np.random.default_rng(2)
    X = (rng.integers(0, 3, (12, 300)) * (rng.random((12, 300)) < 0.3)).astype(float)
    X[:, 7] = 0
    users, items = np.nonzero(X)
    rows = Rows(np.searchsorted(users, np.arange(13)), items.astype(np.int32), X[users, items].astype(np.float32))
    inputs = Inputs.of(rows, 300)
    found = weights._regress_by_users(inputs, penalty / inputs.unit)
    assert weights._is_quicker_by_users(inputs)
    np.testing.assert_allclose(found.weights, ease(X, penalty), atol=1e-6)
    monkeypatch.setattr(weights, "_is_quicker_by_users", lambda inputs: False)
    other = regress(inputs, penalty)
    np.testing.assert_allclose(found.weights, other.weights, atol=1e-5)
    assert found.objective == pytest.approx(other.objective, rel=1e-5)


def test_each_column_is_a_ridge_regression_on_the_other_items(ratings):
    X = dense(ratings, ratings.values / 5)
    weights = rf.ItemRegression(penalty=7.0, weighting="rating").fit(ratings).item_weights_
    for item in (0, 13, 59):
        others = np.delete(np.arange(60), item)
        theirs = Ridge(alpha=7.0, fit_intercept=False).fit(X[:, others], X[:, item]).coef_
        np.testing.assert_allclose(weights[others, item], theirs, atol=1e-5)
        assert weights[item, item] == 0


def test_explicit_feedback_is_one_ridge_regression_per_item_over_those_who_rated_it(ratings):
    bias, penalty = rf.Bias(clip=False).fit(ratings), 3.0
    baseline = bias.predict_all().astype(float)
    left_over = ratings.values - baseline[ratings.user_indices, ratings.item_indices]
    spread = np.sqrt(np.mean(left_over**2))
    X = dense(ratings, left_over / spread)
    rows = (X + 0.4 * dense(ratings, 1)) / np.sqrt(ratings.by_user.counts())[:, None]
    model = rf.ItemRegression(penalty=penalty, feedback="explicit", clip=False).fit(ratings)
    rated, objective = dense(ratings, 1) > 0, 0.0
    for item in range(60):
        constant = np.full((len(rows), 1), np.sqrt(penalty / 3))  # a weight that is held by 3 instead
        inputs = np.hstack([np.delete(rows, item, axis=1), constant])
        own = rated[:, item]
        oracle = Ridge(alpha=penalty, fit_intercept=False).fit(inputs[own], X[own, item])
        np.testing.assert_allclose(np.delete(model.item_weights_[:, item], item), oracle.coef_[:-1], atol=1e-4)
        np.testing.assert_allclose(
            model.predict_all()[:, item], baseline[:, item] + spread * oracle.predict(inputs), atol=1e-4
        )
        misses = X[own, item] - oracle.predict(inputs[own])
        objective += 0.5 * spread**2 * (misses @ misses + penalty * oracle.coef_ @ oracle.coef_)
    assert model.history_[0].objective == pytest.approx(objective, rel=1e-5)
    assert rf.ItemRegression(penalty=3.0, feedback="explicit").fit(ratings).predict_all().max() <= 5


@pytest.mark.parametrize("damping", [0.0, 0.5, 1.0])
def test_damping_lets_those_with_many_ratings_count_less(ratings, damping):
    X = dense(ratings, np.ones(len(ratings)))
    counts = X.sum(axis=1)
    D = np.sqrt((counts / counts.mean()) ** -damping)[:, None]
    model = rf.ItemRegression(penalty=8.0, weighting="one", damping=damping).fit(ratings)
    np.testing.assert_allclose(model.predict_all(), X @ ease(D * X, 8.0), atol=1e-4)
    assert model.damping_ == damping


@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
@pytest.mark.parametrize("most", [60, 40])
def test_newcomers_are_as_users_in_training_with_the_same_ratings(ratings, feedback, most):
    model = rf.ItemRegression(penalty=5.0, feedback=feedback, max_items_dense=most, keep=10).fit(ratings)
    some = ratings.select(ratings.user_indices < 20)
    known, new = model.recommend(np.arange(20), n=8), model.recommend(some, n=8)
    np.testing.assert_array_equal(new.items[:20], known.items)
    np.testing.assert_allclose(new.scores[:20], known.scores, rtol=1e-5)
    np.testing.assert_allclose(model.predict_folded(some)[:20], model.predict_all(np.arange(20)), rtol=1e-5, atol=1e-6)


def test_fold_in_is_the_row_of_the_matrix(ratings):
    model = rf.ItemRegression(penalty=5.0, weighting="rating").fit(ratings)
    np.testing.assert_allclose(model.fold_in(ratings), dense(ratings, ratings.values / 5), rtol=1e-6)


def test_regressions_on_all_neighbours_are_the_dense_ones():
    """All items but the item with the fewest ratings are sources, and all of these are kept: all go with all others."""
    users, items = np.nonzero(np.random.default_rng(4).random((300, 60)) < 0.4)
    ratings = rf.Ratings.from_arrays(users, items, np.ones(len(users)))
    X = dense(ratings, np.ones(len(ratings)))
    last = np.argsort(-X.sum(axis=0), kind="stable")[-1]
    model = rf.ItemRegression(penalty=5.0, weighting="one", max_items_dense=59, keep=59).fit(ratings)
    weights = model.item_weights_.toarray()
    others = np.delete(np.arange(60), last)
    np.testing.assert_allclose(weights[np.ix_(others, others)], ease(X[:, others], 5.0), atol=1e-5)
    theirs = Ridge(alpha=5.0, fit_intercept=False).fit(X[:, others], X[:, last]).coef_
    np.testing.assert_allclose(weights[others, last], theirs, atol=1e-5)
    assert (weights[last] == 0).all()
    objective = 0.5 * ((X - X @ weights) ** 2).sum() + 0.5 * 5.0 * (weights**2).sum()
    assert model.history_[0].objective == pytest.approx(objective, rel=1e-5)


def test_few_neighbours_are_the_strongest_and_their_regression_is_exact(ratings):
    X = dense(ratings, np.ones(len(ratings)))
    model = rf.ItemRegression(penalty=5.0, weighting="one", max_items_dense=50, keep=7).fit(ratings)
    weights = model.item_weights_.toarray()
    sources = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:50])
    for item in (0, 13, 59):
        candidates = sources[sources != item]
        strength = (X[:, candidates].T @ X[:, item]) / np.sqrt((X[:, candidates] ** 2).sum(axis=0))
        kept = np.flatnonzero(weights[:, item])
        assert len(kept) == 7
        assert strength[np.isin(candidates, kept)].min() >= strength[~np.isin(candidates, kept)].max() - 1e-6
        theirs = Ridge(alpha=5.0, fit_intercept=False).fit(X[:, kept], X[:, item]).coef_
        np.testing.assert_allclose(weights[kept, item], theirs, atol=1e-5)


def test_neighbours_have_the_same_bits_on_any_number_of_threads(ratings):
    before, found = rf.get_threads(), []
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            found.append(rf.ItemRegression(penalty=5.0, max_items_dense=40, keep=9).fit(ratings).predict_all())
    finally:
        rf.set_threads(before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_a_file_holds_neighbours_and_leaves_out_people_on_request(ratings, feedback, tmp_path):
    model = rf.ItemRegression(penalty=5.0, feedback=feedback, max_items_dense=40, keep=9).fit(ratings)
    model.save(tmp_path / "whole")
    model.save(tmp_path / "bare", history=False)
    whole, bare = rf.load(tmp_path / "whole"), rf.load(tmp_path / "bare")
    np.testing.assert_array_equal(whole.predict_all(), model.predict_all())
    newcomers = ratings.select(ratings.user_indices < 9)
    np.testing.assert_array_equal(bare.recommend(newcomers).items, model.recommend(newcomers).items)
    if feedback == "implicit":
        np.testing.assert_array_equal(bare.predict(3, np.arange(60)), model.predict(-1, np.arange(60)))
    else:
        np.testing.assert_array_equal(bare.predict(3, np.arange(60)), rf.Bias().fit(ratings).predict(3, np.arange(60)))
    assert (tmp_path / "bare").stat().st_size < (tmp_path / "whole").stat().st_size


def test_default_finds_both_tastes_and_beats_bestsellers(ratings):
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    scores = [
        rf.evaluate(model.fit(train), test, liked="all")["ndcg"] for model in (rf.ItemRegression(), rf.Popularity())
    ]
    assert scores[0] > 1.2 * scores[1]


def test_an_unknown_user_is_recommended_what_many_choose(ratings):
    X = dense(ratings, np.ones(len(ratings)))
    model = rf.ItemRegression(penalty=20.0, weighting="one").fit(ratings)
    np.testing.assert_allclose(model.predict(-1, np.arange(60)), X.mean(axis=0) @ ease(X, 20.0), atol=1e-4)
    assert model.predict(0, -1) == 0


def test_the_penalty_chosen_is_about_as_good_as_the_best_of_a_grid(ratings):
    found = choose(ratings, ["one"], [0.0], None, None, implicit=True, seed=0)
    tried = [
        choose(ratings, ["one"], [0.0], penalty, None, implicit=True, seed=0).error
        for penalty in np.geomspace(0.1, 1e4, 12)
    ]
    assert found.error <= min(tried) + 0.01


def test_one_rating_can_be_learned_from():
    model = rf.ItemRegression().fit(rf.Ratings.from_arrays([1], [2], [3.0]))
    assert model.penalty_ > 0
    assert np.isfinite(model.predict(1, 2))


def test_best_of_is_a_stable_sort():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (40, 30)).astype(np.float32)
    seen = rng.random((40, 30)) < 0.5
    seen[0], allowed = True, rng.random(30) < 0.8
    rows = Rows(
        np.concatenate([[0], np.cumsum(seen.sum(axis=1))]),
        np.nonzero(seen)[1].astype(np.int32),
        np.ones(seen.sum(), np.float32),
    )
    items, best = best_of(scores.copy(), 8, allowed, rows.indptr, rows.indices)
    for row in range(40):
        open_items = np.flatnonzero(allowed & ~seen[row])
        expected = open_items[np.argsort(-scores[row, open_items], kind="stable")][:8]
        assert items[row, : len(expected)].tolist() == expected.tolist()
        assert (items[row, len(expected) :] == -1).all()
        np.testing.assert_array_equal(best[row, : len(expected)], scores[row, expected])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0}, "penalty must be a positive number, found 0"),
        ({"kind": "lasso"}, "kind must be one of ridge, logistic, sparse, found 'lasso'"),
        ({"feedback": "both"}, "feedback must be one of explicit, implicit, found 'both'"),
        ({"weighting": "cube"}, "weighting must be one of auto, one, rating, log, square, found 'cube'"),
        ({"max_items_dense": 0}, "max_items_dense must be a whole number of at least 1, found 0"),
        ({"damping": -1}, "damping must be a number from 0 to 1, found -1"),
        ({"keep": 0.5}, "keep must be a whole number of at least 1, found 0.5"),
    ],
)
def test_settings_are_refused_in_words(ratings, settings, message):
    with pytest.raises(ValueError, match=message):
        rf.ItemRegression(**settings).fit(ratings)
