"""The trace trade-off against an independent solver, its optimality conditions, and the other convex models."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def ratings():
    """15 × 10 with a third of the entries, an empty row and an empty column."""
    rng = np.random.default_rng(4)
    dense = rng.normal(size=(15, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(15, 10))
    dense[rng.random((15, 10)) > 0.35] = np.nan
    dense[7], dense[:, 4] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


def exact(penalty, **settings):
    return rf.TraceTradeoff(penalty=penalty, gap=1e-5, tol=None, passes=60, clip=False, **settings)


def residual_of(model, dense):
    """In double from the public attributes, zero where nothing was observed."""
    predicted = model.user_factors_.astype(float) @ model.item_factors_.astype(float).T
    return np.where(np.isnan(dense), 0.0, dense - predicted - model.offset_)


@pytest.mark.parametrize("penalty", [0.05, 0.5, 2.0])
def test_reaches_the_optimum_that_a_general_solver_finds(ratings, dense_of, penalty):
    dense = dense_of(ratings)
    W = cvxpy.Variable(dense.shape)
    errors = cvxpy.multiply(~np.isnan(dense), W - np.nan_to_num(dense))
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(errors) + penalty * cvxpy.normNuc(W)))
    problem.solve(solver="SCS", eps=1e-7)
    model = exact(penalty, offset="none").fit(ratings)
    assert model.history_[-1].objective == pytest.approx(problem.value, rel=1e-5)
    assert model.history_[-1].gap <= 1e-5


@pytest.mark.parametrize("offset", ["none", "mean"])
def test_solution_meets_the_conditions_of_optimality(ratings, dense_of, offset):
    """Eq. 22 of Zeng et al.: S = λ I − E is positive semi-definite on the embedding, and S X = 0."""
    model = exact(0.5, offset=offset).fit(ratings)
    E = residual_of(model, dense_of(ratings))
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    assert model.rank_ > 1
    assert np.linalg.norm(E, 2) <= 0.5 * (1 + 1e-4)
    np.testing.assert_allclose(E @ Q, 0.5 * P, atol=2e-3)
    np.testing.assert_allclose(E.T @ P, 0.5 * Q, atol=2e-3)


def test_factors_come_in_the_basis_of_singular_vectors(ratings):
    model = exact(0.5).fit(ratings)
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    singular = np.linalg.svd(P @ Q.T, compute_uv=False)[: model.rank_]
    for side in (P, Q):
        np.testing.assert_allclose(side.T @ side, np.diag(singular), atol=1e-4 * singular[0])


def test_no_penalty_below_the_largest_leaves_zero_and_none_above_does_not(ratings, dense_of):
    largest = np.linalg.norm(np.nan_to_num(dense_of(ratings)), 2)
    assert rf.TraceTradeoff(penalty=1.0001 * largest, offset="none").fit(ratings).rank_ == 0
    assert rf.TraceTradeoff(penalty=0.99 * largest, offset="none").fit(ratings).rank_ == 1


@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_objective_never_rises_and_the_gap_holds(ratings, weighting):
    settings = {"penalty": 0.3, "weighting": weighting, "offset": "bias"}
    history = rf.TraceTradeoff(**settings, tol=None, passes=30).fit(ratings).history_
    objectives = np.array([report.objective for report in history])
    assert (np.diff(objectives) <= 0).all()
    best = rf.SoftImpute(**settings, gap=1e-7, tol=None, passes=5000).fit(ratings).history_[-1].objective
    for report in history:
        assert best * (1 - 1e-7) - 1e-12 <= report.objective <= best + report.gap * report.objective + 1e-7 * best
    assert objectives[-1] == pytest.approx(best, rel=1e-5)


def test_ratings_of_another_size_are_the_same_problem(ratings):
    """Multiplying ratings and penalty by a power of 2 multiplies all of the solution."""
    huge = ratings.with_values(lambda values: values * 2.0**100)
    one, other = exact(0.5, offset="none").fit(ratings), exact(0.5 * 2.0**100, offset="none").fit(huge)
    np.testing.assert_allclose(other.user_factors_ / 2.0**50, one.user_factors_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"penalty": 0}, "penalty must be a positive number, found 0"),
        ({"offset": "user"}, "offset must be one of none, mean, bias, found 'user'"),
        ({"gap": -1.0}, r"gap must be a positive number, found -1\.0"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(ratings, parameters, words):
    with pytest.raises(ValueError, match=words):
        rf.TraceTradeoff(**parameters).fit(ratings)
