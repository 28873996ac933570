"""Everything that can be taken for ratings makes the same ratings."""

import datetime
import io
import re
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import rankfill as rf
from rankfill.data import Ratings, as_ratings

ROWS = [(3, 10, 5.0, 100), (3, 20, 3.0, 50), (1, 20, 4.0, 70)]
NAMES = ("user", "item", "rating", "timestamp")
WANTED = Ratings.from_arrays(*zip(*ROWS, strict=True))
COLUMNS = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))


@pytest.mark.parametrize(
    "data",
    [
        WANTED,
        pd.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS),
        pl.LazyFrame(COLUMNS),
        pa.table(COLUMNS),
        ROWS,
        tuple(ROWS),
        [list(row) for row in ROWS],
        list(np.array(ROWS)),
        np.array(ROWS),
        np.array(ROWS, dtype=object),
        np.asfortranarray(np.array(ROWS, dtype=np.int64)),
    ],
    ids=lambda data: type(data).__module__ + "." + type(data).__name__,
)
def test_ratings_come_in_many_shapes(data):
    assert as_ratings(data) == WANTED


def test_ratings_are_returned_as_they_are():
    assert as_ratings(WANTED) is WANTED


def test_a_path_and_its_name_are_read(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    assert as_ratings(path) == as_ratings(str(path)) == WANTED


def test_a_dash_is_standard_input(monkeypatch):
    text = "\n".join("\t".join(map(str, row)) for row in ROWS)
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert as_ratings("-") == WANTED


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_a_sparse_matrix_has_users_in_rows(layout, kind):
    matrix = kind(([5.0, 3.0], ([0, 2], [1, 0])), shape=(3, 2)).asformat(layout)
    ratings = as_ratings(matrix)
    assert ratings.shape == (3, 2)
    np.testing.assert_array_equal(ratings.to_sparse().toarray(), [[0, 5], [0, 0], [3, 0]])


def test_two_columns_are_positives_and_three_have_no_times():
    assert as_ratings([("ann", "tea"), ("bob", "tea")]).values.tolist() == [1.0, 1.0]
    assert as_ratings(np.array([["ann", "tea"], ["bob", "tea"]])).users.ids().tolist() == ["ann", "bob"]
    assert as_ratings([row[:3] for row in ROWS]).timestamps is None


def test_times_in_a_list_may_be_dates():
    day = datetime.datetime(1970, 1, 2)
    assert as_ratings([("ann", "tea", 5, day)]).timestamps.tolist() == [86400]
    assert as_ratings([("ann", "tea", 5, "1970-01-02")]).timestamps.tolist() == [86400]


def test_the_rule_for_duplicates_and_the_names_of_columns_are_passed_on(tmp_path):
    twice = [("ann", "tea", 1.0), ("ann", "tea", 2.0)]
    frame = pd.DataFrame(twice, columns=["who", "what", "how"])
    frame.to_csv(tmp_path / "log.csv", index=False)
    names = ("who", "what", "how")
    for data, columns in [(twice, None), (frame, names), (tmp_path / "log.csv", names)]:
        assert as_ratings(data, columns, duplicates="sum").values.tolist() == [3.0]
        with pytest.raises(ValueError, match="user 'ann' rates item 'tea' twice"):
            as_ratings(data, columns)


def test_no_rows_are_no_ratings():
    assert len(as_ratings([])) == 0


@pytest.mark.parametrize("wrong", [None, 7, 1.5, {"user": [1]}, object(), pd.Series([1, 2]), {1, 2}])
def test_what_cannot_be_ratings_is_refused_in_words(wrong):
    with pytest.raises(TypeError, match=f"ratings are Ratings, a data frame, .*; found {type(wrong).__name__}"):
        as_ratings(wrong)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ([1, 2], TypeError, "a list of ratings holds tuples .* found 1 at position 0"),
        (["ab", "cd"], TypeError, "found 'ab' at position 0"),
        ([(1, 2), (1, 2, 3)], TypeError, r"all of one length; found \(1, 2, 3\) at position 1"),
        ([(1, "tea", 3), ("ann", "tea", 4)], TypeError, "ids must be all strings or all whole numbers, found 'ann'"),
        ([(1, 2, "good")], TypeError, "ratings must be numbers"),
        (np.ones(3), ValueError, r"found shape \(3,\)"),
        (np.ones((5, 9)), ValueError, r"found shape \(5, 9\); a full matrix of users by items goes through"),
        ("no such file.csv", FileNotFoundError, "there is no file no such file.csv"),
    ],
)
def test_a_wrong_shape_is_refused_in_words(wrong, kind, words):
    with pytest.raises(kind, match=words):
        as_ratings(wrong)


def test_columns_have_names_only_in_frames_and_files():
    with pytest.raises(ValueError, match=re.escape("columns are for frames and files, which have names; found a list")):
        as_ratings(ROWS, ("user", "item"))


def test_models_evaluation_and_splits_take_what_can_be_ratings():
    frame = pd.DataFrame(COLUMNS)
    for train, held_out in (rf.split(frame, test=0.3), rf.split(WANTED, test=0.3)):
        model = rf.Bias().fit(train.to_frame("pyarrow"), validation=held_out.to_frame("polars"))
        assert rf.evaluate(model, held_out.to_frame("pandas"), scores=["rmse"]) == rf.evaluate(
            model, held_out, scores=["rmse"]
        )
    assert rf.PassiveAggressive(rank=2).partial_fit(ROWS).n_ratings_ == 3
