"""The share of the best rated among the best predicted, against all orders of ties counted one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill.objectives.top_share import top_share


def share_by_enumeration(ratings: list[float], predictions: list[float], k: int) -> float:
    """All draws among tied predictions, each against the most favourable of all true top k."""

    def top_sets(values: list[float]) -> list[set[int]]:
        last = sorted(values, reverse=True)[k - 1]
        above = {entry for entry, value in enumerate(values) if value > last}
        level = [entry for entry, value in enumerate(values) if value == last]
        return [above | set(drawn) for drawn in itertools.combinations(level, k - len(above))]

    true_sets = top_sets(ratings)
    shares = [max(len(drawn & true) for true in true_sets) / k for drawn in top_sets(predictions)]
    return sum(shares) / len(shares)


few_levels = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=9)


@settings(max_examples=200)
@given(st.lists(few_levels, min_size=1, max_size=5), st.integers(1, 5))
def test_top_share_is_the_mean_over_all_draws(users: list[list[tuple[int, int]]], k: int) -> None:
    indptr = np.concatenate([[0], np.cumsum([len(entries) for entries in users])])
    flat = np.array([entry for entries in users for entry in entries], dtype=np.float32).reshape(-1, 2)
    shares = top_share(indptr, flat[:, 0], flat[:, 1], k)
    for share, entries in zip(shares, users, strict=True):
        if len(entries) < k:
            assert np.isnan(share)
        else:
            ratings, predictions = zip(*entries, strict=True)
            assert share == pytest.approx(share_by_enumeration(ratings, predictions, k))


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=5, max_size=12), st.randoms())
def test_top_share_does_not_depend_on_the_order_of_entries(entries: list[tuple[int, int]], random) -> None:
    shuffled = random.sample(entries, len(entries))
    first, second = (
        top_share(np.array([0, len(entries)]), *np.array(each, dtype=float).T) for each in (entries, shuffled)
    )
    assert first == pytest.approx(second)


def test_top_share_of_perfect_constant_and_reversed_predictions() -> None:
    ratings = np.array([5, 5, 5, 5, 5, 5, 4, 4, 3, 1], dtype=np.float32)
    whole = np.array([0, 10])
    assert top_share(whole, ratings, ratings) == [1.0]
    distinct = np.arange(10, dtype=np.float32)
    assert top_share(whole, distinct, np.zeros(10)) == pytest.approx([0.5])
    assert top_share(whole, distinct, -distinct) == [0.0]


def test_ties_far_beyond_the_top_stay_exact() -> None:
    n = 100_000
    ratings = np.arange(n, dtype=np.float64)
    assert top_share(np.array([0, n]), ratings, np.zeros(n)) == pytest.approx([5 / n])
