"""The ratings matrix against dense NumPy, SciPy and plain Python."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rankfill.data import Ratings, Vocabulary
from rankfill.data.ordering import sort_pairs
from rankfill.data.synthetic import low_rank
from rankfill.kernels import get_threads, set_threads

RULES = ("last", "first", "mean", "sum", "count")
WITH_UNKNOWNS = npst.arrays(
    np.float64,
    st.tuples(st.integers(1, 9), st.integers(1, 6)),
    elements=st.one_of(st.just(np.nan), st.integers(-3, 5).map(float)),
)


@st.composite
def rating_lists(draw, unique=True, times=False):
    pair = st.tuples(st.integers(0, 8), st.sampled_from(["tea", "milk", "Öl", "", "water"]))
    pairs = draw(st.lists(pair, max_size=30, unique=unique))
    values = draw(st.lists(st.integers(-8, 8).map(lambda k: k / 2), min_size=len(pairs), max_size=len(pairs)))
    seconds = draw(st.lists(st.integers(0, 5), min_size=len(pairs), max_size=len(pairs))) if times else None
    users, items = [user for user, _ in pairs], np.array([item for _, item in pairs], dtype=object)
    return np.array(users, dtype=np.int64), items, np.array(values, dtype=np.float64), seconds


def entries(ratings):
    """user, item, value in stored order."""
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    return list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


@given(WITH_UNKNOWNS)
def test_a_dense_matrix_comes_back_with_the_unknown_unknown(dense):
    ratings = Ratings.from_dense(dense)
    rebuilt = np.full(dense.shape, np.nan)
    rebuilt[ratings.user_indices, ratings.item_indices] = ratings.values
    np.testing.assert_array_equal(rebuilt, dense)
    assert ratings.shape == dense.shape


@given(WITH_UNKNOWNS)
def test_by_item_is_the_transpose_with_users_ascending(dense):
    ratings = Ratings.from_dense(dense)
    assert ratings.by_item.n_rows == dense.shape[1]
    items, users = np.nonzero(~np.isnan(dense.T))
    np.testing.assert_array_equal(ratings.by_item.row_of_entry(), items)
    np.testing.assert_array_equal(ratings.by_item.indices, users)
    np.testing.assert_array_equal(ratings.by_item.values, dense[users, items])


@given(WITH_UNKNOWNS, st.sampled_from(["coo", "csr", "csc", "lil"]))
def test_a_sparse_matrix_comes_back_with_its_stored_zeros(dense, layout):
    known = ~np.isnan(dense)
    matrix = scipy.sparse.coo_array((dense[known], np.nonzero(known)), shape=dense.shape)
    ratings = Ratings.from_sparse(matrix if layout == "lil" else matrix.asformat(layout))
    assert len(ratings) == known.sum()
    np.testing.assert_array_equal(ratings.to_sparse().toarray(), np.nan_to_num(dense))
    assert ratings == Ratings.from_dense(dense)


def test_repeated_entries_of_a_sparse_matrix_follow_the_rule():
    matrix = scipy.sparse.coo_array(([1.0, 3.0], ([0, 0], [1, 1])), shape=(2, 3))
    with pytest.raises(ValueError, match="user 0 rates item 1 twice"):
        Ratings.from_sparse(matrix)
    assert Ratings.from_sparse(matrix, duplicates="mean").values.tolist() == [2.0]


@given(rating_lists())
def test_entries_are_sorted_by_user_then_item_and_none_is_lost(given_ratings):
    users, items, values, _ = given_ratings
    ratings = Ratings.from_arrays(users, items, values)
    expected = sorted(zip(users.tolist(), items.tolist(), values.tolist(), strict=True))
    assert entries(ratings) == expected


@given(rating_lists())
def test_without_timestamps_the_stream_is_in_the_order_given(given_ratings):
    users, items, values, _ = given_ratings
    ratings = Ratings.from_arrays(users, items, values)
    stored = entries(ratings)
    streamed = [stored[k] for k in ratings.stream_order()]
    assert streamed == list(zip(users.tolist(), items.tolist(), values.tolist(), strict=True))


@given(rating_lists(times=True))
def test_with_timestamps_the_stream_is_in_the_order_of_time(given_ratings):
    users, items, values, seconds = given_ratings
    ratings = Ratings.from_arrays(users, items, values, seconds)
    assert sorted(seconds) == ratings.timestamps[ratings.stream_order()].tolist()
    stored = dict(zip([entry[:2] for entry in entries(ratings)], ratings.timestamps.tolist(), strict=True))
    assert stored == dict(zip(zip(users.tolist(), items.tolist(), strict=True), seconds, strict=True))


@given(rating_lists(unique=False, times=True), st.sampled_from(RULES), st.booleans())
def test_repeated_pairs_are_merged_by_every_rule(given_ratings, rule, with_times):
    users, items, values, seconds = given_ratings
    ratings = Ratings.from_arrays(users, items, values, seconds if with_times else None, duplicates=rule)
    groups = {}
    for row, pair in enumerate(zip(users.tolist(), items.tolist(), strict=True)):
        groups.setdefault(pair, []).append((seconds[row] if with_times else 0, row, float(values[row])))
    expected = []
    for pair, group in sorted(groups.items()):
        group.sort()
        values_of_pair = [value for _, _, value in group]
        merged = {
            "first": values_of_pair[0],
            "last": values_of_pair[-1],
            "mean": np.float32(np.mean(values_of_pair)),
            "sum": sum(values_of_pair),
            "count": len(values_of_pair),
        }
        expected.append((*pair, merged[rule]))
    assert entries(ratings) == expected
    if with_times:
        kept = {pair: group[0 if rule == "first" else -1][0] for pair, group in groups.items()}
        assert ratings.timestamps.tolist() == [kept[pair] for pair in sorted(groups)]


@given(rating_lists(unique=False), st.sampled_from(RULES))
def test_the_stream_of_merged_pairs_has_the_order_of_the_rows_kept(given_ratings, rule):
    users, items, values, _ = given_ratings
    ratings = Ratings.from_arrays(users, items, values, duplicates=rule)
    pairs = list(zip(users.tolist(), items.tolist(), strict=True))
    rows = {pair: row for row, pair in reversed(list(enumerate(pairs)))} if rule == "first" else {}
    rows = rows or {pair: row for row, pair in enumerate(pairs)}
    stored = [entry[:2] for entry in entries(ratings)]
    assert [stored[k] for k in ratings.stream_order()] == sorted(rows, key=rows.get)


def test_a_repeated_pair_is_an_error_that_names_both_rows_and_the_remedy():
    with pytest.raises(ValueError, match=r"user 'bob' rates item 7 twice, at rows 1 and 3; .* duplicates=\"last\""):
        Ratings.from_arrays(["ann", "bob", "ann", "bob"], [7, 7, 8, 7], [1, 2, 3, 4])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_a_rating_that_is_no_finite_float32_is_named_with_its_row(value):
    with pytest.raises(ValueError, match=re.escape(f"found {value} at row 2; drop the row")):
        Ratings.from_arrays([1, 1, 2], [1, 2, 1], [1.0, 2.0, value])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1], [1, 2], [3.0]), ValueError, "same length, found 1, 2 and 1"),
        (([1], [1], ["good"]), TypeError, "ratings must be numbers"),
        (([1], [1], [3.0], [1, 2]), ValueError, r"one value per rating \(1\)"),
        (([1], [1], [3.0], [np.nan]), ValueError, "found nan at row 0"),
        (([1], [1], [3.0], ["yesterday"]), ValueError, "whole seconds or dates"),
        (([1], [1], [3.0], np.array(["NaT"], dtype="M8[s]")), ValueError, "found NaT at row 0"),
        (
            ([1], [1], [3.0], None, "best"),
            ValueError,
            "one of error, last, mean, first, sum, count, decay, found 'best'",
        ),
    ],
)
def test_wrong_input_is_refused_in_words(arguments, error, words):
    with pytest.raises(error, match=words):
        Ratings.from_arrays(*arguments)


def test_a_dense_matrix_must_have_two_dimensions():
    with pytest.raises(ValueError, match="two dimensions, found 1"):
        Ratings.from_dense([1.0, 2.0])


def test_no_ratings_are_an_empty_matrix():
    for ratings in (Ratings.from_arrays([], [], []), Ratings.from_dense(np.full((3, 2), np.nan))):
        assert len(ratings) == 0
        assert ratings.mean() == 0
        assert len(ratings.stream_order()) == len(ratings.by_item.values) == 0
        assert ratings.shifted() is ratings
    assert repr(ratings) == "Ratings(0 ratings, 3 users, 2 items)"


@pytest.mark.parametrize(
    "dates",
    [
        np.array(["2020-01-02", "2020-01-01T00:00:01"], dtype="M8[ms]"),
        ["2020-01-02", "2020-01-01T00:00:01"],
        [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 1, 0, 0, 1)],
    ],
    ids=["datetime64", "ISO text", "datetime"],
)
def test_dates_become_seconds_since_1970(dates):
    ratings = Ratings.from_arrays([1, 2], [1, 1], [3.0, 4.0], dates)
    assert ratings.timestamps.tolist() == [1577923200, 1577836801]


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("strings", [False, True])
def test_frames_of_every_library_give_the_same_ratings(make, strings):
    users = ["ann", "bob", "ann"] if strings else [10, 20, 10]
    columns = {"rating": [1.0, 2.5, 4.0], "userId": users, "comment": ["", "x", "y"], "movie_id": [3, 3, 1]}
    expected = Ratings.from_arrays(users, [3, 3, 1], [1.0, 2.5, 4.0])
    assert Ratings.from_frame(make(columns)) == expected
    assert Ratings.from_frame(make(columns), columns=("userId", "movie_id", "rating")) == expected


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_bring_their_timestamps(make):
    moments = [datetime.datetime(2020, 1, 1), datetime.datetime(1970, 1, 1, 0, 1)]
    frame = make({"user": [1, 2], "item": [5, 5], "stars": [3, 4], "time": moments})
    assert Ratings.from_frame(frame).timestamps.tolist() == [1577836800, 60]


def test_a_frame_without_a_known_name_asks_for_columns():
    frame = pl.DataFrame({"viewer": [1], "item": [2], "rating": [3.0]})
    with pytest.raises(ValueError, match=r"no column looks like the user among viewer, item, rating; name them"):
        Ratings.from_frame(frame)
    with pytest.raises(ValueError, match="found viewer, thing, rating"):
        Ratings.from_frame(frame, columns=("viewer", "thing", "rating"))


@given(rating_lists(times=True), st.booleans(), st.data())
def test_selecting_keeps_vocabularies_times_and_arrival(given_ratings, with_times, data):
    users, items, values, seconds = given_ratings
    ratings = Ratings.from_arrays(users, items, values, seconds if with_times else None)
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), dtype=bool)
    part = ratings.select(keep)
    assert part.users is ratings.users
    assert part.items is ratings.items
    stored = entries(ratings)
    assert entries(part) == [entry for entry, kept in zip(stored, keep, strict=True) if kept]
    part_stored = entries(part)
    streamed = [stored[k] for k in ratings.stream_order() if keep[k]]
    assert [part_stored[k] for k in part.stream_order()] == streamed


def test_selecting_by_anything_but_a_mask_is_refused():
    ratings = Ratings.from_arrays([1, 2, 3], [1, 1, 2], [1, 2, 3])
    for wrong in (np.array([0, 2]), np.array([True, False])):
        with pytest.raises(ValueError, match=r"one bool per rating \(3\)"):
            ratings.select(wrong)


def test_shifted_starts_at_zero_or_moves_by_the_given_amount():
    ratings = Ratings.from_arrays([1, 2, 3], [1, 1, 2], [-2.5, 0, 3])
    assert ratings.shifted().values.tolist() == [0, 2.5, 5.5]
    assert ratings.shifted(10).values.tolist() == [7.5, 10, 13]
    assert ratings.values.tolist() == [-2.5, 0, 3]


def test_with_values_keeps_the_pairs_and_checks_what_comes_back():
    ratings = Ratings.from_arrays([3, 1, 2], [1, 1, 2], [1, 2, 3])
    doubled = ratings.with_values(lambda values: 2 * values)
    assert doubled.values.tolist() == [4, 6, 2]
    np.testing.assert_array_equal(doubled.stream_order(), ratings.stream_order())
    with pytest.raises(ValueError, match="found nan at row 0"):
        ratings.with_values(lambda values: values * np.nan)
    with pytest.raises(ValueError, match=r"one value per rating \(3\), found 1"):
        ratings.with_values(lambda values: values[:1])


def test_nothing_in_ratings_can_be_written_to():
    given_values = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    ratings = Ratings.from_arrays([2, 1, 1], [1, 1, 2], given_values, [9, 8, 7])
    for array in (*ratings.by_user, *ratings.by_item, ratings.timestamps, ratings.values, ratings.item_indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    given_values[0] = 5  # the caller's array stays the caller's
    assert ratings.values.tolist() == [2.0, 3.0, 1.0]


@pytest.mark.parametrize("key_bits", [63, 10], ids=["packed", "too wide to pack"])
def test_the_result_does_not_depend_on_the_number_of_threads(key_bits, monkeypatch):
    monkeypatch.setattr("rankfill.data.ordering._KEY_BITS", key_bits)
    random = np.random.default_rng(3)
    users, items = random.integers(0, 10**12, 5_000), random.integers(0, 900, 700)
    users, items = random.choice(users, 200_000), random.choice(items, 200_000)
    values, times = random.normal(size=200_000), random.integers(0, 10**6, 200_000)
    before = get_threads()
    try:
        made = []
        for threads in (1, 2, 5):
            set_threads(threads)
            made.append(Ratings.from_arrays(users, items, values, times, duplicates="mean"))
            assert made[-1] == made[0]
            assert all(map(np.array_equal, made[-1].by_item, made[0].by_item))
    finally:
        set_threads(before)


def test_rows_too_wide_for_one_number_are_sorted_all_the_same(monkeypatch):
    random = np.random.default_rng(4)
    users, items = random.integers(0, 900, 5_000, dtype=np.int32), random.integers(0, 40, 5_000, dtype=np.int32)
    values = random.normal(size=5_000).astype(np.float32)
    packed, packed_order = sort_pairs(users, items, values, 900, 40)
    monkeypatch.setattr("rankfill.data.ordering._KEY_BITS", 28)
    wide, wide_order = sort_pairs(users, items, values, 900, 40)
    assert all(map(np.array_equal, packed, wide))
    np.testing.assert_array_equal(packed_order, wide_order)


def test_a_million_items_for_a_few_users():
    random = np.random.default_rng(5)
    items = random.permutation(1_000_000)
    ratings = Ratings.from_arrays(items % 3, items, (items % 7).astype(np.float32))
    assert ratings.shape == (3, 1_000_000)
    np.testing.assert_array_equal(ratings.by_item.indices, np.arange(1_000_000) % 3)
    np.testing.assert_array_equal(ratings.by_item.values, np.arange(1_000_000) % 7)


def test_ratings_differ_if_anything_but_their_arrival_does():
    ratings = Ratings.from_arrays([1, 2], [1, 1], [3.0, 4.0])
    assert ratings == Ratings.from_arrays([2, 1], [1, 1], [4.0, 3.0])
    assert ratings != Ratings.from_arrays([1, 2], [1, 1], [3.0, 5.0])
    assert ratings != Ratings.from_arrays([1, 2], [1, 1], [3.0, 4.0], [0, 0])
    assert ratings != Ratings.from_arrays(["1", "2"], [1, 1], [3.0, 4.0])
    assert ratings != "ratings"


def test_the_mean_and_the_representation_speak_of_the_values():
    ratings = Ratings.from_arrays([1, 2], [1, 1], [3.5, 4.0])
    assert ratings.mean() == 3.75
    assert repr(ratings) == "Ratings(2 ratings, 2 users, 1 items, values 3.5 to 4)"
    assert isinstance(ratings.users, Vocabulary)


@pytest.mark.parametrize(
    ("users", "items", "words"),
    [
        ([0, 2], [0, 0], r"user_indices must be row numbers of the 2 users, 0 to 1, found 2 at position 1"),
        ([-1, 0], [0, 0], r"user_indices .* found -1 at position 0; make them with users.index"),
        ([0, 1], [0, 3], r"item_indices must be row numbers of the 3 items, 0 to 2, found 3 at position 1"),
        ([0, 1], [0, -2], r"item_indices .* found -2 at position 1"),
    ],
)
def test_row_numbers_that_the_vocabularies_do_not_have_are_refused(users, items, words):
    rows = np.array(users, np.int32), np.array(items, np.int32)
    with pytest.raises(ValueError, match=words):
        Ratings.from_indices(Vocabulary(["a", "b"]), Vocabulary([5, 6, 7]), *rows, [1.0, 2.0])


@pytest.mark.parametrize("swap", [None, (0, 1), (450, 451), (998, 999)])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 18])
def test_ratings_that_come_sorted_are_those_that_come_otherwise(swap, at_once, monkeypatch):
    monkeypatch.setattr("rankfill.data.ordering._AT_ONCE", at_once)
    made = low_rank(70, 40, n_ratings=1000, seed=1)
    users, items, values = made.user_indices, made.item_indices.copy(), made.values.copy()
    order = np.arange(1000)
    if swap:
        order[list(swap)] = order[list(swap)[::-1]]
    given = users[order], items[order], values[order]
    sorted_rows, came = sort_pairs(*given, 70, 40)
    for mine, theirs in zip(sorted_rows, made.by_user, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(came, np.argsort(order))
    assert given[1].flags.writeable
