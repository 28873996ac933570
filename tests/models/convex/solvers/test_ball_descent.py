"""The nearest point of balls in a metric, and steps within them."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf
from rankfill.models.convex.problem import problem_of
from rankfill.models.convex.solvers.ball_descent import BallDescent, Point


@pytest.fixture
def problem():
    ratings = rf.synthetic.low_rank(9, 6, 30, seed=0)
    return problem_of(ratings, np.full(len(ratings), ratings.mean()), by_count=True)


@pytest.fixture
def stacked(problem):
    return np.random.default_rng(0).normal(size=(sum(problem.shape), 3)) * [3.0, 1.0, 0.1]


@pytest.mark.parametrize("together", [False, True])
def test_projection_is_the_nearest_point(problem, stacked, together):
    bounds = np.array([5.0]) if together else np.array([5.0, 2.0, 1.0])
    descent, metric = BallDescent(bounds, together=together), Point(problem, stacked).metric()
    x = cvxpy.Variable(stacked.shape)
    distance = cvxpy.sum_squares(cvxpy.multiply(np.sqrt(metric), x - stacked))
    groups = [x] if together else [x[:, k] for k in range(3)]
    balls = [cvxpy.sum_squares(group) <= bound for group, bound in zip(groups, bounds, strict=True)]
    cvxpy.Problem(cvxpy.Minimize(distance), balls).solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    found = descent.project(stacked, metric)
    np.testing.assert_allclose(found, x.value, atol=1e-4)
    np.testing.assert_array_equal(descent.project(0.1 * found, metric), 0.1 * found)


def test_gradient_is_that_of_the_loss(problem, stacked):
    point, change = Point(problem, stacked), np.random.default_rng(1).normal(size=stacked.shape)
    ahead, behind = (point.move(step * change) for step in (1e-5, -1e-5))
    assert np.vdot(point.gradient, change) == pytest.approx((ahead.loss - behind.loss) / 2e-5, rel=1e-6)


def test_metric_is_the_curvature_and_a_tenth_of_its_mean(problem, stacked):
    entries = np.zeros(problem.shape)
    entries[problem.pattern.users, problem.pattern.items] = problem.scale**2
    users, items = np.split(stacked**2, [len(entries)])
    curvature = np.vstack([entries @ items, entries.T @ users])
    point = Point(problem, stacked)
    np.testing.assert_allclose(point.metric(), curvature + 0.1 * curvature.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(point.in_single().metric()[:, :3], point.metric(), rtol=1e-5)


def test_single_precision_is_the_same_to_its_digits(problem, stacked):
    double = Point(problem, stacked)
    single = double.in_single()
    assert single.stacked.dtype == single.gradient.dtype == np.float32
    assert single.loss == pytest.approx(double.loss, rel=1e-6)
    np.testing.assert_allclose(single.gradient[:, :3], double.gradient, rtol=1e-4, atol=1e-4)
    assert not single.gradient[:, 3:].any()


@pytest.mark.parametrize("precision", ["single", "double"])
def test_steps_go_down_within_the_balls_to_a_point_that_stays(problem, stacked, precision):
    bounds = np.array([5.0, 2.0, 0.1])
    descent, start = BallDescent(bounds), Point(problem, stacked)
    start = Point(problem, descent.project(stacked, start.metric()))
    points = descent.spectral(start.in_single() if precision == "single" else start)
    reached = [next(points) for _ in range(400)]
    assert (np.diff([point.loss for point in reached]) <= 0).all()
    assert all((np.square(point.stacked, dtype=float)[:, :3].sum(axis=0) <= bounds).all() for point in reached)
    last = reached[-1]
    assert last.is_double
    ahead = descent.project(last.stacked - last.gradient / last.metric(), last.metric())
    np.testing.assert_allclose(ahead, last.stacked, atol=1e-4)
