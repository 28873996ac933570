"""Predictions and best items against their NumPy twins, to the bit: all ranks, threads and instruction sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill import kernels
from rankfill.kernels import Rows, _native, padded, padded_copy
from rankfill.kernels.reference import scoring as reference

SETS = _native.instruction_sets()


@pytest.fixture(autouse=True)
def threads_as_before():
    before = kernels.get_threads()
    yield
    kernels.set_threads(before)


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


@pytest.mark.parametrize("n_users", [1, 2, 3])
@pytest.mark.parametrize("rank", [1, 5, 16, 31, 48, 70])
def test_best_of_many_items_for_few_users_are_the_twins(n_users, rank):
    """Rough scores leave out only what exact ones would, among ties as well."""
    rng = np.random.default_rng(rank + n_users)
    for n_items in (640, 1001):
        seen = random_rows(rng, n_users, n_items, 0.1)
        allowed = rng.random(n_items) < 0.9
        for factors in (
            random_factors(rng, n_items, rank, signed=True),
            padded_copy(rng.integers(-2, 3, (n_items, rank))),
        ):
            P = padded_copy(rng.integers(-3, 4, (n_users, rank)) / 3)
            check_top_n(P, factors, rank, 20, (seen.indptr, seen.indices), allowed)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("huge", [3e38, 1e30, 1e-30, 1e-44, np.inf, np.nan])
def test_best_of_many_items_are_the_twins_where_numbers_are_extreme(huge):
    rng = np.random.default_rng(8)
    Q = rng.normal(size=(700, 20))
    Q[rng.random((700, 20)) < 0.05] *= huge
    P = rng.normal(size=(1, 20)) * (huge if huge < 1 else 1.0)
    check_top_n(padded_copy(P), padded_copy(Q), 20, 15, no_one_saw(1), np.ones(700, dtype=bool))


def test_one_prediction_is_that_of_the_pair():
    rng = np.random.default_rng(9)
    P, Q = random_factors(rng, 6, 21, signed=True), random_factors(rng, 11, 21)
    mean_user, mean_item = random_factors(rng, 2, 21)
    for user, item in itertools.product((-1, 0, 5), (-1, 0, 10)):
        pair = np.array([user], np.int32), np.array([item], np.int32)
        one = kernels.predict_one(user, item, P, Q, mean_user, mean_item, 3.25)
        assert one == kernels.predict_pairs(*pair, P, Q, mean_user, mean_item, 3.25)[0]


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


def test_public_scoring_hands_on_what_the_compiled_one_computes():
    rng = np.random.default_rng(6)
    rows = random_rows(rng, 6, 9, 0.5)
    P, Q = random_factors(rng, 6, 5), random_factors(rng, 9, 5)
    scored = (rows.row_of_entry(), rows.indices, P, Q, P[1], Q[1], 2.0)
    same_bits(kernels.predict_pairs(*scored), reference.predict_pairs(*scored))
    wanted = (P, Q, 5, 3, rows.indptr, rows.indices, np.arange(9) != 4)
    same_bits(kernels.top_n(*wanted)[0], reference.top_n(*wanted)[0])
