"""Lists of recommendations as a tuple and as a table."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rankfill as rf
from rankfill.models import Recommendations

RATINGS = rf.Ratings.from_arrays(
    ["ann", "ann", "bob", "cat", "cat"], ["tea", "milk", "tea", "tea", "beer"], [5, 3, 5, 4, 1]
)


@pytest.fixture
def model():
    return rf.Bias(shrinkage=0).fit(RATINGS)


def test_a_table_has_a_row_for_every_place_that_is_not_empty(model):
    best = model.recommend(["cat", "bob"], n=3)
    rows = best.to_frame("polars").rows()
    assert [(user, place, item) for user, place, item, _ in rows] == [
        ("cat", 1, "milk"),
        ("bob", 1, "milk"),
        ("bob", 2, "beer"),
    ]
    np.testing.assert_array_equal(
        [row[3] for row in rows], model.predict(["cat", "bob", "bob"], ["milk", "milk", "beer"])
    )


def test_one_user_and_newcomers_are_named_in_the_table(model):
    assert model.recommend("bob").to_frame("pandas")["user"].tolist() == ["bob", "bob"]
    newcomer = rf.Ratings.from_arrays(["zoe"], ["tea"], [4])
    assert model.recommend(newcomer).to_frame("pandas")["user"].unique().tolist() == ["zoe"]


def test_numbers_stay_numbers_in_the_table():
    frame = rf.Bias().fit([(1, 7, 5), (2, 7, 4), (2, 8, 3)]).recommend([1]).to_frame("pyarrow")
    assert frame.to_pylist()[0].items() >= {"user": 1, "place": 1, "item": 8}.items()


def test_lists_are_still_a_pair_of_arrays(model):
    best = model.recommend(["bob"], n=2)
    items, scores = best
    assert items is best.items
    assert scores is best.scores
    assert len(best) == 2


def test_copies_keep_the_users_and_lists_without_users_number_them(model):
    best = pickle.loads(pickle.dumps(model.recommend(["bob"])))
    assert best.users.tolist() == ["bob"]
    unnamed = Recommendations(best.items, best.scores)
    assert unnamed.to_frame()["user"].tolist() == [0, 0]


def test_nobody_asked_for_is_an_empty_table(model):
    frame = model.recommend(np.array([], dtype=object)).to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape == (0, 4)
