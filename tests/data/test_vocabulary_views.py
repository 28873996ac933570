"""Frozen vocabularies, single ids, arrays from outside, and readers beside a writer."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfill.data import Vocabulary
from rankfill.kernels.hashing import encode


@pytest.mark.parametrize("more", [["c", "d"], [f"x{k}" for k in range(500)]], ids=["a few", "beyond the table"])
def test_a_frozen_view_stays_as_it_was_and_takes_nothing(more):
    vocabulary = Vocabulary(["a", "b"])
    view = vocabulary.frozen()
    vocabulary.add(more)
    assert (len(view), list(view), view.of_strings) == (2, ["a", "b"], True)
    assert view.index(["b", *more]).tolist() == [1] + [-1] * len(more)
    assert view.row_of(more[0]) == -1
    assert vocabulary.row_of(more[-1]) == 1 + len(more)
    assert view == Vocabulary(["a", "b"])
    with pytest.raises(ValueError, match="takes no more ids; add them to the one"):
        view.add(["c"])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=40), st.integers(-(2**63), 2**63 - 1))
def test_a_single_number_has_the_row_that_index_says(ids, other):
    vocabulary = Vocabulary(ids)
    for each in [*ids, other]:
        assert vocabulary.row_of(each) == vocabulary.index([each])[0]
        assert vocabulary.row_of(np.int64(each)) == vocabulary.index([each])[0]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), unique=True, max_size=40), st.text("ab"))
def test_a_single_string_has_the_row_that_index_says(ids, other):
    vocabulary = Vocabulary(ids)
    for each in [*ids, other]:
        assert vocabulary.row_of(each) == vocabulary.index([each])[0]


@pytest.mark.parametrize(("known", "given"), [([1, 2], "1"), (["1", "2"], 1), ([1], 1.5), ([1], 2**70), ([1], None)])
def test_a_single_id_of_another_kind_is_refused_as_index_refuses_it(known, given):
    vocabulary = Vocabulary(known)
    with pytest.raises((TypeError, ValueError)) as by_index:
        vocabulary.index([given])
    with pytest.raises(by_index.type) as by_row:
        vocabulary.row_of(given)
    assert str(by_row.value) == str(by_index.value)
    assert Vocabulary([]).row_of(3) == Vocabulary([]).row_of("3") == -1


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((np.array([1.0, 2.0]),), "ids must be a vector of int64, found float64"),
        ((np.array([[1, 2]]),), "ids must be a vector of int64"),
        ((np.array([5, 6, 5]),), "keys must be distinct, found key 2"),
        ((np.zeros(3, np.int8), np.array([0, 3])), "bytes must be a vector of uint8"),
        ((np.zeros(3, np.uint8), np.array([0.0, 3.0])), "offsets must be a vector of int64"),
        ((np.zeros(3, np.uint8), np.array([1, 3])), "offsets must begin with 0, found 1"),
        ((np.zeros(3, np.uint8), np.array([0, 2**40])), "offsets must end with the number of bytes, 3"),
        ((np.zeros(3, np.uint8), np.array([0, 2, 1, 3])), "offsets must not decrease, found 1 after 2 at position 2"),
        ((np.zeros(3, np.uint8), np.empty(0, np.int64)), "offsets must have at least one number"),
        ((np.array([65, 255, 66], np.uint8), np.array([0, 1, 3])), "bytes must be UTF-8, those of key 1 are not"),
        ((np.frombuffer("aé".encode(), np.uint8), np.array([0, 2, 3])), "bytes must be UTF-8, those of key 0"),
        ((np.zeros(2, np.uint8), np.array([0, 1, 2])), "keys must be distinct, found key 1"),
    ],
)
def test_arrays_from_outside_that_are_no_keys_are_refused_by_the_part_that_is_wrong(arrays, words):
    with pytest.raises(ValueError, match=words):
        Vocabulary.from_keys(arrays, check=True)


@given(st.lists(st.binary(max_size=14), unique=True, max_size=12))
def test_bytes_are_taken_exactly_where_they_decode(parts):
    def decodes(part):
        try:
            return part.decode() is not None
        except UnicodeDecodeError:
            return False

    data = np.frombuffer(b"".join(parts), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    if all(map(decodes, parts)):
        assert list(Vocabulary.from_keys((data, offsets))) == [part.decode() for part in parts]
    else:
        with pytest.raises(ValueError, match="bytes must be UTF-8"):
            Vocabulary.from_keys((data, offsets))


def test_keys_of_a_vocabulary_make_the_same_again():
    for ids in ([3, 1, 2], ["b", "", "é"]):
        assert Vocabulary.from_keys(Vocabulary(ids).keys) == Vocabulary(ids)
    assert encode(["b", ""])[1].tolist() == [0, 1, 1]


@pytest.mark.parametrize("of_strings", [False, True], ids=["numbers", "strings"])
def test_readers_beside_a_writer_always_see_a_whole_vocabulary(of_strings):
    """Whatever a reader finds is right, and whatever its view holds it finds, while the table grows many times over."""
    name = (lambda k: f"id-{k}") if of_strings else (lambda k: 1_000_003 * k)
    vocabulary = Vocabulary([name(0)])
    failures, done = [], threading.Event()

    def read(seed):
        rng = np.random.default_rng(seed)
        try:
            while not done.is_set():
                view = vocabulary.frozen()
                n = len(view)
                picked = rng.integers(0, 2 * n, 20).tolist()
                expected = [k if k < n else -1 for k in picked]
                assert view.index([name(k) for k in picked]).tolist() == expected
                assert [view.row_of(name(k)) for k in picked] == expected
                assert view.ids([n - 1])[0] == name(n - 1)
                row = vocabulary.row_of(name(n - 1)), vocabulary.row_of(name(0))
                assert row == (n - 1, 0)
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for reader in readers:
        reader.start()
    for first in range(1, 20_000, 7):
        vocabulary.add([name(k) for k in range(first, first + 7)])
    done.set()
    for reader in readers:
        reader.join()
    assert not failures, failures[0]
