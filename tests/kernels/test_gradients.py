"""Gradient rounds against their NumPy twins, to the bit: losses, steps, ranks, threads and instruction sets."""

import itertools

import numpy as np
import pytest

from rankfill import kernels
from rankfill.kernels import GradientRule, _native, gradients, padded
from rankfill.kernels.gradients import RowMeans
from rankfill.kernels.reference import gradients as reference_gradients

LOSSES = ("squared", "absolute", "epsilon-insensitive", "huber", "logistic")
STEPS = ("adagrad", "constant", "inverse", "sqrt", "power", "line-search")
SETS = _native.instruction_sets()


@pytest.fixture(autouse=True)
def threads_as_before():
    before = kernels.get_threads()
    yield
    kernels.set_threads(before)


def problem(rule, n_users=41, n_items=29, density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    users, items = (each.astype(np.int32) for each in np.nonzero(rng.random((n_users, n_items)) < density))
    values = rng.choice([-1, 1], len(users)) if rule.loss == "logistic" else rng.integers(1, 6, len(users)) - 3.0
    rows = []
    for side, n in enumerate((n_users, n_items)):
        factors = padded(n, rule.rank + 2 * rule.biased)
        factors[:, : rule.rank] = rng.random((n, rule.rank)) / np.sqrt(rule.rank)
        if rule.biased:
            factors[:, rule.rank + 1 - side] = 1
        rows.append(factors)
    memory = [np.ones(n, np.float32) for n in (n_users, n_items)]
    penalties = [rng.random(n, np.float32) / 10 for n in (n_users, n_items)]
    return users, items, values.astype(np.float32), [*rows, *memory, *penalties]


def rule_of(loss="squared", step="adagrad", rank=5, **others):
    return GradientRule(
        **{
            "rank": rank,
            "loss": loss,
            "width": 0.5,
            "step": step,
            "rate": 0.1,
            "penalty": 0.05,
            "period": 300.0,
            "bias_share": 0.25,
        }
        | others
    )


def run_pass(module, rule, grid, strata, state):
    state = [each.copy() for each in state]
    means = RowMeans.of(state[0]), RowMeans.of(state[1])
    sums = [module.gradient_pass(grid, strata, *state, rule, first * len(grid.values), means) for first in range(2)]
    assert means[0].met.sum() == means[1].met.sum() == 2 * len(grid.values)
    return b"".join(each.tobytes() for each in (*state, *means[0], *means[1])), sums


@pytest.mark.parametrize(("loss", "step"), list(itertools.product(LOSSES, STEPS)))
def test_pass_is_the_twins_on_every_instruction_set_and_any_number_of_threads(loss, step, monkeypatch):
    for nonnegative, biased in ((False, True), (True, True), (True, False)):
        rule = rule_of(loss, step, nonnegative_users=nonnegative, nonnegative_items=nonnegative, biased=biased)
        users, items, values, state = problem(rule)
        grid = gradients.make_grid(users, items, values, (41, 29), seed=1)
        strata = np.random.default_rng(2).permutation(grid.groups).astype(np.int32)
        expected = run_pass(reference_gradients, rule, grid, strata, state)
        for isa, threads in itertools.product(SETS, (1, 2, 3, 8)):
            monkeypatch.setattr(gradients, "instruction_set", lambda isa=isa: isa)
            kernels.set_threads(threads)
            assert run_pass(gradients, rule, grid, strata, state) == expected


@pytest.mark.parametrize("rank", [1, 2, 13, 14, 15, 16, 17, 30, 31, 32, 48, 62, 64, 65])
@pytest.mark.parametrize("step", ["adagrad", "sqrt", "line-search"])
def test_pass_is_the_twins_at_every_rank(rank, step):
    rule = rule_of(step=step, rank=rank)
    users, items, values, state = problem(rule, density=0.15, seed=rank)
    grid = gradients.make_grid(users, items, values, (41, 29), seed=1)
    strata = np.arange(grid.groups, dtype=np.int32)
    assert run_pass(gradients, rule, grid, strata, state) == run_pass(reference_gradients, rule, grid, strata, state)


@pytest.mark.parametrize("step", STEPS)
def test_rounds_in_order_are_the_twins_however_they_are_cut(step):
    rule = rule_of(step=step, loss="huber")
    users, items, values, state = problem(rule)
    ours, theirs = [each.copy() for each in state], [each.copy() for each in state]
    held = state[4][users], state[5][items]
    for part in np.split(np.arange(len(users)), [7, 8, 150]):
        penalties = [each[part] for each in held]
        gradients.gradient_online(users[part], items[part], values[part], int(part[0]), *ours[:4], *penalties, rule)
    reference_gradients.gradient_online(users, items, values, 0, *theirs[:4], *held, rule)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_grid_holds_every_entry_once_and_strata_share_no_row():
    rule = rule_of()
    users, items, values, _ = problem(rule, 300, 200, 0.2)
    grid = gradients.make_grid(users, items, values, (300, 200), seed=5)
    n, groups = len(users), grid.groups
    assert groups == gradients.MAX_GROUPS
    assert len(grid.users) == n + gradients.LOOK_AHEAD
    assert sorted(zip(grid.users[:n], grid.items[:n], grid.values, strict=True)) == sorted(
        zip(users, items, values, strict=True)
    )
    of_block = [slice(*pair) for pair in itertools.pairwise(grid.start)]
    for stratum in range(groups):
        blocks = [b * groups + (b + stratum) % groups for b in range(groups)]
        for rows in (grid.users, grid.items):
            seen = [set(rows[of_block[block]].tolist()) for block in blocks]
            assert len(set.union(*seen)) == sum(map(len, seen))
    sizes = np.add.reduceat(np.diff(grid.start), np.arange(0, groups * groups, groups))
    assert sizes.max() < 1.3 * n / groups


def test_steps_are_as_defined():
    """One factor, q = 1 and λ = 0: p moves by the step times the residual."""
    for step, expected in (
        ("constant", lambda t: 0.1),
        ("inverse", lambda t: 0.1 / (1 + 0.1 * 0.2 * t)),
        ("sqrt", lambda t: 0.1 / np.sqrt(1 + t / 300)),
        ("power", lambda t: 0.1 * (1 + t / 300) ** -0.8),
    ):
        for t in (0, 1, 299, 10_000):
            rule = rule_of(step=step, rank=1, penalty=0.2, power=0.8, biased=False)
            p, q, one = padded(1, 1), padded(1, 1), np.ones(1, np.float32)
            q[0, 0] = 1
            zero, held = np.zeros(1, np.int32), np.zeros(1, np.float32)
            gradients.gradient_online(zero, zero, np.float32([2]), t, p, q, one, one.copy(), held, held, rule)
            assert p[0, 0] == pytest.approx(2 * expected(t), rel=1e-6)


def test_adagrad_divides_by_the_root_of_the_squared_gradients_so_far():
    rule = rule_of(rank=1, penalty=0.0, biased=False)
    p, q, memory = padded(1, 1), padded(1, 1), [np.ones(1, np.float32), np.full(1, np.inf, np.float32)]
    q[0, 0] = 1
    zero, held, at, total = np.zeros(1, np.int32), np.zeros(1, np.float32), 0.0, 1.0
    for t in range(20):
        gradients.gradient_online(zero, zero, np.float32([2]), t, p, q, *memory, held, held, rule)
        at, total = at + 0.1 / np.sqrt(total) * (2 - at), total + (2 - at) ** 2
        assert p[0, 0] == pytest.approx(at, rel=1e-5)
        assert memory[0][0] == pytest.approx(total, rel=1e-5)
    assert q[0, 0] == 1  # an infinite sum takes no step


def test_searched_step_is_the_first_that_descends_enough():
    rule = rule_of(step="line-search", rank=3, rate=64.0)
    rng = np.random.default_rng(0)
    zero, held, halved = np.zeros(1, np.int32), np.float32([0.05]), 0
    held_p, held_q = 0.05 * np.eye(16)[:4].sum(axis=0), 0.05 * np.eye(16)[[0, 1, 2, 4]].sum(axis=0)
    held_p[3] *= rule.bias_share
    held_q[4] *= rule.bias_share
    for _ in range(50):
        p, q = padded(1, 5), padded(1, 5)
        p[0, :5], q[0, :5] = [*rng.normal(size=4), 1], [*rng.normal(size=3), 1, rng.normal()]
        target, one = np.float32(rng.normal(0, 3)), np.ones(1, np.float32)

        def term(p, q, target=target):
            return 0.5 * (target - p @ q) ** 2 + 0.5 * (held_p @ p**2 + held_q @ q**2)

        start = p[0].astype(float), q[0].astype(float)
        g = target - start[0] @ start[1]
        down = [g * start[1] - held_p * start[0], g * start[0] - held_q * start[1]]
        down[0][4], down[1][3] = 0, 0
        fitting = [
            eta
            for eta in 64.0 * 0.5 ** np.arange(31)
            if term(start[0] + eta * down[0], start[1] + eta * down[1])
            <= term(*start) - eta / 2 * (down[0] @ down[0] + down[1] @ down[1])
        ]
        gradients.gradient_online(zero, zero, target[None], 0, p, q, one, one.copy(), held, held, rule)
        np.testing.assert_allclose(p[0], start[0] + fitting[0] * down[0], rtol=1e-4, atol=1e-5)
        halved += fitting[0] < 64
    assert halved == 50
