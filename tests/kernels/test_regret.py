"""Theorem 1 of Blondel, Kubo and Ueda (2014) on sequences that are random, and on some that are out to break it.

For x_t, y_t >= 0 and every fixed w >= 0, exact and approximate NN-PA-I started at w_1 suffer

    Σ ℓ_t(w_t) − Σ ℓ_t(w)  ≤  ‖w − w_1‖²/(2C) + T·C·max‖x_t‖²/2.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from rankfill.kernels import passive_aggressive_update


def insensitive(W, X, y, epsilon):
    return np.maximum(np.abs((W * X).sum(axis=-1) - y) - epsilon, 0)


def play(sequence, start, C, epsilon, root, rounds):
    """Rows w_1 … w_T, inputs and targets; the opponent sees the row before it chooses."""
    w, history = start, []
    for t in range(rounds):
        x, y = sequence(t, w)
        history.append((w, x, y))
        w = passive_aggressive_update(w, x, y, C=C, epsilon=epsilon, slack="linear", root=root)
    return tuple(map(np.array, zip(*history, strict=True)))


def regret_bound(w, start, X, C):
    return ((w - start) ** 2).sum() / (2 * C) + len(X) * C * (X**2).sum(axis=1).max() / 2


def best_in_hindsight(X, y, epsilon):
    """The w >= 0 of least total loss, by linear programming."""
    rounds, rank = X.shape
    cost = np.concatenate([np.zeros(rank), np.ones(rounds)])
    sides = np.block([[X, -np.eye(rounds)], [-X, -np.eye(rounds)]])
    solved = linprog(cost, sides, np.concatenate([y + epsilon, epsilon - y]), method="highs")
    assert solved.status == 0
    return solved.x[:rank]


def hardest_comparator(X, y, epsilon, start, C):
    """The w >= 0 for which the theorem is tightest: least total loss plus ‖w − w_1‖²/(2C)."""
    w = cp.Variable(X.shape[1], nonneg=True)
    losses = cp.pos(cp.abs(X @ w - y) - epsilon)
    cp.Problem(cp.Minimize(cp.sum(losses) + cp.sum_squares(w - start) / (2 * C))).solve(solver=cp.CLARABEL)
    return np.maximum(w.value, 0)


def noise(rng, rank):
    return lambda t, w: (rng.random(rank), rng.gamma(1.0, 3.0))


def planted(rng, rank):
    truth = rng.random(rank)

    def sequence(t, w):
        x = rng.random(rank)
        return x, max(x @ truth + rng.normal(0, 0.1), 0.0)

    return sequence


def contrary(rng, rank):
    """The target always lies on the other side of the prediction, far away."""

    def sequence(t, w):
        x = rng.random(rank) * (rng.random(rank) < 0.4) + 1e-3
        return x, 0.0 if w @ x > 1.0 else 5.0

    return sequence


def alternating(rng, rank):
    """One direction, two targets in turn: every move is undone."""
    x = rng.random(rank) + 0.5
    return lambda t, w: (x, (t % 2) * 4.0)


def one_coordinate_at_a_time(rng, rank):
    """Pushes one coordinate up, then asks for zero through all of them."""

    def sequence(t, w):
        if t % (rank + 1) == rank:
            return np.ones(rank), 0.0
        return np.eye(rank)[t % (rank + 1)], 3.0

    return sequence


def misled_by_clipping(rng, rank):
    """A large entry of x on a small entry of w: the clipped step overshoots in one coordinate only."""

    def sequence(t, w):
        x = np.full(rank, 0.1)
        x[np.argmin(w)] = 2.0
        return x, max(w @ x - 0.3, 0.0)

    return sequence


OPPONENTS = [noise, planted, contrary, alternating, one_coordinate_at_a_time, misled_by_clipping]


@pytest.mark.parametrize("root", ["exact", "bisection", "approximate"])
@pytest.mark.parametrize("opponent", OPPONENTS)
@pytest.mark.parametrize(("C", "epsilon"), [(0.02, 0.0), (0.2, 0.0), (0.2, 0.3), (2.0, 0.0)])
def test_regret_stays_below_the_bound_against_every_comparator(opponent, root, C, epsilon):
    rng = np.random.default_rng(7)
    rank = 5
    for start in (np.zeros(rank), rng.gamma(1.0, 1.0, rank)):
        W, X, y = play(opponent(rng, rank), start, C, epsilon, root, rounds=120)
        suffered = insensitive(W, X, y, epsilon).sum()
        comparators = [
            hardest_comparator(X, y, epsilon, start, C),
            best_in_hindsight(X, y, epsilon),
            start,
            *rng.gamma(1.0, 1.0, (20, rank)),
        ]
        for w in comparators:
            regret = suffered - insensitive(w, X, y, epsilon).sum()
            assert regret <= regret_bound(w, start, X, C) + 1e-9 * (1 + suffered)


def test_bound_is_not_idle():
    """Some opponent brings the regret to a good part of the bound, or the tests above prove little."""
    rng = np.random.default_rng(8)
    start = np.zeros(5)
    shares = []
    for opponent in OPPONENTS:
        W, X, y = play(opponent(rng, 5), start, 0.2, 0.0, "exact", rounds=120)
        w = hardest_comparator(X, y, 0.0, start, 0.2)
        regret = insensitive(W, X, y, 0.0).sum() - insensitive(w, X, y, 0.0).sum()
        shares.append(regret / regret_bound(w, start, X, 0.2))
    assert max(shares) > 0.5


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 8),
    st.floats(0.005, 3),
    st.sampled_from([0.0, 0.25]),
    st.sampled_from(["exact", "approximate"]),
    st.lists(st.sampled_from(OPPONENTS), min_size=1, max_size=4),
)
def test_regret_stays_below_the_bound_on_mixed_sequences(seed, rank, C, epsilon, root, opponents):
    rng = np.random.default_rng(seed)
    mixture = [opponent(rng, rank) for opponent in opponents]
    start = rng.random(rank) * rng.integers(0, 2)
    W, X, y = play(lambda t, w: mixture[t % len(mixture)](t, w), start, C, epsilon, root, rounds=60)
    suffered = insensitive(W, X, y, epsilon).sum()
    for w in (best_in_hindsight(X, y, epsilon), *rng.gamma(1.0, 1.0, (50, rank))):
        assert suffered - insensitive(w, X, y, epsilon).sum() <= regret_bound(w, start, X, C) + 1e-9 * (1 + suffered)
