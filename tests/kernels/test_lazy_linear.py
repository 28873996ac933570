"""Lazy steps: the twin to the bit, the plain definition in dense NumPy, and a cost of O(entries) a step."""

import copy

import numpy as np
import pytest
import scipy.sparse

from rankfill.kernels import Rows
from rankfill.kernels.linear import LazyRule, LazyState
from rankfill.kernels.reference.lazy_linear import lazy_steps, row_of, slope

METHODS = ["sgd", "asgd", "sag", "saga", "svrg"]


def problem(loss, n=13, d=9, density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    matrix = scipy.sparse.random_array((n, d), density=density, rng=rng, format="csr")
    matrix.data -= 0.3
    targets = rng.normal(size=n) if loss == "squared" else rng.choice([-1.0, 1.0], n)
    rows = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.zeros(matrix.nnz, np.float32))
    return matrix, rows, targets


def start(n, d, seed=1):
    """A state with a past: coordinates, slopes and means that belong to some earlier snapshot."""
    rng = np.random.default_rng(seed)
    state = LazyState(n, d)
    state.restart(rng.normal(size=d), 0.3)
    state.slopes[:] = rng.normal(size=n)
    return state


@pytest.mark.parametrize("decay", [0.0, 0.01, 2.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("method", METHODS)
def test_the_kernel_equals_its_twin_to_the_bit(method, loss, decay):
    matrix, rows, targets = problem(loss)
    rule = LazyRule(method, loss, 0.2, decay, 0.75 if method == "asgd" else 1.0, True, 7)
    one, other = (start(*matrix.shape) for _ in range(2))
    for n_steps in (1, 40, 300):  # at a decay of 2 the scale is brought back to 1 several times
        visits = one.run(rows, matrix.data, targets, rule, n_steps)
        assert visits == lazy_steps(other, rows, matrix.data, targets, rule, n_steps)
        assert one.coordinates.tobytes() == other.coordinates.tobytes()
        assert one.shared.tobytes() == other.shared.tobytes()
        assert one.slopes.tobytes() == other.slopes.tobytes()


def dense_steps(method, rule, matrix, targets, theta, intercept, slopes, n_steps):
    """The methods as they are published, every coordinate at every step."""
    rows, n = matrix.toarray(), len(targets)
    mean, mean_of_intercept = rows.T @ slopes / n, slopes.sum() / n
    iterates = []
    for step in range(n_steps):
        row = row_of(rule.seed, step, n)
        found = slope(rule, float(rows[row] @ theta + intercept), float(targets[row]))
        change, eta = found - slopes[row], rule.step
        if method in ("sgd", "asgd"):
            eta = rule.step / (1 + rule.step * rule.decay * step) ** rule.power
            move, move_of_intercept = found * rows[row], found
        elif method == "sag":
            mean, mean_of_intercept = mean + change * rows[row] / n, mean_of_intercept + change / n
            move, move_of_intercept = mean, mean_of_intercept
        else:
            move, move_of_intercept = change * rows[row] + mean, change + mean_of_intercept
        if method == "saga":
            mean, mean_of_intercept = mean + change * rows[row] / n, mean_of_intercept + change / n
        if method in ("sag", "saga"):
            slopes[row] = found
        theta = theta - eta * rule.decay * theta - eta * move
        intercept = intercept - eta * move_of_intercept
        iterates.append(np.append(theta, intercept))
    return np.mean(iterates, axis=0) if method == "asgd" else iterates[-1]


@pytest.mark.parametrize("decay", [0.0, 0.05, 3.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("method", METHODS)
def test_lazy_steps_are_the_steps_of_the_papers(method, loss, decay):
    matrix, rows, targets = problem(loss)
    n, d = matrix.shape
    rng = np.random.default_rng(2)
    theta, slopes = rng.normal(size=d), rng.normal(size=n)
    rule = LazyRule(method, loss, 0.1, decay, 0.75 if method == "asgd" else 1.0, True, 3)
    state = LazyState(n, d)
    state.restart(theta, 0.5)
    if method in ("sag", "saga", "svrg"):
        state.slopes[:] = slopes
        state.coordinates[:, 1], state.shared[3] = matrix.T @ slopes / n, slopes.sum() / n
    expected = dense_steps(method, rule, matrix, targets, theta, 0.5, slopes.copy(), 400)
    for n_steps in (150, 1, 249):
        state.run(rows, matrix.data, targets, rule, n_steps)
    coefficients, intercept = state.mean_iterate() if method == "asgd" else state.iterate(method)
    np.testing.assert_allclose(np.append(coefficients, intercept), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_costs_as_much_as_its_row_has_entries(method):
    """Whatever the number of features, and however sparse the rows are."""
    for d in (50, 100_000):
        rng = np.random.default_rng(0)
        indices = np.sort(rng.permuted(np.tile(np.arange(50), (30, 1)), axis=1)[:, :5]).astype(np.int32)
        rows = Rows(np.arange(0, 151, 5, dtype=np.int64), indices.ravel(), np.zeros(150, np.float32))
        rule = LazyRule(method, "squared", 0.05, 0.01, 1.0, True, 0)
        assert LazyState(30, d).run(rows, np.ones(150), np.ones(30), rule, 1000) == 5 * 1000


def test_rare_rescaling_visits_all_coordinates():
    matrix, rows, targets = problem("squared")
    rule = LazyRule("saga", "squared", 0.3, 1.0, 1.0, True, 0)
    entries = np.diff(matrix.indptr)[[row_of(0, step, 13) for step in range(1000)]].sum()
    rescaled = int(1000 // np.ceil(np.log(1e-30) / np.log(0.7)))
    assert LazyState(*matrix.shape).run(rows, matrix.data, targets, rule, 1000) == entries + 9 * rescaled


def test_cutting_the_steps_into_calls_makes_no_difference():
    matrix, rows, targets = problem("logistic")
    rule = LazyRule("saga", "logistic", 0.3, 0.02, 1.0, True, 5)
    one = start(*matrix.shape)
    other = copy.deepcopy(one)
    one.run(rows, matrix.data, targets, rule, 100)
    for n_steps in (1, 59, 0, 40):
        other.run(rows, matrix.data, targets, rule, n_steps)
    assert one.coordinates.tobytes() == other.coordinates.tobytes()


def test_rows_are_drawn_evenly_with_replacement():
    drawn = [row_of(11, step, 7) for step in range(7000)]
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 1000).max() < 150
    assert any(drawn[k] == drawn[k + 1] for k in range(100))
