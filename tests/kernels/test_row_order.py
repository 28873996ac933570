"""The order in which a row's entries are met: every entry once, another order for another row or pass."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill.kernels import Rows, Rule, padded_copy, passive_aggressive_pass
from rankfill.kernels.reference import row_order as reference


def is_permutation(order, n):
    return len(order) == n and (np.bincount(order, minlength=n) == 1).all()


def test_order_is_a_permutation_for_every_length():
    for n in range(1, 2001):
        assert is_permutation(reference.row_order(n * 31, n % 7, n), n), n


@pytest.mark.parametrize("n", [4096, 65_536, 99_991, 510_510, 1_000_000, 11 * 13 * 17 * 19 * 23])
def test_order_is_a_permutation_for_long_rows(n):
    for row in range(3):
        assert is_permutation(reference.row_order(5, row, n), n)


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**31), st.integers(1, 300))
def test_order_is_a_permutation_for_every_seed_and_row(seed, row, n):
    assert is_permutation(reference.row_order(seed, row, n), n)


def test_sixteen_strides_are_distinct_primes_as_large_as_a_row_can_be():
    """A stride shares a factor with the length of a row only where the length is that prime, which is skipped."""
    primes = np.array(reference._PRIMES)
    assert len(set(primes.tolist())) == 16
    assert primes.max() == 2**31 - 1
    small = np.arange(2, int(np.sqrt(primes.max())) + 1)
    assert all((prime % small != 0).all() for prime in primes)


def test_length_equal_to_a_stride_is_walked_with_another(monkeypatch):
    """At full size the row would take 16 GB, so the strides are shrunk instead."""
    monkeypatch.setattr(reference, "_PRIMES", (7, 11) * 8)
    for row in range(20):
        assert is_permutation(reference.row_order(1, row, 7), 7)
        assert is_permutation(reference.row_order(1, row, 11), 11)


@pytest.mark.parametrize("n", [512, 999, 4096, 30_030])
def test_walk_of_a_long_row_comes_by_beside_where_it_was(n):
    """After so many places that a line of the cache is still near, and never the same ones pass after pass."""
    places = set()
    for seed in range(50):
        order = reference.row_order(seed, 0, n)
        beside = np.flatnonzero((order - order[0]) % n == 1)[0]
        np.testing.assert_array_equal((order[beside:] - order[:-beside]) % n, 1)
        places.add(int(beside))
    assert places <= set(reference._PLACES)
    assert len(places) > 3
    assert np.prod(reference._PLACES, dtype=float) > 2**31, "a row's length may be divisible by all"


@pytest.mark.parametrize("vary", ["row", "pass"])
def test_orders_differ_from_row_to_row_and_from_pass_to_pass(vary):
    orders = [
        tuple(reference.row_order(3, k, 60) if vary == "row" else reference.row_order(k, 3, 60)) for k in range(200)
    ]
    assert len(set(orders)) > 120
    first = [order[0] for order in orders]
    assert len(set(first)) > 40


def test_pass_depends_on_the_seed_as_the_orders_do():
    rng = np.random.default_rng(0)
    rows = Rows(np.array([0, 12]), np.arange(12, dtype=np.int32), rng.random(12, dtype=np.float32) + 1)
    fixed, start = padded_copy(rng.random((12, 3))), padded_copy(rng.random((1, 3)))
    moved = []
    for seed in (1, 2, 1):
        moving = start.copy()
        passive_aggressive_pass(rows, moving, fixed, Rule(C=1.0, slack="none"), seed)
        moved.append(moving)
    assert (moved[0] != moved[1]).any()
    np.testing.assert_array_equal(moved[0], moved[2])
