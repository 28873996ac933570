"""What users have seen, against a dictionary of sets."""

from itertools import pairwise

import numpy as np
import pytest

from rankfill.kernels import Rows
from rankfill.models.base.seen import SeenItems


def of_pairs(pairs, n_users):
    users, items = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2).T
    indptr = np.searchsorted(users, np.arange(n_users + 1)).astype(np.int64)
    return SeenItems.of(Rows(indptr, np.ascontiguousarray(items), np.ones(len(items), np.float32)))


def as_sets(indptr, items):
    rows = [items[a:b].tolist() for a, b in pairwise(indptr)]
    assert all(row == sorted(set(row)) for row in rows)
    return [set(row) for row in rows]


@pytest.mark.parametrize("size", [1, 7, 400])
def test_pairs_added_in_any_portions_are_seen(size):
    rng = np.random.default_rng(0)
    pairs = [(int(u), int(i)) for u, i in zip(rng.integers(0, 30, 3000), rng.integers(0, 200, 3000), strict=True)]
    seen, truth = of_pairs(set(pairs[:100]), 20 + 10), {}
    for user, item in pairs[:100]:
        truth.setdefault(user, set()).add(item)
    for first in range(100, len(pairs), size):
        part = pairs[first : first + size]
        users, items = np.array(part, dtype=np.int32).T
        seen.add(users, items)
        for user, item in part:
            truth.setdefault(user, set()).add(item)
        asked = rng.integers(-1, 40, 5).astype(np.int32)
        assert as_sets(*seen.rows(asked)) == [truth.get(int(user), set()) for user in asked]
    assert as_sets(*seen.all_rows()) == [truth.get(user, set()) for user in range(30)]
    assert as_sets(*seen.rows(np.array([3], np.int32))) == [truth[3]]


def test_one_pair_at_a_time_is_the_same_as_many():
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 9, 2500).astype(np.int32), rng.integers(0, 300, 2500).astype(np.int32)
    one, many = SeenItems.empty(), SeenItems.empty()
    many.add(users, items)
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        one.add_one(user, item)
    for ours, theirs in zip(one.all_rows(), many.all_rows(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_frozen_view_stays_whole_while_more_comes_in():
    seen = of_pairs({(0, 3), (1, 5)}, 2)
    view = seen.frozen()
    seen.add(np.repeat(np.arange(4, dtype=np.int32), 600), np.tile(np.arange(600, dtype=np.int32), 4))  # folded in
    assert as_sets(*view.all_rows()) == [{3}, {5}]
    assert as_sets(*view.rows(np.array([0, 1, 3], np.int32))) == [{3}, {5}, set()]


def test_reading_changes_nothing():
    seen = SeenItems.empty()
    seen.add(np.array([2, 2, 0], np.int32), np.array([4, 1, 9], np.int32))
    before = vars(seen).copy()
    seen.rows(np.arange(50, dtype=np.int32))
    seen.all_rows()
    assert vars(seen) == before
