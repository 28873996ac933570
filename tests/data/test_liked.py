"""The rule that says which ratings are of liked items, against itself user by user."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries

ROWS = st.lists(st.lists(st.integers(-3, 5), min_size=1, max_size=5), min_size=1, max_size=6)


def ratings_of(rows: list[list[int]]) -> Ratings:
    users = [user for user, values in enumerate(rows) for _ in values]
    items = [item for values in rows for item, _ in enumerate(values)]
    return Ratings.from_arrays(users, items, [value for values in rows for value in values])


@given(ROWS, st.integers(-4, 6))
def test_every_rule_says_what_it_is_said_to(rows: list[list[int]], bound: int) -> None:
    ratings = ratings_of(rows)
    everything = [value for values in rows for value in values]
    expected = {
        "above-mean": [value >= np.float32(np.mean(everything)) for value in everything],
        "above-user-mean": [value >= np.float32(np.mean(values)) for values in rows for value in values],
        "all": [True] * len(everything),
        bound: [value >= bound for value in everything],
    }
    for liked, mask in expected.items():
        assert liked_entries(ratings, liked).tolist() == mask


def test_what_training_knows_comes_first() -> None:
    ratings = ratings_of([[1, 5], [2, 3]])
    assert liked_entries(ratings, mean=4.5).tolist() == [False, True, False, False]
    assert liked_entries(ratings, "above-user-mean", 4.5, np.array([1, np.nan])).tolist() == [True, True, False, False]


@pytest.mark.parametrize("value", [0.1, 1e30, -7.3])
def test_equal_ratings_are_all_liked(value: float) -> None:
    ratings = ratings_of([[1] * 5] * 6).with_values(lambda values: values * np.float32(value))
    for liked in ("above-mean", "above-user-mean", "all"):
        assert liked_entries(ratings, liked).all()


@pytest.mark.parametrize("liked", [math.nan, "most", None, True, "4"])
def test_anything_else_is_refused_in_words(liked: object) -> None:
    with pytest.raises(ValueError, match="liked must be above-mean, above-user-mean, all or the lowest rating"):
        liked_entries(ratings_of([[1]]), liked)
