"""The scale of ratings: a slip of the pen does not widen it, an honest end stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data.scale import Ends, changes_at, most_apart, scale_of

FIVE_STARS = np.tile(np.arange(1.0, 6.0), 60)


def scale(*parts):
    values = np.concatenate([np.atleast_1d(np.asarray(part, np.float32)) for part in parts])
    return scale_of(np.random.default_rng(0).permutation(values))


@pytest.mark.parametrize("stray", [[50], [-40], [50, 500], [50, 51, 52], [-40, 50], [1e30], [10], [99, -99, 1e6]])
def test_a_few_that_stand_far_apart_do_not_count(stray):
    assert scale(FIVE_STARS, stray) == (1, 5)


@pytest.mark.parametrize(("rare", "expected"), [([6], (1, 6)), ([0], (0, 5)), ([0.5, 5.5], (0.5, 5.5)), ([9], (1, 9))])
def test_the_end_of_a_scale_may_be_rare(rare, expected):
    assert scale(FIVE_STARS, rare) == expected


def test_what_is_not_rare_belongs_to_the_scale():
    assert scale(FIVE_STARS, [50] * 4) == (1, 50)
    assert scale(np.tile(FIVE_STARS, 10), [50] * 4) == (1, 50)
    assert scale(np.tile(FIVE_STARS, 20), [50] * 6) == (1, 5)


def test_few_ratings_are_taken_as_they_are():
    assert scale(FIVE_STARS[:50], [50]) == (1, 50)
    assert scale([3]) == (3, 3)
    assert scale([]) == (0, 0)


def test_where_nearly_all_ratings_are_equal_the_others_are_the_scale():
    assert scale(np.zeros(5000), [1]) == (0, 1)
    assert scale(np.full(5000, 3.0), [5, 1]) == (1, 5)


def test_counts_with_a_long_tail_lose_little_of_it():
    counts = np.random.default_rng(1).zipf(1.8, size=20_000)
    low, high = scale(counts)
    assert low == 1
    assert (counts > high).sum() <= 3


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=400))
def test_the_scale_is_made_of_values_and_holds_nearly_all(values):
    array = np.array(values, np.float32)
    low, high = scale_of(array)
    assert low in array
    assert high in array
    assert low <= high
    assert ((array < low) | (array > high)).sum() <= 6
    assert scale_of(-array) == (-high, -low)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=900), st.integers(1, 9))
def test_a_stream_has_the_scale_of_its_values_however_it_is_cut(values, parts):
    array, ends = np.float32([50 if value == 9 else value for value in values]), Ends()
    for part in np.array_split(array, parts):
        ends = ends.extend(part)
        assert all(not ends.hold(value) or same(ends, ends.extend(np.float32([value]))) for value in part[:5])
    assert ends.scale(len(array)) == scale_of(array)
    assert ends.belong_to(len(array))
    assert not ends.belong_to(len(array) + 1) or len(array) >= 256


def same(ends, others):
    return np.array_equal(ends.lowest, others.lowest) and np.array_equal(ends.highest, others.highest)


def test_a_stream_looks_at_its_scale_whenever_more_values_may_stand_apart():
    for n in range(1, 20_000):
        assert most_apart(n) == most_apart(n - 1) or changes_at(n)
