"""Alternating least squares against normal equations, dense formulations and scipy's NNLS."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import rankfill as rf
from rankfill.kernels import Ridge, Rows, padded_copy, solve_rows


@pytest.fixture
def ratings():
    """40 users by 23 items; the last user and the third item without ratings, observed zeros among the rest."""
    return random_ratings(0)


def random_ratings(seed, n_users=40, n_items=23, density=0.4):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_users, n_items)) < density, rng.integers(0, 6, (n_users, n_items)), np.nan)
    dense[0, 0] = 3.0
    dense[-1], dense[:, 2] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


def one_row(rng, n, rank):
    x, values = rng.normal(size=(n, rank)), rng.integers(0, 6, n).astype(np.float32)
    rows = Rows(np.array([0, n]), np.arange(n, dtype=np.int32), values)
    return rows, x.astype(np.float32), values


@pytest.mark.parametrize("n", [1, 3, 40, 1000])
@pytest.mark.parametrize("rank", [1, 5, 16, 32, 50, 300])
def test_row_is_the_solution_of_the_normal_equations(rank, n):
    rows, x, values = one_row(np.random.default_rng(rank + n), n, rank)
    moving = padded_copy(np.zeros((1, rank)))
    solve_rows(rows, moving, padded_copy(x), Ridge(rank=rank, penalty=0.5, by_count=True))
    wide = x.astype(np.float64)
    expected = np.linalg.solve(wide.T @ wide + 0.5 * n * np.eye(rank), wide.T @ values)
    np.testing.assert_allclose(moving[0, :rank], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("n", "rank"), [(60, 5), (400, 32), (8, 20)])
def test_nonnegative_row_is_that_of_scipy(n, rank):
    rows, x, values = one_row(np.random.default_rng(n), n, rank)
    moving = padded_copy(np.zeros((1, rank)))
    solve_rows(rows, moving, padded_copy(x), Ridge(rank=rank, penalty=2.0, nonnegative=True))
    stacked = np.vstack([x.astype(np.float64), np.sqrt(2.0) * np.eye(rank)])
    expected = nnls(stacked, np.append(values, np.zeros(rank)))[0]
    np.testing.assert_allclose(moving[0, :rank], expected, rtol=1e-4, atol=1e-5)
    gradient = stacked.T @ (stacked @ moving[0, :rank].astype(np.float64)) - x.astype(np.float64).T @ values
    scale = np.abs(x.T @ values).max()
    assert (moving[0] >= 0).all()
    assert (gradient >= -1e-5 * scale).all()
    assert np.abs(gradient[moving[0, :rank] > 0]).max() <= 1e-5 * scale
    assert 0 < (moving[0, :rank] == 0).sum() < rank


def test_conjugate_gradients_arrive_where_cholesky_is():
    rows, x, _ = one_row(np.random.default_rng(1), 80, 8)
    exact, moving = padded_copy(np.zeros((1, 8))), padded_copy(np.zeros((1, 8)))
    solve_rows(rows, exact, padded_copy(x), Ridge(rank=8, penalty=1.0))
    solve_rows(rows, moving, padded_copy(x), Ridge(rank=8, penalty=1.0, steps=25))
    np.testing.assert_allclose(moving, exact, rtol=1e-3, atol=1e-5)


def test_both_solvers_reach_the_same_optimum(ratings):
    common = {"rank": 2, "penalty": 3.0, "passes": 300, "tol": None}
    exact, steps = (rf.ALS(solver=word, **common).fit(ratings) for word in ("cholesky", "conjugate-gradient"))
    assert steps.history_[-1].objective == pytest.approx(exact.history_[-1].objective, rel=1e-5)


@pytest.mark.parametrize("nonnegative", ["none", "both", "items"])
@pytest.mark.parametrize("weighting", ["constant", "count"])
@pytest.mark.parametrize("biases", [True, False])
def test_objective_in_the_history_is_the_dense_one(
    ratings, dense_of, explicit_objective, weighting, biases, nonnegative
):
    model = rf.ALS(
        rank=3, penalty=0.7, weighting=weighting, biases=biases, nonnegative=nonnegative, passes=4, clip=False
    )
    model.fit(ratings)
    expected = explicit_objective(model, dense_of(ratings), 0.7, 0.7, by_count=weighting == "count")
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)
    errors = ratings.values - model.predict(ratings.user_indices, ratings.item_indices)
    assert model.history_[-1].train == pytest.approx(np.sqrt(np.mean(errors.astype(float) ** 2)), rel=1e-5)


def test_default_penalties_enter_the_objective_apart(ratings, dense_of, explicit_objective):
    model = rf.ALS(rank=3, passes=2).fit(ratings)
    assert (model.penalty_, model.bias_penalty_) == (pytest.approx(15 * np.std(ratings.values), rel=1e-6), 5.0)
    expected = explicit_objective(model, dense_of(ratings), model.penalty_, 5.0, by_count=False)
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)


def test_rows_with_biases_solve_the_explicit_dense_problem(ratings, dense_of):
    """After the last half pass every item row (q_i, b_i) is the ridge solution given the users."""
    model = rf.ALS(rank=3, penalty=0.4, weighting="count", passes=3).fit(ratings)
    dense = dense_of(ratings)
    for i in np.flatnonzero(~np.isnan(dense).all(axis=0)):
        users = np.flatnonzero(~np.isnan(dense[:, i]))
        design = np.column_stack([model.user_factors_[users], np.ones(len(users))]).astype(float)
        target = dense[users, i] - model.offset_ - model.user_biases_[users]
        expected = np.linalg.solve(design.T @ design + 0.4 * len(users) * np.eye(4), design.T @ target)
        ours = np.append(model.item_factors_[i], model.item_biases_[i])
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_gradient_vanishes(ratings, dense_of):
    model = rf.ALS(rank=2, penalty=3.0, biases=False, passes=500, tol=None).fit(ratings)
    dense = dense_of(ratings)
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    errors = np.where(np.isnan(dense), 0.0, dense - P @ Q.T)
    assert np.abs(errors @ Q - 3.0 * P).max() < 1e-3
    assert np.abs(errors.T @ P - 3.0 * Q).max() < 1e-3


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from(["count", "constant"]),
    st.booleans(),
    st.sampled_from(["none", "both", "items", "users"]),
)
def test_objective_never_rises(seed, rank, penalty, weighting, biases, nonnegative):
    ratings = random_ratings(seed, 12, 9)
    model = rf.ALS(
        rank=rank, penalty=penalty, weighting=weighting, biases=biases, nonnegative=nonnegative, passes=8, tol=None
    ).fit(ratings)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-5 * objectives[:-1]).all()


def test_no_penalty_and_more_factors_than_ratings_is_finite(ratings):
    model = rf.ALS(rank=40, penalty=0.0, passes=5).fit(ratings)
    assert np.isfinite(model.predict(np.arange(40)[:, None], np.arange(23))).all()
    assert model.history_[-1].train < 0.5


def test_folding_in_the_training_ratings_gives_the_users_of_the_next_pass(ratings):
    model = rf.ALS(rank=4, penalty=1.0, passes=3).fit(ratings)
    rows = model.fold_in(ratings)
    following = rf.ALS(rank=4, penalty=1.0, passes=1).fit(ratings, init=model)
    rated = ratings.by_user.counts() > 0
    np.testing.assert_array_equal(rows[rated, :4], following.user_factors_[rated])
    np.testing.assert_array_equal(rows[rated, 4], following.user_biases_[rated])


def hkv_pass(dense, moving, fixed, penalty, confidence):
    """One half pass of Hu, Koren and Volinsky, by dense matrices."""
    known = ~np.isnan(dense)
    weights = 1 + confidence * np.where(known, dense, 0.0)
    for u in range(len(dense)):
        system = fixed.T @ (weights[u][:, None] * fixed) + penalty * np.eye(fixed.shape[1])
        moving[u] = np.linalg.solve(system, fixed.T @ (weights[u] * known[u]))


@pytest.mark.parametrize("solver", ["cholesky", "conjugate-gradient"])
def test_implicit_feedback_is_the_dense_computation(ratings, dense_of, implicit_objective, solver):
    dense = dense_of(ratings)
    model = rf.ALS(rank=4, penalty=2.0, feedback="implicit", confidence=3.0, passes=60, tol=None, solver=solver)
    model.fit(ratings)
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    hkv_pass(dense, P, Q.copy(), 2.0, 3.0)
    hkv_pass(dense.T, Q, model.user_factors_.astype(float), 2.0, 3.0)
    np.testing.assert_allclose(model.item_factors_, Q, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.user_factors_, P, rtol=1e-2, atol=1e-2)
    expected = implicit_objective(model, dense, 2.0, 3.0)
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()


def test_implicit_scores_are_not_clipped_to_the_ratings(ratings, dense_of):
    model = rf.ALS(rank=4, feedback="implicit", penalty=1.0).fit(ratings, validation=ratings)
    scores = model.predict(np.arange(39)[:, None], np.arange(23))
    assert scores.max() < 1.5
    assert not model.biased_
    assert abs(model.predict(-1, -1)) < 1
    known = ~np.isnan(dense_of(ratings))[:39]
    assert scores[known].mean() > scores[~known].mean() + 0.2
    assert model.history_[-1].validation == pytest.approx(np.sqrt(np.mean((1 - scores[known]) ** 2)), rel=0.1)


def test_many_ratings_of_one_value_bring_a_hint():
    pairs = rf.synthetic.low_rank(100, 60, 1200, seed=0).with_values(lambda values: np.ones_like(values))
    with pytest.warns(UserWarning, match=r'all 1200 ratings are 1, .*ALS\(feedback="implicit"\)'):
        rf.ALS(rank=2, passes=1).fit(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rf.ALS(rank=2, passes=1, feedback="implicit").fit(pairs)
        rf.ALS(rank=2, passes=1).fit(pairs.select(np.arange(1200) < 999))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"penalty": -1.0}, "penalty must be zero or a positive number, found -1.0"),
        ({"weighting": "none"}, "weighting must be one of auto, constant, count, frequency, found 'none'"),
        ({"nonnegative": True}, "nonnegative must be one of both, items, users, none, found True"),
        ({"solver": "lu"}, "solver must be one of auto, cholesky, block, conjugate-gradient, found 'lu'"),
        ({"feedback": "none"}, "feedback must be one of explicit, implicit, found 'none'"),
        ({"confidence": 0}, "confidence must be a positive number, found 0"),
        ({"exponent": -1.0}, "exponent must be zero or a positive number, found -1.0"),
        ({"weighting": "frequency"}, 'use weighting="count" for ratings'),
        ({"feedback": "implicit", "liked": 6}, "liked=6 leaves no rating to learn from"),
        ({"feedback": "implicit", "liked": "most"}, "liked must be above-mean, above-user-mean, all or the lowest"),
        ({"solver": "conjugate-gradient", "nonnegative": "both"}, "cannot keep nonnegative='both'; use solver=\"chol"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(ratings, parameters, words):
    with pytest.raises(ValueError, match=words):
        rf.ALS(**parameters).fit(ratings)


def test_implicit_feedback_refuses_negative_ratings(ratings):
    with pytest.raises(ValueError, match='feedback="implicit" needs ratings >= 0, found -'):
        rf.ALS(feedback="implicit").fit(ratings.with_values(lambda values: values - 3))
