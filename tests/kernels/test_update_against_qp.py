"""One passive-aggressive update against a quadratic program, the optimality conditions and its special cases."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankfill.kernels import passive_aggressive_update
from rankfill.kernels.reference.rounds import BISECTION_TOLERANCE

SLACKS = ("none", "linear", "quadratic")
COMBINATIONS = list(itertools.product(SLACKS, (True, False)))
QP_CASES, QP_RANK = 520, 6
TOLERANCES = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def random_case(rng, rank, nonnegative, flavour):
    """(w, x, y, C, epsilon) of one of the kinds that have gone wrong in such code before."""
    w, x = rng.gamma(1.0, 1.0, rank), rng.gamma(1.0, 1.0, rank)
    y, C, epsilon = rng.gamma(1.0, 3.0), rng.choice([0.01, 0.3, 5.0]), rng.choice([0.0, 0.0, 0.1, 1.0])
    if flavour == "ties":  # many breakpoints w_j / x_j coincide
        w, x = rng.integers(0, 3, rank) / 2, rng.integers(1, 3, rank) / 2
    elif flavour == "zeros":
        w, x = w * (rng.random(rank) < 0.5), x * (rng.random(rank) < 0.5)
    elif flavour == "target zero":
        y, epsilon = 0.0, 0.0
        w = w * (rng.random(rank) < 0.7)
    elif flavour == "too high":
        w, y = 4 * w, y / 4
    elif flavour == "too low":
        w, y = w / 4, 4 * y
    elif flavour == "nothing to do":
        epsilon = abs(w @ x - y) * 1.01
    elif flavour == "no direction":
        x = np.zeros(rank)
    if flavour.startswith("signed"):  # x from an unconstrained side
        x = x * rng.choice([-1.0, 1.0], rank)
        y = rng.normal(0, 3)
    if flavour == "signed, infeasible":  # no w >= 0 has a product of that sign
        x, y, epsilon = np.abs(x) * (rng.random(rank) < 0.8), -1 - abs(y), epsilon / 2
    if not nonnegative:
        w = w * rng.choice([-1.0, 1.0], rank)
        y = y * rng.choice([-1.0, 1.0])
    return w, x, float(y), float(C), float(epsilon)


FLAVOURS = (
    *("plain", "ties", "zeros", "target zero", "too high", "too low", "nothing to do", "no direction"),
    *("signed", "signed", "signed, infeasible"),
)


def random_cases(n, rank, nonnegative, seed):
    rng = np.random.default_rng(seed)
    return [random_case(rng, rank, nonnegative, FLAVOURS[i % len(FLAVOURS)]) for i in range(n)]


def excess(w, x, y, epsilon):
    return max(abs(w @ x - y) - epsilon, 0.0)


class QuadraticProgram:
    """The problem as the paper states it (eq. 3 and 12), compiled once and solved for many parameters."""

    def __init__(self, slack, nonnegative):
        self.w, self.x, self.y = cp.Parameter(QP_RANK), cp.Parameter(QP_RANK), cp.Parameter()
        self.C, self.epsilon = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
        self.moved = cp.Variable(QP_RANK)
        xi = cp.Variable(nonneg=True)
        objective = 0.5 * cp.sum_squares(self.moved - self.w)
        if slack != "none":
            objective += self.C * (xi if slack == "linear" else cp.square(xi))
        width = self.epsilon if slack == "none" else self.epsilon + xi
        constraints = [self.moved @ self.x - self.y <= width, self.y - self.moved @ self.x <= width]
        if nonnegative:
            constraints.append(self.moved >= 0)
        self.problem = cp.Problem(cp.Minimize(objective), constraints)
        assert self.problem.is_dcp(dpp=True)

    def solve(self, w, x, y, C, epsilon):
        """The optimal row and objective, None and infinity when there is no feasible row."""
        self.w.value, self.x.value, self.y.value, self.C.value, self.epsilon.value = w, x, y, C, epsilon
        for scaling in (False, True):  # now and then the solver stalls with one of the two
            try:
                self.problem.solve(solver=cp.CLARABEL, equilibrate_enable=scaling, **TOLERANCES)
            except (cp.SolverError, UserWarning):
                continue
            if self.problem.status == cp.INFEASIBLE:
                return None, np.inf
            if self.problem.status == cp.OPTIMAL:
                return self.moved.value, self.problem.value
        raise AssertionError(f"the solver ended with {self.problem.status}")


@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_update_solves_the_quadratic_program(slack, nonnegative):
    program = QuadraticProgram(slack, nonnegative)
    infeasible = moved = 0
    for w, x, y, C, epsilon in random_cases(QP_CASES, QP_RANK, nonnegative, seed=1):
        best, optimum = program.solve(w, x, y, C, epsilon)
        ours = passive_aggressive_update(
            w, x, y, C=C, epsilon=epsilon, slack=slack, root="exact", nonnegative=nonnegative
        )
        if best is None:
            np.testing.assert_array_equal(ours, w)
            infeasible += 1
            continue
        xi = excess(ours, x, y, epsilon)
        cost = {"none": 0.0, "linear": C * xi, "quadratic": C * xi**2}[slack]
        assert 0.5 * ((ours - w) ** 2).sum() + cost <= optimum + 1e-8 * (1 + optimum)
        assert slack != "none" or xi <= 1e-9 * (1 + abs(y))
        assert not nonnegative or ours.min() >= 0
        np.testing.assert_allclose(ours, best, atol=5e-5 * (1 + np.abs(best).max()), rtol=0)
        moved += bool((ours != w).any())
    assert moved > QP_CASES / 3
    assert (infeasible > 0) == (slack == "none")


def multiplier(w, moved, x, nonnegative=True, wanted=0.0):
    """A λ with moved = max(w − λx, 0), or w − λx; of an interval of them the one nearest to `wanted`."""
    free = ((moved > 0) | (not nonnegative)) & (x != 0)
    if free.any():
        j = np.argmax(np.where(free, np.abs(x), 0))
        return (w[j] - moved[j]) / x[j]
    lowest = np.divide(w, x, out=np.full(len(x), -np.inf), where=x > 0).max()
    highest = np.divide(w, x, out=np.full(len(x), np.inf), where=x < 0).min()
    return np.clip(wanted, lowest, highest)


@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_update_meets_the_optimality_conditions_at_every_rank(slack, nonnegative):
    moved_rows = 0
    for rank in range(1, 66):
        for w, x, y, C, epsilon in random_cases(44, rank, nonnegative, seed=rank):
            if slack == "none" and nonnegative and not attainable(x, y, epsilon):
                continue
            moved = passive_aggressive_update(
                w, x, y, C=C, epsilon=epsilon, slack=slack, root="exact", nonnegative=nonnegative
            )
            error = moved @ x - y
            small = 1e-10 * (1 + abs(y) + np.abs(w) @ np.abs(x) + np.abs(moved) @ np.abs(x))
            beyond = np.sign(error) * (max(abs(error) - epsilon, 0))
            wanted = {"none": 0.0, "linear": C * np.sign(beyond), "quadratic": 2 * C * beyond}[slack]
            slope = multiplier(w, moved, x, nonnegative, wanted)
            shape = w - slope * x
            np.testing.assert_allclose(moved, np.maximum(shape, 0) if nonnegative else shape, atol=1e-9, rtol=1e-9)
            if not x.any():
                np.testing.assert_array_equal(moved, w)
            elif slack == "none":
                assert abs(error) <= epsilon + small
                assert slope == 0 or abs(error - np.sign(slope) * epsilon) <= small
            elif slack == "linear":
                tiny = 1e-10 * (1 + C)
                assert abs(slope) <= C + tiny
                if abs(slope) < C - tiny:
                    assert abs(error) <= epsilon + small
                    assert slope == 0 or abs(error - np.sign(slope) * epsilon) <= small
                else:
                    assert np.sign(slope) * error >= epsilon - small
            else:
                assert abs(slope / (2 * C) - beyond) <= small * (1 + 1 / C)
            moved_rows += bool((moved != w).any())
    assert moved_rows > 65 * 44 / 3


def attainable(x, y, epsilon):
    """Whether some w >= 0 has w·x within epsilon of y."""
    return (y - epsilon <= 0 or (x > 0).any()) and (y + epsilon >= 0 or (x < 0).any())


@pytest.mark.parametrize("root", ["exact", "bisection"])
def test_infeasible_target_leaves_the_row(root):
    found = 0
    for w, x, y, C, epsilon in random_cases(660, 5, True, seed=2):
        if not attainable(x, y, epsilon):
            moved = passive_aggressive_update(w, x, y, C=C, epsilon=epsilon, slack="none", root=root)
            np.testing.assert_array_equal(moved, w)
            found += 1
    assert found > 30


@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_exact_update_never_increases_its_own_loss(slack, nonnegative):
    for rank in (1, 2, 5, 17):
        for w, x, y, C, epsilon in random_cases(275, rank, nonnegative, seed=rank):
            moved = passive_aggressive_update(
                w, x, y, C=C, epsilon=epsilon, slack=slack, root="exact", nonnegative=nonnegative
            )
            assert excess(moved, x, y, epsilon) <= excess(w, x, y, epsilon) + 1e-12 * (1 + np.abs(w) @ np.abs(x))


@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_approximate_update_never_increases_its_own_loss_where_x_is_nonnegative(slack, nonnegative):
    for rank in (1, 2, 5, 17):
        for w, x, y, C, epsilon in random_cases(275, rank, nonnegative, seed=rank):
            moved = passive_aggressive_update(
                w, np.abs(x), y, C=C, epsilon=epsilon, slack=slack, root="approximate", nonnegative=nonnegative
            )
            before, after = excess(w, np.abs(x), y, epsilon), excess(moved, np.abs(x), y, epsilon)
            assert after <= before + 1e-12 * (1 + np.abs(w) @ np.abs(x))


@pytest.mark.parametrize("slack", SLACKS)
def test_approximate_update_is_exact_below_the_target(slack):
    compared = 0
    for w, x, y, C, epsilon in random_cases(550, 7, True, seed=3):
        if w @ np.abs(x) < y:
            rows = [
                passive_aggressive_update(w, np.abs(x), y, C=C, epsilon=epsilon, slack=slack, root=root)
                for root in ("exact", "approximate")
            ]
            np.testing.assert_allclose(*rows, rtol=1e-12, atol=1e-12)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("slack", SLACKS)
def test_bisection_ends_within_its_tolerance_of_the_exact_root(slack):
    for rank in (1, 3, 8, 33):
        for w, x, y, C, epsilon in random_cases(220, rank, True, seed=rank):
            settings = {"C": C, "epsilon": epsilon, "slack": slack}
            exact = passive_aggressive_update(w, x, y, root="exact", **settings)
            halved = passive_aggressive_update(w, x, y, root="bisection", **settings)
            tolerance = BISECTION_TOLERANCE * (abs(y) + epsilon) + 1e-15 * np.abs(w) @ np.abs(x)
            assert abs(exact @ x - halved @ x) <= tolerance * 1.000001
            slope = multiplier(w, halved, x)
            np.testing.assert_allclose(halved, np.maximum(w - slope * x, 0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
def test_bisection_as_published_ends_within_its_tolerance_of_the_exact_root(slack):
    """At a target of zero too, where any step from the last breakpoint on is a root; too low is in closed form."""
    rng = np.random.default_rng(0)
    lowered = 0
    for _ in range(300):
        w, x = rng.random((2, 7)) * (rng.random((2, 7)) > 0.3)
        y, epsilon = rng.choice([0.0, 0.5, 3.0], 2)
        settings = {"C": float(rng.choice([0.1, 1.0, 10.0])), "epsilon": epsilon, "slack": slack}
        exact, halved = (
            passive_aggressive_update(w, x, y, root=root, **settings) for root in ("exact", "published-bisection")
        )
        assert abs(exact @ x - halved @ x) <= 1.000001 * BISECTION_TOLERANCE * (y + epsilon) + 1e-12
        lowered += bool(w @ x > y + epsilon)
    assert 50 < lowered < 250
    with pytest.raises(ValueError, match='is for w, x and y of zero and above; use root="bisection"'):
        passive_aggressive_update(w, x, -1.0, root="published-bisection")


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-12, 1e-4, 1.0, 1e6])
def test_bisection_means_the_same_for_ratings_of_any_size(size, dtype, slack):
    """Rows of size √size and ratings of size `size`: the paper stops at |f| / (y + ε) ≤ τ."""
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(50):
        w, x = (np.sqrt(size) * rng.random((2, 6))).astype(dtype)
        y = size * rng.random()
        settings = {"slack": slack, "C": 1 / size if slack == "quadratic" else 1.0}
        exact, halved = (passive_aggressive_update(w, x, y, root=root, **settings) for root in ("exact", "bisection"))
        rounding = 20 * np.finfo(dtype).eps * float(w @ x)
        assert abs(float(exact @ x) - float(halved @ x)) <= 1.1 * BISECTION_TOLERANCE * y + rounding
        compared += float(w @ x) > y
    assert compared > 10


def test_bisection_is_not_misled_by_a_tiny_entry_of_x():
    w, x = np.array([1.0, 1.0]), np.array([1.0, 1e-36])
    halved = passive_aggressive_update(w, x, 0.5, slack="none", root="bisection")
    np.testing.assert_allclose(halved, [0.5, 1.0], atol=1e-4)


@pytest.mark.parametrize("root", ["exact", "bisection"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiny_entry_of_x_does_not_keep_the_others_from_moving(root, dtype):
    """The target 0 wants every entry at 0; what the tiny one adds to the product is nothing."""
    w, x = np.array([1.0, 1.0], dtype=dtype), np.array([1.0, 1e-30], dtype=dtype)
    moved = passive_aggressive_update(w, x, 0.0, slack="none", root=root)
    assert moved @ x <= BISECTION_TOLERANCE


def project_on_simplex(v, radius):
    """Euclidean projection on {w >= 0, Σw = radius} by sorting (Held, Wolfe and Crowder 1974)."""
    down = np.sort(v)[::-1]
    excess_of_top = (np.cumsum(down) - radius) / np.arange(1, len(v) + 1)
    threshold = excess_of_top[np.flatnonzero(down > excess_of_top)[-1]]
    return np.maximum(v - threshold, 0)


@settings(deadline=None)
@given(
    arrays(np.float64, st.integers(1, 65), elements=st.floats(0, 100) | st.sampled_from([0.0, 1.0, 2.5])),
    st.floats(0.01, 100),
)
def test_simplex_projection_is_the_case_of_ones(v, radius):
    projected = passive_aggressive_update(v, np.ones(len(v)), radius, slack="none", root="exact")
    np.testing.assert_allclose(projected, project_on_simplex(v, radius), atol=1e-10 * (1 + v.sum()))
    assert projected.sum() == pytest.approx(radius, rel=1e-10, abs=1e-12 * (1 + v.sum()))


@pytest.mark.parametrize(
    ("slack", "theta"),
    [("none", 3.0), ("linear", 0.5), ("quadratic", 1.5)],
)
def test_target_zero_at_width_zero_follows_the_paper(slack, theta):
    """Breakpoints w/x = 3, 1. No slack: the last one. Linear: C. Quadratic: past 1, f(θ) = 3 − θ = θ/2C."""
    w, x = np.array([3.0, 2.0]), np.array([1.0, 2.0])
    moved = passive_aggressive_update(w, x, 0.0, C=0.5, slack=slack, root="exact")
    np.testing.assert_allclose(moved, np.maximum(w - theta * x, 0), rtol=1e-12)


@pytest.mark.parametrize("root", ["exact", "bisection", "approximate"])
@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_zero_direction_and_zero_loss_leave_the_row_to_the_bit(slack, nonnegative, root):
    w, x = np.array([0.1, 0.7, 0.0]), np.array([0.3, 0.0, 2.0])
    settings = {"slack": slack, "root": root, "nonnegative": nonnegative}
    np.testing.assert_array_equal(passive_aggressive_update(w, np.zeros(3), 9.0, **settings), w)
    np.testing.assert_array_equal(passive_aggressive_update(w, x, w @ x + 0.2, epsilon=0.2001, **settings), w)


@pytest.mark.parametrize("root", ["exact", "bisection", "approximate"])
@pytest.mark.parametrize(("slack", "nonnegative"), COMBINATIONS)
def test_single_precision_stays_close_to_double(slack, nonnegative, root):
    for rank in (1, 4, 16, 65):
        for w, x, y, C, epsilon in random_cases(66, rank, nonnegative, seed=rank + 100):
            if slack == "none" and not attainable(np.abs(x), y, epsilon):
                continue
            settings = {"C": C, "epsilon": epsilon, "slack": slack, "root": root, "nonnegative": nonnegative}
            single = passive_aggressive_update(w.astype(np.float32), x.astype(np.float32), y, **settings)
            double = passive_aggressive_update(w, x, y, **settings)
            assert single.dtype == np.float32
            assert double.dtype == np.float64
            far = np.abs(single - double).max()
            assert far * np.abs(x).max() <= 2e-4 * (1 + abs(y) + np.abs(w) @ np.abs(x))


@settings(deadline=None)
@given(st.data())
def test_update_solves_what_hypothesis_thinks_of(data):
    """The duality gap of the result with its own multiplier: a proof of optimality for linear slack."""
    rank = data.draw(st.integers(1, 6))
    numbers = st.floats(1e-3, 10) | st.sampled_from([0.0, 1e-3, 1.0, 2.0])
    w, x = (data.draw(arrays(np.float64, rank, elements=numbers)) for _ in range(2))
    y, epsilon, C = data.draw(numbers), data.draw(st.sampled_from([0.0, 0.5])), data.draw(st.floats(0.01, 5))
    moved = passive_aggressive_update(w, x, y, C=C, epsilon=epsilon, slack="linear", root="exact")
    primal = 0.5 * ((moved - w) ** 2).sum() + C * excess(moved, x, y, epsilon)
    bounds = []
    for slope in (multiplier(w, moved, x), C, -C, 0.0):
        slope = np.clip(slope, -C, C)
        nearest = np.maximum(w - slope * x, 0)
        bounds.append(0.5 * ((nearest - w) ** 2).sum() + slope * (nearest @ x - y) - abs(slope) * epsilon)
    assert max(bounds) <= primal + 1e-9 * (1 + primal)
    assert primal <= max(bounds) + 1e-9 * (1 + primal)


def test_update_leaves_its_arguments_and_rejects_shapes_in_words():
    w, x = np.array([1.0, 2.0, 0.5]), np.array([1.0, 0.0, 3.0])
    before = w.copy(), x.copy()
    passive_aggressive_update(w, x, 0.5, slack="none")
    np.testing.assert_array_equal((w, x), before)
    with pytest.raises(ValueError, match=r"vectors of one length, found shapes \(3,\) and \(2,\)"):
        passive_aggressive_update(w, x[:2], 1.0)
    with pytest.raises(ValueError, match=r"nonnegative=True needs w >= 0, found -1"):
        passive_aggressive_update(-w[:1], x[:1], 1.0)
