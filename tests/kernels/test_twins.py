"""Every compiled kernel against its NumPy twin, to the bit: all ranks, words, threads and instruction sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill import kernels
from rankfill.kernels import Rows, Rule, _native, padded, padded_copy, reference

SLACKS, ROOTS = ("none", "linear", "quadratic"), ("exact", "bisection", "approximate")
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
            sums = _native.passive_aggressive_pass(*rows, ours, fixed, rule.native(), rank, plainly, 2, isa)
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
        sums = _native.passive_aggressive_pass(*rows, ours, fixed, rule.native(), 11, False, threads, isa)
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
        for k in begin + reference.row_order(8, row, int(end - begin)) if end > begin else []:
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


@pytest.mark.parametrize("rank", range(1, 66))
def test_predictions_are_the_twins(rank):
    rng = np.random.default_rng(rank)
    P, Q = random_factors(rng, 6, rank, signed=True), random_factors(rng, 11, rank)
    mean_user, mean_item = random_factors(rng, 2, rank)
    users, items = rng.integers(-1, 6, 80).astype(np.int32), rng.integers(-1, 11, 80).astype(np.int32)
    users[:4], items[:4] = (-1, -1, 0, 5), (-1, 10, -1, 0)
    expected = reference.predict_pairs(users, items, P, Q, mean_user, mean_item, 3.25)
    assert expected[0] == np.float32(3.25)
    for isa in SETS:
        ours = _native.predict_pairs(users, items, P, Q, mean_user, mean_item, 3.25, 3, isa)
        same_bits(ours, expected)


def no_one_saw(n_users):
    return np.zeros(n_users + 1, dtype=np.int64), np.empty(0, dtype=np.int32)


def check_top_n(P, Q, rank, n, seen, allowed):
    expected = reference.top_n(P, Q, rank, n, *seen, allowed)
    for isa in SETS:
        ours = _native.top_n(P, Q, rank, n, *seen, allowed.view(np.uint8), 2, isa)
        same_bits(ours[0], expected[0])
        np.testing.assert_array_equal(ours[1], expected[1])  # a NaN has more than one bit pattern
        same_bits(ours[1][ours[0] >= 0], expected[1][expected[0] >= 0])
    return expected


@pytest.mark.parametrize("rank", range(1, 66))
def test_best_items_are_the_twins(rank):
    rng = np.random.default_rng(rank)
    n_items = int(rng.integers(1, 50))
    P, Q = random_factors(rng, 7, rank, signed=True), random_factors(rng, n_items, rank)
    seen = random_rows(rng, 7, n_items, 0.3, empty=(2,))
    items, _ = check_top_n(P, Q, rank, int(rng.integers(1, 60)), (seen.indptr, seen.indices), rng.random(n_items) < 0.8)
    assert items.max() >= 0


@pytest.mark.parametrize("n_items", [1, 15, 16, 17, 1023, 1024, 1025, 2100])
@pytest.mark.parametrize("n_users", [1, 5, 64, 131])
def test_best_items_are_right_at_the_borders_of_tiles_and_groups(n_items, n_users):
    rng = np.random.default_rng(n_items + n_users)
    P, Q = random_factors(rng, n_users, 3), random_factors(rng, n_items, 3, zeros=0.7)
    items, scores = check_top_n(P, Q, 3, 10, no_one_saw(n_users), np.ones(n_items, dtype=bool))
    assert (items[:, : min(10, n_items)] >= 0).all()
    assert (np.diff(scores[:, : min(10, n_items)], axis=1) <= 0).all()


def test_equal_scores_go_by_the_lowest_item():
    P, Q = padded_copy(np.ones((2, 1))), padded_copy(np.repeat([1.0, 2.0, 1.0, 2.0, 0.0], 8)[:, None])
    items, _ = check_top_n(P, Q, 1, 20, no_one_saw(2), np.ones(40, dtype=bool))
    np.testing.assert_array_equal(items[0], [*range(8, 16), *range(24, 32), *range(4)])


def test_item_that_equals_the_threshold_does_not_displace_an_earlier_one():
    Q = padded_copy(np.full((100, 2), 0.5))
    items, scores = check_top_n(padded_copy(np.ones((1, 2))), Q, 2, 5, no_one_saw(1), np.ones(100, dtype=bool))
    np.testing.assert_array_equal(items, [[0, 1, 2, 3, 4]])
    np.testing.assert_array_equal(scores, np.ones((1, 5)))


def test_seen_and_forbidden_items_are_left_out_and_the_rest_padded():
    Q = padded_copy(np.arange(6.0)[:, None])
    seen = np.array([0, 2, 2, 8]), np.array([1, 5, 0, 1, 2, 3, 4, 5], dtype=np.int32)
    allowed = np.array([True, True, True, True, False, True])
    items, scores = check_top_n(padded_copy(np.ones((3, 1))), Q, 1, 4, seen, allowed)
    np.testing.assert_array_equal(items, [[3, 2, 0, -1], [5, 3, 2, 1], [-1, -1, -1, -1]])
    np.testing.assert_array_equal(scores, [[3, 2, 0, np.nan], [5, 3, 2, 1], [np.nan] * 4])


def test_no_users_and_more_wanted_than_there_are_items():
    Q = padded_copy(np.arange(3.0)[:, None])
    items, _ = check_top_n(padded(0, 1), Q, 1, 4, no_one_saw(0), np.ones(3, dtype=bool))
    assert items.shape == (0, 4)
    items, _ = check_top_n(padded_copy(np.ones((1, 1))), Q, 1, 7, no_one_saw(1), np.ones(3, dtype=bool))
    np.testing.assert_array_equal(items, [[2, 1, 0, -1, -1, -1, -1]])


def test_signed_zeros_tie_and_huge_scores_order():
    values = np.array([-0.0, 0.0, -1.0, -3e38, 3e38, 1e-38, -0.0, 3e38])
    items, _ = check_top_n(
        padded_copy(np.ones((1, 1))), padded_copy(values[:, None]), 1, 8, no_one_saw(1), np.ones(8, dtype=bool)
    )
    np.testing.assert_array_equal(items, [[4, 7, 5, 0, 1, 6, 2, 3]])
    items, _ = check_top_n(
        padded_copy(-np.ones((1, 1))), padded_copy(values[:, None]), 1, 3, no_one_saw(1), np.ones(8, dtype=bool)
    )
    np.testing.assert_array_equal(items, [[3, 2, 0]])


@pytest.mark.filterwarnings("ignore:overflow")
def test_score_that_overflows_downwards_is_never_recommended():
    Q = padded_copy(np.array([[-3e38], [1.0], [3e38]]))
    items, scores = check_top_n(padded_copy(np.full((1, 1), 10.0)), Q, 1, 3, no_one_saw(1), np.ones(3, dtype=bool))
    np.testing.assert_array_equal(items, [[2, 1, -1]])
    np.testing.assert_array_equal(scores, [[np.inf, 10, np.nan]])


@settings(deadline=None)
@given(st.data())
def test_best_items_are_the_twins_on_small_grids_full_of_ties(data):
    n_users, n_items, n = (data.draw(st.integers(1, top)) for top in (6, 40, 45))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    P, Q = padded_copy(rng.integers(-1, 2, (n_users, 2))), padded_copy(rng.integers(-1, 2, (n_items, 2)))
    filled = rng.random((n_users, n_items)) < data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    seen = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]), np.nonzero(filled)[1].astype(np.int32)
    check_top_n(P, Q, 2, n, seen, rng.random(n_items) < data.draw(st.sampled_from([0.0, 0.5, 1.0])))


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 200), st.booleans(), st.integers(0, 2**32 - 1))
def test_sort_into_rows_is_the_twins(n_keys, n_entries, with_order, seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, n_keys, n_entries).astype(np.int32)
    columns = rng.integers(0, 9, n_entries).astype(np.int32)
    values = rng.choice([1.0, 2.0], n_entries).astype(np.float32)
    expected = reference.sort_into_rows(keys, columns, values, n_keys, with_order=with_order)
    rows, order = kernels.sort_into_rows(keys, columns, values, n_keys, with_order=with_order)
    for ours, theirs in zip((*rows, order), (*expected[0], expected[1]), strict=True):
        same_bits(ours, theirs)


def test_sort_into_rows_is_the_same_for_any_number_of_threads():
    """Beyond 2 · 65,536 entries the work is cut into slices."""
    rng = np.random.default_rng(3)
    n = 600_000
    keys, columns = rng.integers(0, 50, n).astype(np.int32), rng.integers(0, 2**31 - 1, n).astype(np.int32)
    values = rng.random(n, dtype=np.float32)
    expected = reference.sort_into_rows(keys, columns, values, 50, with_order=True)
    for threads in range(1, 9):
        kernels.set_threads(threads)
        rows, order = kernels.sort_into_rows(keys, columns, values, 50, with_order=True)
        for ours, theirs in zip((*rows, order), (*expected[0], expected[1]), strict=True):
            same_bits(ours, theirs)


@pytest.mark.parametrize("rule", [RULES[0], RULES[5], RULES[8], RULES[17], *AVERAGED], ids=name_of)
def test_pass_is_the_same_for_any_number_of_threads_and_instruction_set(rule):
    rng = np.random.default_rng(4)
    rows = random_rows(rng, 311, 97, 0.1, empty=(0, 1, 2, 150, 309))
    fixed, start = random_factors(rng, 97, 20), random_factors(rng, 311, 20)
    results = []
    for threads, isa, plainly in itertools.product(range(1, 9), SETS, (False, True)):
        ours = start.copy()
        sums = _native.passive_aggressive_pass(*rows, ours, fixed, rule.native(), 5, plainly, threads, isa)
        results.append((ours.tobytes(), sums))
    assert results[0][0] != start.tobytes()
    assert all(result == results[0] for result in results)


def test_scoring_is_the_same_for_any_number_of_threads_and_instruction_set():
    """100,000 pairs are four tasks of 2¹⁵; 300 users five tasks of 64."""
    rng = np.random.default_rng(5)
    P, Q = random_factors(rng, 300, 20, signed=True), random_factors(rng, 1500, 20)
    users, items = rng.integers(-1, 300, 100_000).astype(np.int32), rng.integers(-1, 1500, 100_000).astype(np.int32)
    allowed = (rng.random(1500) < 0.9).view(np.uint8)
    results = []
    for threads, isa in itertools.product(range(1, 9), SETS):
        predicted = _native.predict_pairs(users, items, P, Q, P[0], Q[0], 1.0, threads, isa)
        best, scores = _native.top_n(P, Q, 20, 10, *no_one_saw(300), allowed, threads, isa)
        results.append((predicted.tobytes(), best.tobytes(), scores.tobytes()))
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
    scored = (users, items, P, Q, P[1], Q[1], 2.0)
    same_bits(kernels.predict_pairs(*scored), reference.predict_pairs(*scored))
    wanted = (P, Q, 5, 3, rows.indptr, rows.indices, np.arange(9) != 4)
    same_bits(kernels.top_n(*wanted)[0], reference.top_n(*wanted)[0])


@pytest.mark.parametrize(("n_entries", "n_rows", "n_columns"), [(0, 3, 4), (1, 1, 1), (900, 17, 40), (200_000, 9, 700)])
def test_transposing_is_sorting_the_row_numbers_by_column(n_entries, n_rows, n_columns):
    rng = np.random.default_rng(n_entries)
    row_of_entry = np.sort(rng.integers(0, n_rows, n_entries)).astype(np.int32)
    indptr = np.searchsorted(row_of_entry, np.arange(n_rows + 1)).astype(np.int64)
    rows = Rows(indptr, rng.integers(0, n_columns, n_entries).astype(np.int32), rng.random(n_entries, np.float32))
    expected, _ = reference.sort_into_rows(rows.indices, row_of_entry, rows.values, n_columns)
    for threads in (1, 2, 5):
        kernels.set_threads(threads)
        assert all(map(np.array_equal, rows.transposed(n_columns), expected))
