"""Ids to row numbers and back, whatever the ids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data import Vocabulary

INTEGERS = st.integers(-(2**63), 2**63 - 1)
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.one_of(st.lists(INTEGERS, max_size=60), st.lists(STRINGS, max_size=60))


@given(IDS)
def test_numbering_is_the_place_among_the_distinct_ids_in_ascending_order(ids):
    vocabulary, indices = Vocabulary.numbered(ids)
    distinct = sorted(set(ids))
    assert list(vocabulary) == distinct
    assert indices.tolist() == [distinct.index(identity) for identity in ids]
    assert indices.dtype == np.int32


@given(IDS)
def test_ids_come_back_from_their_row_numbers(ids):
    vocabulary, indices = Vocabulary.numbered(ids)
    assert vocabulary.ids(indices).tolist() == ids
    assert vocabulary.index(ids).tolist() == indices.tolist()


@given(IDS, st.data())
def test_adding_appends_the_unknown_in_order_of_appearance(ids, data):
    more = data.draw(st.lists(INTEGERS if ids and isinstance(ids[0], int) else STRINGS, max_size=30))
    distinct = list(dict.fromkeys(ids))
    vocabulary = Vocabulary(distinct)
    indices = vocabulary.add(more)
    assert list(vocabulary) == list(dict.fromkeys(distinct + more))
    assert vocabulary.ids(indices).tolist() == more


@pytest.mark.parametrize("known", [[3, 1, 2], ["b", "a", "é", ""]])
def test_unknown_ids_have_index_minus_one(known):
    unknown = 99 if isinstance(known[0], int) else "z"
    assert Vocabulary(known).index([known[1], unknown]).tolist() == [1, -1]
    assert unknown not in Vocabulary(known)
    assert known[2] in Vocabulary(known)


def test_a_string_is_not_in_a_vocabulary_of_numbers_and_the_reverse():
    assert "1" not in Vocabulary([1])
    assert 1 not in Vocabulary(["1"])
    assert 2**70 not in Vocabulary([1])
    assert 1.0 not in Vocabulary([1])


@pytest.mark.parametrize("empty", [[], np.empty(0, dtype=object), np.empty(0, dtype=np.int64)])
@pytest.mark.parametrize("ids", [[7, 5], ["x", "y"]])
def test_an_empty_vocabulary_knows_nothing_and_takes_any_kind(empty, ids):
    vocabulary = Vocabulary(empty)
    assert vocabulary.index(ids).tolist() == [-1, -1]
    assert vocabulary.add(ids).tolist() == [0, 1]
    assert list(vocabulary) == ids


@pytest.mark.parametrize("known", [[7, 5], ["x", "y"]])
def test_no_ids_have_no_indices(known):
    vocabulary = Vocabulary(known)
    assert vocabulary.index([]).tolist() == vocabulary.add([]).tolist() == []
    assert len(vocabulary) == 2


def test_numbers_for_strings_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match="known here are strings, found numbers such as 3; convert them"):
        Vocabulary(["3"]).index([3])
    with pytest.raises(TypeError, match="known here are numbers, found strings such as '3'"):
        Vocabulary([3]).add(["3"])


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([1, 2, 1], ValueError, "found 1 again at position 2"),
        (["a", "b", "b"], ValueError, "found 'b' again at position 2"),
        ([1, "a"], TypeError, "found 'a' at row 1"),
        (["a", None], TypeError, "found None at row 1"),
        ([1.0, 2.5], ValueError, r"found 2\.5 at row 1"),
        ([1.0, np.nan], ValueError, "found nan at row 1"),
        ([1, 2**63], ValueError, "at row 1"),
        ([2**70, 1], ValueError, "fit 64 bits, found 1180591620717411303424 at row 0"),
        ([[1, 2]], ValueError, "flat sequence, found 2 dimensions"),
        (np.array(["2020-01-01"], dtype="M8[D]"), TypeError, "found dtype datetime64"),
    ],
)
def test_what_is_no_id_is_refused_in_words(ids, error, words):
    with pytest.raises(error, match=words):
        Vocabulary(ids)


def test_whole_floats_and_every_integer_type_are_the_same_ids():
    for kind in (np.float64, np.float32, np.int8, np.uint16, np.uint64, object):
        assert Vocabulary(np.array([4, 2], dtype=kind)) == Vocabulary([4, 2])


def test_every_kind_of_string_array_holds_the_same_ids():
    for kind in (object, "U5", np.dtypes.StringDType()):
        assert Vocabulary(np.array(["b", "aé"], dtype=kind)) == Vocabulary(["b", "aé"])


def test_order_and_kind_matter_for_equality():
    assert Vocabulary([1, 2]) != Vocabulary([2, 1])
    assert Vocabulary([1]) != Vocabulary(["1"])
    assert Vocabulary([1]) != [1]


def test_a_copy_grows_alone():
    original = Vocabulary(["a"])
    copy = original.copy()
    copy.add(["b"])
    assert len(original) == 1
    assert len(copy) == 2


def test_a_million_far_apart_numbers_are_numbered_like_numpy_does():
    ids = np.random.default_rng(0).integers(-(2**62), 2**62, 1_000_000)
    ids[::3] = ids[0]
    vocabulary, indices = Vocabulary.numbered(ids)
    distinct, inverse = np.unique(ids, return_inverse=True)
    np.testing.assert_array_equal(vocabulary.ids(), distinct)
    np.testing.assert_array_equal(indices, inverse)


def test_a_million_close_numbers_are_numbered_like_numpy_does():
    ids = np.random.default_rng(1).integers(-5_000, 700_000, 1_000_000)
    vocabulary, indices = Vocabulary.numbered(ids)
    distinct, inverse = np.unique(ids, return_inverse=True)
    np.testing.assert_array_equal(vocabulary.ids(), distinct)
    np.testing.assert_array_equal(indices, inverse)


def test_a_million_strings_are_found_again():
    strings = np.array([f"id-{k * 7919 % 1_000_003}" for k in range(1_000_000)], dtype=object)
    vocabulary = Vocabulary(strings)
    np.testing.assert_array_equal(vocabulary.index(strings[::-1]), np.arange(1_000_000)[::-1])
    assert vocabulary.index(["id-1000003"]) == [-1]


def test_the_representation_shows_the_first_ids():
    assert repr(Vocabulary(["a", "b", "c", "d"])) == "Vocabulary(['a', 'b', 'c', …], 4 ids)"
    assert repr(Vocabulary([])) == "Vocabulary([], 0 ids)"
