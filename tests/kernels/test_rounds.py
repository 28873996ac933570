"""Passive-aggressive rounds against their NumPy twins, to the bit: all ranks, words, threads and instruction sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill import kernels
from rankfill.kernels import Rows, Rule, _native, padded, padded_copy
from rankfill.kernels.reference import rounds as reference
from rankfill.kernels.reference.row_order import row_order

SLACKS, ROOTS = ("none", "linear", "quadratic"), ("exact", "bisection", "published-bisection", "approximate")
SETS = _native.instruction_sets()
RULES = [
    Rule(C=0.2, epsilon=0.05, slack=slack, root=root, nonnegative=nonnegative)
    for slack, root, nonnegative in itertools.product(SLACKS, ROOTS, (True, False))
]
AVERAGED = [Rule(C=0.2, averaged=20.0), Rule(C=0.3, slack="quadratic", root="exact", averaged=0.5)]
SOME_RANKS = (1, 2, 7, 15, 16, 17, 30, 32, 33, 48, 64, 65)


@pytest.fixture(autouse=True)
def threads_as_before():
    before = kernels.get_threads()
    yield
    kernels.set_threads(before)


def name_of(rule):
    return (
        f"{rule.slack}-{rule.root}-{'nonnegative' if rule.nonnegative else 'free'}{'-averaged' * (rule.averaged > 0)}"
    )


def same_bits(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes(), f"{ours} is not {theirs}"


def random_factors(rng, n_rows, rank, *, signed=False, zeros=0.2):
    factors = rng.gamma(1.0, 0.5, (n_rows, rank)) * (rng.random((n_rows, rank)) >= zeros)
    return padded_copy(factors * rng.choice([-1.0, 1.0], factors.shape) if signed else factors)


def random_rows(rng, n_rows, n_columns, density, *, empty=()):
    """A sparse matrix with the named rows empty, the last row a single entry, values that repeat."""
    filled = rng.random((n_rows, n_columns)) < density
    filled[list(empty)] = False
    filled[-1] = np.arange(n_columns) == n_columns // 2
    row, column = np.nonzero(filled)
    values = rng.choice([0.0, 1.0, 2.5, 2.5, 5.0], len(row)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    return Rows(indptr, column.astype(np.int32), values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", range(1, 66))
def test_dot_product_is_the_twins(rank, dtype):
    """With the target 0 the error an update returns is minus the dot product."""
    rng = np.random.default_rng(rank)
    width = -(-rank // 16) * 16
    rule = Rule()
    for scale in (1.0, 1e-20, 1e15):
        w, x = np.zeros((2, width), dtype=dtype)
        w[:rank], x[:rank] = rng.normal(0, scale, rank), rng.normal(0, 1, rank)
        expected = -reference.dot(w, x)
        for isa in SETS:
            same_bits(dtype(_native.update(w.copy(), x, 0.0, rule.native(), isa)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_update_is_the_twins_at_every_rank(rule, dtype):
    moved = 0
    for rank in range(1, 66):
        rng = np.random.default_rng(rank)
        width = -(-rank // 16) * 16
        for case in range(4):
            w, x = np.zeros((2, width), dtype=dtype)
            w[:rank] = rng.gamma(1.0, 1.0, rank) * (rng.random(rank) < 0.8)
            x[:rank] = rng.gamma(1.0, 1.0, rank) * (rng.random(rank) < 0.8)
            if case == 1:  # x from an unconstrained side
                x[:rank] *= rng.choice([-1, 1], rank)
            if case == 2:  # coinciding breakpoints
                w[:rank], x[:rank] = rng.integers(0, 3, rank), rng.integers(1, 3, rank)
            y = 0.0 if case == 3 else rng.normal(0.3 * (w @ x), 1.0)
            expected = w.copy()
            error = reference.update(expected, x, y, rule)
            for isa in SETS:
                ours = w.copy()
                same_bits(dtype(_native.update(ours, x, y, rule.native(), isa)), error)
                same_bits(ours, expected)
            moved += bool((expected != w).any())
    assert moved > 100


sizes = st.floats(2**-60, 2**40, width=32)


@settings(deadline=None)
@given(
    st.sampled_from(RULES),
    st.sampled_from([np.float32, np.float64]),
    st.lists(st.tuples(sizes | st.just(0.0), sizes | sizes.map(lambda x: -x) | st.just(0.0)), min_size=1, max_size=20),
    st.floats(-50, 50, width=32, allow_subnormal=False),
)
def test_update_is_the_twins_wherever_hypothesis_looks(rule, dtype, pairs, y):
    w, x = np.zeros((2, 32), dtype=dtype)
    w[: len(pairs)], x[: len(pairs)] = zip(*pairs, strict=True)
    expected = w.copy()
    with np.errstate(all="ignore"):
        error = reference.update(expected, x, y, rule)
    for isa in SETS:
        ours = w.copy()
        same_bits(dtype(_native.update(ours, x, y, rule.native(), isa)), error)
        same_bits(ours, expected)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_update_is_the_twins_where_numbers_are_extreme(rule):
    """‖x‖² beyond the largest float; a root far from any breakpoint; a product below the smallest normal float."""
    rows = [([1.0, 2.0], [1e25, 0.0], 3.0), ([0.0, 0.0], [2.0**-32, 0.0], 0.8), ([0.0, 3.0], [0.0, 1e-30], 1.0)]
    for w_start, x_start, y in rows:
        w, x = np.zeros((2, 16), dtype=np.float32)
        w[:2], x[:2] = w_start, x_start
        expected = w.copy()
        with np.errstate(all="ignore"):
            error = reference.update(expected, x, y, rule)
        assert np.isfinite(expected).all()
        for isa in SETS:
            ours = w.copy()
            same_bits(np.float32(_native.update(ours, x, y, rule.native(), isa)), error)
            same_bits(ours, expected)


@pytest.mark.parametrize("rule", RULES + AVERAGED, ids=name_of)
def test_pass_is_the_twins(rule):
    for rank in SOME_RANKS if rule.root == "approximate" else (3, 16, 33):
        rng = np.random.default_rng(rank)
        rows = random_rows(rng, 9, 14, 0.4, empty=(0, 4, 7))
        fixed = random_factors(rng, 14, rank, signed=not rule.nonnegative)
        start = random_factors(rng, 9, rank)
        expected = start.copy()
        losses = reference.passive_aggressive_pass(rows, expected, fixed, rule, seed=rank)
        same_bits(expected[[0, 4, 7]], start[[0, 4, 7]])
        assert (expected[8] != start[8]).any()
        for isa, plainly in itertools.product(SETS, (False, True)):
            ours = start.copy()
            sums = _native.passive_aggressive_pass(
                rows.pattern, rows.values, ours, fixed, rule.native(), rank, plainly, 2, isa
            )
            same_bits(ours, expected)
            assert sums == losses


@pytest.mark.parametrize("rule", [RULES[0], RULES[8], RULES[10], RULES[17], *AVERAGED], ids=name_of)
@pytest.mark.parametrize("lengths", [[1], [1, 1, 1], [2500], [3, 2100, 1, 0, 40, 2], list(range(1, 40)), [5] * 64])
def test_waves_of_rows_are_the_twins_whatever_the_lengths_of_the_rows(rule, lengths):
    """Fewer rows than lanes, rows that end at different times, rows long enough to be fetched entry by entry."""
    rng = np.random.default_rng(len(lengths))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate([rng.permutation(2600)[:length] for length in lengths]).astype(np.int32)
    rows = Rows(indptr, columns, rng.choice([0.0, 1.0, 4.5], len(columns)).astype(np.float32))
    fixed, start = random_factors(rng, 2600, 5), random_factors(rng, len(lengths), 5)
    expected = start.copy()
    losses = reference.passive_aggressive_pass(rows, expected, fixed, rule, seed=11)
    for isa, threads in itertools.product(SETS, (1, 3)):
        ours = start.copy()
        sums = _native.passive_aggressive_pass(
            rows.pattern, rows.values, ours, fixed, rule.native(), 11, False, threads, isa
        )
        same_bits(ours, expected)
        assert sums == losses


def test_averaged_row_is_the_mean_of_its_iterates_and_its_beginning():
    """By definition, in double: (τ w₀ + w₁ + … + w_n) / (τ + n)."""
    rng = np.random.default_rng(7)
    rows = random_rows(rng, 5, 14, 0.6, empty=(2,))
    fixed, start = random_factors(rng, 14, 5), random_factors(rng, 5, 5)
    ours = start.copy()
    kernels.passive_aggressive_pass(rows, ours, fixed, Rule(C=0.2, averaged=3.0), 8)
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        iterates, w = [start[row]] * 3, start[row].copy()
        for k in begin + row_order(8, row, int(end - begin)) if end > begin else []:
            reference.update(w, fixed[rows.indices[k]], rows.values[k], Rule(C=0.2))
            iterates.append(w.copy())
        np.testing.assert_allclose(ours[row], np.mean(iterates, axis=0, dtype=np.float64), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_online_rounds_are_the_twins(rule):
    other = Rule(C=0.1, epsilon=0.0, slack=rule.slack, root=rule.root, nonnegative=not rule.nonnegative)
    for rank in SOME_RANKS if rule.root == "approximate" else (3, 16, 33):
        rng = np.random.default_rng(rank)
        users, items = rng.integers(0, 5, 60).astype(np.int32), rng.integers(0, 8, 60).astype(np.int32)
        values = rng.choice([0.0, 1.0, 3.5], 60).astype(np.float32)
        start = padded(5, rank), random_factors(rng, 8, rank)
        expected = start[0].copy(), start[1].copy()
        losses = reference.passive_aggressive_online(users, items, values, *expected, rule, other)
        for isa in SETS:
            ours = start[0].copy(), start[1].copy()
            sums = _native.passive_aggressive_online(users, items, values, *ours, rule.native(), other.native(), isa)
            same_bits(ours[0], expected[0])
            same_bits(ours[1], expected[1])
            assert sums == losses


@pytest.mark.parametrize("rule", [RULES[0], RULES[5], RULES[8], RULES[17], *AVERAGED], ids=name_of)
def test_pass_is_the_same_for_any_number_of_threads_and_instruction_set(rule):
    rng = np.random.default_rng(4)
    rows = random_rows(rng, 311, 97, 0.1, empty=(0, 1, 2, 150, 309))
    fixed, start = random_factors(rng, 97, 20), random_factors(rng, 311, 20)
    results = []
    for threads, isa, plainly in itertools.product(range(1, 9), SETS, (False, True)):
        ours = start.copy()
        sums = _native.passive_aggressive_pass(
            rows.pattern, rows.values, ours, fixed, rule.native(), 5, plainly, threads, isa
        )
        results.append((ours.tobytes(), sums))
    assert results[0][0] != start.tobytes()
    assert all(result == results[0] for result in results)


def test_public_kernels_hand_on_what_the_compiled_ones_compute():
    rng = np.random.default_rng(6)
    rule, free = Rule(C=0.1), Rule(C=0.3, slack="quadratic", nonnegative=False)
    rows = random_rows(rng, 6, 9, 0.5)
    P, Q = random_factors(rng, 6, 5), random_factors(rng, 9, 5)
    ours, theirs = P.copy(), P.copy()
    assert kernels.passive_aggressive_pass(rows, ours, Q, rule, 3) == reference.passive_aggressive_pass(
        rows, theirs, Q, rule, 3
    )
    same_bits(ours, theirs)
    users, items, values = rows.row_of_entry(), rows.indices, rows.values
    online = (P.copy(), Q.copy()), (P.copy(), Q.copy())
    assert kernels.passive_aggressive_online(
        users, items, values, *online[0], rule, free
    ) == reference.passive_aggressive_online(users, items, values, *online[1], rule, free)
    same_bits(online[0][1], online[1][1])
