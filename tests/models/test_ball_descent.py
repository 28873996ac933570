"""The nearest point of balls in a metric, and steps within them."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf
from rankfill.models.ball_descent import BallDescent, Point
from rankfill.models.completion import problem_of


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
    descent = BallDescent(problem, bounds, together=together)
    x = cvxpy.Variable(stacked.shape)
    distance = cvxpy.sum_squares(cvxpy.multiply(np.sqrt(descent.metric) * np.ones(3), x - stacked))
    groups = [x] if together else [x[:, k] for k in range(3)]
    balls = [cvxpy.sum_squares(group) <= bound for group, bound in zip(groups, bounds, strict=True)]
    cvxpy.Problem(cvxpy.Minimize(distance), balls).solve(solver=cvxpy.CLARABEL)
    found = descent.projected(stacked, descent.metric)
    np.testing.assert_allclose(found, x.value, atol=1e-4)
    np.testing.assert_array_equal(descent.projected(0.1 * found, descent.metric), 0.1 * found)


def test_gradient_is_that_of_the_loss(problem, stacked):
    point, change = Point(problem, stacked), np.random.default_rng(1).normal(size=stacked.shape)
    ahead, behind = (point.moved(step * change) for step in (1e-5, -1e-5))
    assert np.vdot(point.gradient, change) == pytest.approx((ahead.loss - behind.loss) / 2e-5, rel=1e-6)


def test_steps_go_down_within_the_balls_to_a_point_that_stays(problem, stacked):
    bounds = np.array([5.0, 2.0, 0.1])
    descent = BallDescent(problem, bounds)
    points = descent.spectral(Point(problem, descent.projected(stacked, descent.metric)))
    reached = [next(points) for _ in range(400)]
    assert (np.diff([point.loss for point in reached]) <= 0).all()
    assert all((np.square(point.stacked).sum(axis=0) <= bounds * (1 + 1e-9)).all() for point in reached)
    last = reached[-1]
    ahead = descent.projected(last.stacked - last.gradient / descent.metric, descent.metric)
    np.testing.assert_allclose(ahead, last.stacked, atol=1e-4)
