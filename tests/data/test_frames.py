"""Ratings to frames and sparse matrices and back; parts of ratings, and ratings put together."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data import Ratings, Vocabulary, frames, split

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
ids = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6, unique=True),
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4), min_size=1, max_size=6, unique=True
    ),
)


@st.composite
def rated(draw, timed=None):
    """Ratings by users of items, each of whom has at least one."""
    users, items = draw(ids), draw(ids)
    pairs = draw(st.lists(st.tuples(st.sampled_from(users), st.sampled_from(items)), max_size=20, unique=True))
    values = draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=len(pairs), max_size=len(pairs)))
    seconds = draw(st.lists(st.integers(0, 9), min_size=len(pairs), max_size=len(pairs)))
    with_times = draw(st.booleans()) if timed is None else timed
    return Ratings.from_arrays(
        [user for user, _ in pairs], [item for _, item in pairs], values, seconds if with_times else None
    )


def entries(ratings):
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    return dict(zip(zip(users.tolist(), items.tolist(), strict=True), ratings.values.tolist(), strict=True))


@given(rated(), st.sampled_from(list(LIBRARIES)))
def test_a_frame_of_ratings_makes_the_same_ratings(ratings, library):
    frame = ratings.to_frame(library)
    assert isinstance(frame, LIBRARIES[library])
    if len(ratings):
        assert Ratings.from_frame(frame) == ratings


@given(rated(timed=False))
def test_a_sparse_matrix_of_ratings_makes_the_same_ratings(ratings):
    again = Ratings.from_sparse(ratings.to_sparse())
    for mine, theirs in zip(again.by_user, ratings.by_user, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["csr", "csc", "coo"]))
def test_ratings_of_a_sparse_matrix_make_the_same_matrix(seed, layout):
    matrix = scipy.sparse.random_array((7, 4), density=0.4, format=layout, rng=seed, dtype=np.float32)
    assert (Ratings.from_sparse(matrix).to_sparse() != matrix).nnz == 0


def test_numbers_stay_numbers_and_strings_stay_strings():
    frame = Ratings.from_arrays([3, 10], ["3", "007"], [1.0, 2.0]).to_frame("polars")
    assert frame.rows() == [(3, "3", 1.0), (10, "007", 2.0)]
    floats = Ratings.from_frame(pd.DataFrame({"user": [3.0, 10.0], "item": ["a", "b"], "rating": [1, 2]}))
    assert floats.users.ids().tolist() == [3, 10]
    assert all(type(identity) is int for identity in floats.users)


def test_a_missing_id_is_refused_in_words():
    numbers = pd.DataFrame({"user": [3, None], "item": [1, 2], "rating": [1, 2]})
    with pytest.raises(ValueError, match="found nan at row 1; drop the rows without an id"):
        Ratings.from_frame(numbers)
    with pytest.raises(TypeError, match=r"all strings or all whole numbers, found .* at row 1"):
        Ratings.from_frame(pd.DataFrame({"user": ["ann", None], "item": [1, 2], "rating": [1, 2]}))


def test_ids_with_a_fraction_are_refused_in_words():
    with pytest.raises(ValueError, match=r"found 1.5 at row 0; make them strings"):
        Ratings.from_arrays([1.5], [1])


def test_of_a_lazy_frame_only_the_columns_needed_are_collected():
    lazy = pl.LazyFrame({"user": [1], "item": [2], "rating": [3.0], "broken": ["x"]})
    lazy = lazy.with_columns(pl.col("broken").cast(pl.Int64))
    assert entries(Ratings.from_frame(lazy)) == {(1, 2): 3.0}


def test_the_first_library_there_is_makes_the_frame(monkeypatch):
    ratings = Ratings.from_arrays([1], [2], [3.0])
    assert isinstance(ratings.to_frame(), pd.DataFrame)
    installed = {"polars"}
    monkeypatch.setattr(frames.importlib.util, "find_spec", lambda name: name if name in installed else None)
    assert isinstance(ratings.to_frame(), pl.DataFrame)
    with pytest.raises(ModuleNotFoundError, match="a frame needs pandas, which is not installed; pip install pandas"):
        ratings.to_frame("pandas")
    installed.clear()
    with pytest.raises(ModuleNotFoundError, match="a frame needs pandas or polars or pyarrow"):
        ratings.to_frame()


def test_a_library_that_is_none_is_refused_in_words():
    with pytest.raises(ValueError, match="library must be one of pandas, polars, pyarrow, found 'excel'"):
        Ratings.from_arrays([1], [2]).to_frame("excel")


@given(rated(), st.data())
def test_the_ratings_of_some_users_and_items_are_theirs_alone(ratings, data):
    if not len(ratings):
        return
    users = data.draw(st.lists(st.sampled_from(list(ratings.users)), min_size=1))
    items = data.draw(st.lists(st.sampled_from(list(ratings.items)), min_size=1))
    of_users, of_items = ratings.of_users(users), ratings.of_items(items)
    assert entries(of_users) == {pair: value for pair, value in entries(ratings).items() if pair[0] in users}
    assert entries(of_items) == {pair: value for pair, value in entries(ratings).items() if pair[1] in items}
    for part in (of_users, of_items):
        assert part.by_user.counts().all()
        assert part.by_item.counts().all()
        assert part == Ratings.from_frame(part.to_frame("polars"))


def test_an_unknown_id_is_refused_in_words():
    ratings = Ratings.from_arrays(["ann"], [7])
    with pytest.raises(ValueError, match="there is no user 'zoe' among the 1 of these ratings; leave it out"):
        ratings.of_users(["ann", "zoe"])
    with pytest.raises(ValueError, match="there is no item 8 among"):
        ratings.of_items(8)


def test_the_stream_of_a_part_keeps_its_order():
    part = Ratings.from_arrays([3, 1, 2, 1], [1, 1, 1, 2], [1.0, 2, 3, 4]).of_users([3, 1])
    assert part.values[part.stream_order()].tolist() == [1.0, 2.0, 4.0]


@given(rated(), st.integers(0, 4), st.integers(0, 4))
def test_what_is_left_by_a_filter_is_the_largest_part_in_which_all_have_enough(ratings, min_user, min_item):
    left = set(entries(ratings))
    while True:
        users, items = [user for user, _ in left], [item for _, item in left]
        kept = {(u, i) for u, i in left if users.count(u) >= min_user and items.count(i) >= min_item}
        if kept == left:
            break
        left = kept
    filtered = ratings.filter(min_user=min_user, min_item=min_item)
    assert set(entries(filtered)) == left
    assert filtered.shape == (len({u for u, _ in left}), len({i for _, i in left}))


@given(rated(), st.integers(1, 7))
def test_batches_are_the_stream_cut_into_pieces(ratings, size):
    batches = list(ratings.batches(size))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    streamed = [value for batch in batches for value in batch.values[batch.stream_order()].tolist()]
    assert streamed == ratings.values[ratings.stream_order()].tolist()
    if batches:
        assert Ratings.concat(batches) == ratings


def test_batches_of_nothing_are_refused_in_words():
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, found 0"):
        Ratings.from_arrays([1], [2]).batches(0)


def test_the_parts_of_a_split_make_the_whole():
    users, items = np.divmod(np.arange(60), 5)
    ratings = Ratings.from_arrays(users, items, np.arange(60) % 7)
    assert Ratings.concat(split(ratings)) == ratings


def test_a_later_part_is_later():
    one, two = Ratings.from_arrays([5, 1], [1, 1], [1.0, 2.0]), Ratings.from_arrays([1, 9], [1, 1], [3.0, 4.0])
    with pytest.raises(ValueError, match="user 1 rates item 1 twice"):
        Ratings.concat([one, two])
    both = Ratings.concat([one, two], duplicates="last")
    assert entries(both) == {(1, 1): 3.0, (5, 1): 1.0, (9, 1): 4.0}
    assert both.values[both.stream_order()].tolist() == [1.0, 3.0, 4.0]


def test_ids_without_ratings_stay_when_parts_are_put_together():
    none = np.zeros(0, np.int32)
    empty = Ratings.from_indices(Vocabulary(["zoe"]), Vocabulary([8]), none, none, none)
    assert Ratings.concat([empty, Ratings.from_arrays(["ann"], [7])]).users.ids().tolist() == ["ann", "zoe"]


def test_parts_that_do_not_fit_together_are_refused_in_words():
    plain = Ratings.from_arrays([1], [2])
    with pytest.raises(ValueError, match="nothing to put together"):
        Ratings.concat([])
    with pytest.raises(ValueError, match="1 of 2 parts have timestamps"):
        Ratings.concat([plain, Ratings.from_arrays([3], [2], timestamps=[1])])
    with pytest.raises(TypeError, match="some parts have numbers for ids, others strings"):
        Ratings.concat([plain, Ratings.from_arrays(["ann"], [2])])


def test_a_description_says_how_many_how_dense_and_when():
    ratings = Ratings.from_arrays([1, 1, 1, 2], [1, 2, 3, 1], [1, 2, 3, 5], [0, 86400, 86400, 10**9])
    text = ratings.describe()
    assert str(text).splitlines() == [
        "ratings   4 (66.7% of 2 users × 3 items)",
        "scale     1 to 5, mean 2.75",
        "per user  1 to 3, quartiles 1.5, 2, 2.5",
        "per item  1 to 2, quartiles 1, 1, 1.5",
        "time      1970-01-01 to 2001-09-09",
    ]
    assert text.per_user == (1, 1.5, 2, 2.5, 3)
    assert text.span == (0, 10**9)


@pytest.mark.parametrize("seconds", [-(2**63), 2**63 - 1])
def test_times_beyond_the_calendar_are_described_as_numbers(seconds):
    assert str(seconds) in str(Ratings.from_arrays([1], [2], timestamps=[seconds]).describe())


def test_no_ratings_can_be_described():
    assert "0 (0 of 0 users × 0 items)" in str(Ratings.from_arrays([], []).describe())


def test_a_notebook_shows_the_description_as_a_table():
    page = Ratings.from_arrays([1], [2], [3.0])._repr_html_()
    assert page.startswith("<table><tr><th>ratings</th><td>1 (100.0% of 1 users × 1 items)</td></tr>")
