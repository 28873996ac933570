"""Event logs and positives: tables without ratings, counts, and events that add up."""

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data import Ratings, read_batches, read_ratings
from rankfill.data.duplicates import HALF_LIFE

DAY = 24 * 60 * 60
events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-(10**9), 10**9)), min_size=1, max_size=40
)


def read(tmp_path, text, **settings):
    path = tmp_path / "log.csv"
    path.write_text(text)
    return read_ratings(path, **settings)


def triples(ratings):
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    return list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "ann,tea\nbob,tea\n",
        "user,item\nann,tea\nbob,tea\n",
        "Customer ID\tSKU\nann\ttea\nbob\ttea\n",
        "ann::tea\nbob::tea",
    ],
)
def test_every_line_of_a_file_of_two_columns_is_a_rating_of_one(tmp_path, text):
    assert triples(read(tmp_path, text)) == [("ann", "tea", 1.0), ("bob", "tea", 1.0)]


def test_two_columns_may_come_gzipped_as_parquet_and_in_batches(tmp_path):
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(b"1,2\n3,4\n"))
    pl.DataFrame({"user": [1, 3], "item": [2, 4]}).write_parquet(tmp_path / "log.parquet")
    expected = Ratings.from_arrays([1, 3], [2, 4])
    for name in ("log.csv.gz", "log.parquet"):
        assert read_ratings(tmp_path / name) == expected
        assert [triples(batch) for batch in read_batches(tmp_path / name)] == [[(1, 2, 1.0)], [(3, 4, 1.0)]]


def test_a_log_of_users_items_and_times_has_ratings_of_one_and_times(tmp_path):
    text = "user,item,timestamp\nann,tea,20\nbob,tea,10\n"
    for ratings in (read(tmp_path, text), read(tmp_path, text, columns=("user", "item", "timestamp"))):
        assert ratings.values.tolist() == [1.0, 1.0]
        assert ratings.timestamps.tolist() == [20, 10]


def test_columns_can_leave_the_rating_out(tmp_path):
    assert read(tmp_path, "ann,tea,5\n", columns=("user", "item")).values.tolist() == [1.0]
    assert read(tmp_path, "user,item,rating\nann,tea,5\n", columns=("user", "item")).values.tolist() == [1.0]


@pytest.mark.parametrize(
    "name", ["count", "plays", "play_count", "Clicks", "listens", "views", "quantity", "Qty", "purchases", "weight"]
)
def test_a_count_is_recognised_as_the_rating(name):
    frame = pd.DataFrame({name: [7, 8], "user_id": ["ann", "bob"], "song": [1, 1]})
    assert Ratings.from_frame(frame).values.tolist() == [7.0, 8.0]


def test_a_rating_comes_before_a_count():
    frame = pd.DataFrame({"views": [700], "user": [1], "item": [1], "stars": [4]})
    assert Ratings.from_frame(frame).values.tolist() == [4.0]


def test_a_column_that_may_be_the_rating_is_not_passed_over():
    frame = pd.DataFrame({"user": [1], "item": [1], "grade": [4]})
    with pytest.raises(ValueError, match=re.escape('or columns=("user", "item") if each row is a positive')):
        Ratings.from_frame(frame)
    assert Ratings.from_frame(frame, columns=("user", "item")).values.tolist() == [1.0]
    assert Ratings.from_frame(frame, columns=("user", "item", "grade")).values.tolist() == [4.0]


@given(events)
def test_decayed_events_add_up_to_what_the_formula_says(log):
    users, items, times = (np.array(column) for column in zip(*log, strict=True))
    values = np.arange(1, len(log) + 1)
    ratings = Ratings.from_arrays(users, items, values, times, duplicates="decay")
    expected: dict[tuple[int, int], float] = {}
    for user, item, time, value in zip(users.tolist(), items.tolist(), times.tolist(), values.tolist(), strict=True):
        weight = 0.5 ** ((int(times.max()) - time) / HALF_LIFE)
        expected[user, item] = expected.get((user, item), 0.0) + value * weight
    assert [entry[:2] for entry in triples(ratings)] == sorted(expected)
    np.testing.assert_allclose(ratings.values, [expected[pair] for pair in sorted(expected)], rtol=1e-5, atol=1e-30)


def test_an_event_counts_half_after_ninety_days_though_it_came_once():
    ratings = Ratings.from_arrays([1, 2], [1, 1], timestamps=[0, 90 * DAY], duplicates="decay")
    assert ratings.values.tolist() == [0.5, 1.0]


def test_decay_without_times_is_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match=r'duplicates="decay" needs timestamps.*use "sum" or "count"'):
        Ratings.from_arrays([1], [1], duplicates="decay")
    (tmp_path / "log.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match='duplicates="decay" cannot be had; use "sum" or "count"'):
        read_batches(tmp_path / "log.csv", duplicates="decay")


def test_events_of_no_user_add_up_to_nothing():
    assert len(Ratings.from_arrays([], [], timestamps=[], duplicates="decay")) == 0


def test_a_count_counts_pairs_that_came_once_too():
    assert Ratings.from_arrays([1, 2], [1, 1], [5.0, 3.0], duplicates="count").values.tolist() == [1.0, 1.0]


def test_a_sum_beyond_the_largest_number_is_refused_in_words():
    with pytest.raises(ValueError, match="ratings must be finite numbers"):
        Ratings.from_arrays([1, 1], [1, 1], [3e38, 3e38], duplicates="sum")
