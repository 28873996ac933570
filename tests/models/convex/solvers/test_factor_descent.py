"""Descent on both factors against dense formulas and a general minimiser; the passes that are built on it."""

import numpy as np
import pytest
import scipy.optimize

import rankfill as rf
from rankfill.linalg import LowRank, balance, start_block
from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.problem import problem_of
from rankfill.models.convex.solvers.factor_descent import FactorDescent
from rankfill.models.convex.solvers.rank_growth import RankGrowth


@pytest.fixture(params=[False, True], ids=["constant", "count"])
def problem(request):
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 25)) + 0.3 * rng.normal(size=(40, 25))
    dense[rng.random((40, 25)) > 0.4] = np.nan
    ratings = rf.Ratings.from_dense(dense)
    return problem_of(ratings, np.zeros(len(ratings)), by_count=request.param)


def value_and_gradient(problem, flat, rank, penalty):
    """F(L, R) and its gradient, written out."""
    n, m = problem.shape
    left, right = flat[: n * rank].reshape(n, rank), flat[n * rank :].reshape(m, rank)
    users, items, scale = problem.pattern.users, problem.pattern.items, problem.scale
    errors = np.zeros((n, m))
    errors[users, items] = problem.values - scale * np.einsum("ek,ek->e", left[users], right[items])
    slopes = errors.copy()
    slopes[users, items] *= scale
    gradient = penalty * flat - np.concatenate([(slopes @ right).ravel(), (slopes.T @ left).ravel()])
    return 0.5 * np.sum(errors**2) + 0.5 * penalty * flat @ flat, gradient


def flattened(solution):
    return np.concatenate([side.ravel() for side in solution])


def test_descent_leads_to_the_minimum_that_a_general_minimiser_finds_from_there(problem):
    n, m = problem.shape
    solution, penalty = LowRank(start_block(n, 4), start_block(m, 4, seed=1)), 2.0
    descent = FactorDescent(problem)
    values = [value_and_gradient(problem, flattened(solution), 4, penalty)[0]]
    for _ in range(12):
        solution = descent.descend(solution, penalty)
        values.append(value_and_gradient(problem, flattened(solution), 4, penalty)[0])
    assert (np.diff(values) <= 1e-6 * values[-1]).all()
    best = scipy.optimize.minimize(
        lambda flat: value_and_gradient(problem, flat, 4, penalty), flattened(solution), jac=True, tol=1e-12
    )
    assert values[-1] == pytest.approx(best.fun, rel=1e-6)


def test_a_pass_finds_the_directions_that_are_missing_and_drops_those_that_are_too_many(problem):
    """From a start of too low and of too high a rank the same optimum is reached; every pass lowers the objective."""
    (n, m), objective, ends = problem.shape, Penalised(2.0), []
    for rank in (1, 20):
        iterate = problem.iterate(balance(LowRank(start_block(n, rank), start_block(m, rank, seed=1))))
        growth = RankGrowth(problem, seed=0)
        for _ in range(25):
            before, iterate = iterate, growth.make_pass(iterate, objective)
            assert objective.value(problem, iterate) <= objective.value(problem, before)
        ends.append(iterate)
    assert ends[0].solution.rank == ends[1].solution.rank < 20
    assert objective.value(problem, ends[0]) == pytest.approx(objective.value(problem, ends[1]), rel=1e-7)
    assert np.linalg.norm(problem.descent(ends[0].residual).times(np.eye(m)), 2) <= 2.0 * (1 + 1e-4)
