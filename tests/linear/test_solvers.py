"""Solvers of linear models: scikit-learn's solutions, and a linear rate where one was proved."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression, Ridge

from rankfill.linear.solvers import Problem, solve

REDUCED = ["sag", "saga", "svrg"]


def oracle(problem):
    dense = problem.features.toarray()
    if problem.loss == "squared":
        found = Ridge(alpha=problem.penalty, fit_intercept=problem.intercept, solver="cholesky").fit(
            dense, problem.targets
        )
        return found.coef_, float(found.intercept_)
    found = LogisticRegression(
        C=1 / problem.penalty, fit_intercept=problem.intercept, solver="newton-cholesky", tol=1e-12
    ).fit(dense, problem.targets)
    return found.coef_[0], float(found.intercept_[0]) if problem.intercept else 0.0


def sparse_problem(loss, n=80, d=30, penalty=2.0, intercept=True, seed=0):
    rng = np.random.default_rng(seed)
    features = scipy.sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    targets = 3 + features @ rng.normal(size=d) + rng.normal(size=n)
    if loss == "logistic":
        targets = np.where(targets > np.median(targets), 1.0, -1.0)
    return Problem(features, targets, loss, penalty, intercept)


def near_parallel(n, loss, d=8, seed=0):
    """Rows that point nearly the same way, on which a SAG that walks without replacement diverges."""
    rng = np.random.default_rng(seed)
    rows = np.ones(d) + 0.05 * rng.normal(size=(n, d))
    targets = rows @ rng.normal(size=d) + 0.1 * rng.normal(size=n)
    if loss == "logistic":
        targets = np.where(targets > np.median(targets) - (n < 3), 1.0, -1.0)
    return Problem(scipy.sparse.csr_array(rows), targets, loss, 0.1 * n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_exact_solution_is_that_of_scikit_learn(loss, intercept):
    for penalty in (1e-3, 1.0, 100.0):
        problem = sparse_problem(loss, penalty=penalty, intercept=intercept)
        found = solve(problem, "exact", tol=1e-12)
        coefficients, expected = oracle(problem)
        np.testing.assert_allclose(found.coefficients, coefficients, atol=1e-6)
        assert found.intercept == pytest.approx(expected, abs=1e-6)


def test_many_features_are_solved_without_a_gram_matrix():
    problem = sparse_problem("logistic", n=60, d=520, penalty=0.5)
    coefficients, intercept = oracle(problem)
    found = solve(problem, "exact", tol=1e-12)
    np.testing.assert_allclose(found.coefficients, coefficients, atol=1e-6)
    assert found.intercept == pytest.approx(intercept, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("solver", REDUCED)
def test_variance_reduced_solvers_reach_the_exact_solution(solver, loss):
    problem = sparse_problem(loss)
    found, exact = solve(problem, solver, passes=3000, tol=1e-10), solve(problem, "exact", tol=1e-12)
    assert found.gradient <= 1e-10
    np.testing.assert_allclose(found.coefficients, exact.coefficients, atol=1e-8)
    assert found.intercept == pytest.approx(exact.intercept, abs=1e-8)


@pytest.mark.parametrize("n", [5, 60, 2000])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("solver", REDUCED)
def test_the_rate_is_linear_on_rows_that_are_nearly_parallel(solver, loss, n):
    """Each hundredth part of the gradient takes about as many passes as the one before."""
    problem = near_parallel(n, loss)
    passes = [solve(problem, solver, passes=100_000, tol=tol).n_passes for tol in (1e-3, 1e-5, 1e-7)]
    first, second = passes[1] - passes[0], passes[2] - passes[1]
    assert solve(problem, solver, passes=100_000, tol=1e-6).gradient <= 1e-6
    assert second <= 2 * first + 10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_sgd_comes_near_and_its_average_nearer(loss):
    problem = sparse_problem(loss, n=400, penalty=4.0)
    exact = solve(problem, "exact", tol=1e-12)
    best = problem.objective(exact.coefficients, exact.intercept)
    start = problem.objective(np.zeros(problem.n_features), 0.0)

    def excess(solver, passes):
        found = solve(problem, solver, passes=passes)
        assert found.n_passes == passes
        return (problem.objective(found.coefficients, found.intercept) - best) / (start - best)

    assert excess("sgd", 20) < 0.02
    assert excess("asgd", 40) < excess("asgd", 4)
    assert excess("asgd", 40) < 0.005


@pytest.mark.parametrize("solver", ["sgd", "asgd", *REDUCED])
def test_the_same_seed_gives_the_same_bits(solver):
    problem = sparse_problem("logistic")
    one, other = (solve(problem, solver, passes=5, seed=3) for _ in range(2))
    another = solve(problem, solver, passes=5, seed=4)
    assert one.coefficients.tobytes() == other.coefficients.tobytes()
    assert one.coefficients.tobytes() != another.coefficients.tobytes()


@pytest.mark.parametrize("solver", ["exact", "sgd", "asgd", *REDUCED])
def test_rows_without_entries_leave_the_intercept(solver):
    problem = Problem(scipy.sparse.csr_array((4, 3)), np.array([1.0, 2.0, 3.0, 4.0]), "squared", 1.0)
    found = solve(problem, solver, passes=400, tol=1e-9)
    assert (found.coefficients == 0).all()
    assert found.intercept == pytest.approx(2.5, abs=0.05)
