"""Parts of a store are the parts of the same ratings in memory, and take no copy of them."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.folds import stratified_pieces
from rankfill.data.store import rows
from rankfill.data.store.masked import MaskedRows
from rankfill.data.store.parts import StorePart


@pytest.fixture(params=["timed", "without times"])
def ratings(request):
    """Whole stars by users and items whose ids have gaps, many of them at the same time."""
    made = rf.synthetic.low_rank(90, 40, n_ratings=900, seed=3)
    order = np.random.default_rng(0).permutation(900)
    users, items = made.user_indices[order] * 3 + 5, made.item_indices[order] * 2 - 7
    times = np.random.default_rng(1).integers(-(2**62), 2**62, 300)[np.arange(900) // 3]
    return rf.Ratings.from_arrays(users, items, made.values[order], times if request.param == "timed" else None)


@pytest.fixture(autouse=True, params=["whole", "in small pieces"])
def sizes(request, monkeypatch):
    if request.param == "in small pieces":
        monkeypatch.setattr(rows, "BLOCK", 70)
        monkeypatch.setattr("rankfill.kernels.rows.PIECE", 100)
        monkeypatch.setattr("rankfill.data.splits._BINS", 7)
        monkeypatch.setattr("rankfill.data.splits._AT_ONCE", 50)
        monkeypatch.setattr("rankfill.data.store.stored.WINDOW", 100)


@pytest.fixture
def store(ratings, tmp_path):
    return rf.store_ratings(ratings, tmp_path / "ratings.store")


def same(part, expected):
    assert isinstance(part, StorePart)
    assert type(expected) is rf.Ratings
    assert part == expected
    assert (part.shape, len(part)) == (expected.shape, len(expected))
    for mine, theirs in zip(part.by_item, expected.by_item, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (part.bounds(), part.scale()) == (expected.bounds(), expected.scale())
    for mine, theirs in zip(part.tally(), expected.tally(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert part.load() == expected
    chosen = np.arange(part.n_users) % 3 == 0
    assert part.of_user_rows(chosen) == expected.of_user_rows(chosen)
    assert part.filter(min_user=3) == expected.filter(min_user=3)
    assert sum(map(len, part.pieces())) == len(expected)


SPLITS = [("user", 0.3), ("user", 2), ("entry", 0.25), ("entry", 100), ("cold-users", 0.2), ("cold-items", 7)]
TIMED = [("time", 0.2), ("time", 100), ("last", 3), ("last", 0.3)]


@pytest.mark.parametrize(("by", "test"), SPLITS + TIMED)
def test_a_split_of_a_store_is_that_of_its_ratings(ratings, store, by, test):
    if ratings.timestamps is None and (by, test) in TIMED:
        with pytest.raises(ValueError, match="needs timestamps"):
            rf.split(store, test, by=by)
        return
    for mine, theirs in zip(rf.split(store, test, by=by, seed=4), rf.split(ratings, test, by=by, seed=4), strict=True):
        same(mine, theirs)


def test_a_part_of_a_part_is_one_of_the_ratings(ratings, store):
    mine, theirs = (rf.split(all_of_them, 0.3, seed=1)[0] for all_of_them in (store, ratings))
    for place, label in enumerate(("rest", "part")):
        parts = [each.divided(stratified_pieces(each, 4, seed=2), 4) for each in (mine, theirs)]
        same(*(getattr(each, label)(place) for each in parts))
    within = [rf.split(each, 0.5, by="entry", seed=3)[1] for each in (mine, theirs)]
    same(*within)
    same(*(rf.split(each, 5, by="entry")[1] for each in within))


def test_batches_of_a_part_meet_its_ratings_once_and_in_order(ratings, store):
    mine, theirs = (rf.split(each, 0.4)[0] for each in (store, ratings))
    batches = list(mine.batches(130))
    assert rf.Ratings.concat(batches) == rf.Ratings.concat(list(theirs.batches(130)))
    if ratings.timestamps is not None:
        assert all(one == other for one, other in zip(batches, theirs.batches(130), strict=True))


def test_single_entries_are_found(ratings, store):
    mine, theirs = (rf.split(each, 0.4)[0] for each in (store, ratings))
    places = np.random.default_rng(0).permutation(len(theirs))[:50]
    assert isinstance(mine.by_user, MaskedRows)
    np.testing.assert_array_equal(mine.by_user.values_at(places), theirs.values[places])
    np.testing.assert_array_equal(mine.by_user.some_indices[places], theirs.item_indices[places])
    np.testing.assert_array_equal(mine.by_user.some_indices[17:60], theirs.item_indices[17:60])
    assert mine.by_user.value_at(3) == theirs.values[3]
    assert mine.sample(10**6) == theirs.filter()
    assert len(mine.sample(40, seed=2)) == 40
    asked = np.array([5, -1, 0, 89, 5])
    for one, other in zip(mine.by_user.of_rows(asked), theirs.by_user.of_rows(asked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_appended_later_is_not_in_a_part(ratings, store):
    train, test = rf.split(store, 0.3)
    more = rf.Ratings.from_arrays([-1], [-9], [3.0], None if ratings.timestamps is None else [7])
    assert len(store.append(more).compact()) == len(ratings) + 1
    same(train, rf.split(ratings, 0.3)[0])
    same(test, rf.split(ratings, 0.3)[1])


def test_more_folds_than_a_byte_has_room_for(ratings, store):
    parts = [each.divided(stratified_pieces(each, 300, seed=0), 300) for each in (store, ratings)]
    for label in (0, 255, 256, 299):
        same(*(each.part(label) for each in parts))
        same(*(each.rest(label) for each in parts))


def test_parts_that_differ_are_told_apart(store):
    parts = [*rf.split(store, 0.3), *rf.split(store, 0.3, seed=1), store]
    assert len({each.identity for each in parts}) == 5
    assert rf.split(store, 0.3)[0].identity == parts[0].identity


def test_a_part_takes_little_memory(store):
    """Of a part only where its rows begin is in memory, until something asks for everything."""
    train, _ = rf.split(store, 0.3)
    list(train.by_user.blocks())
    held = [getattr(train.by_user, name) for name in ("indptr", "_of", "_mask")]
    assert held[0].nbytes == 8 * (store.n_users + 1)
    assert held[2].labels.nbytes == len(store)
    assert train.by_user._pattern is None
