"""Ranking measures against scikit-learn and against definitions spelled out user by user."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from rankfill.evaluation.metrics import find_hits, ndcg, precision, recall, top_share
from rankfill.kernels import Rows


def rows_of(relevant: list[set[int]]) -> Rows:
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in relevant])])
    indices = np.array([item for items in relevant for item in sorted(items)], dtype=np.int32)
    return Rows(indptr, indices, np.ones(len(indices), dtype=np.float32))


lists_and_relevant = st.integers(1, 7).flatmap(
    lambda n: st.lists(
        st.tuples(st.permutations(range(9)).map(lambda items: items[:n]), st.sets(st.integers(0, 8))),
        min_size=1,
        max_size=6,
    )
)


@given(lists_and_relevant)
def test_hits_precision_recall_and_ndcg_are_what_sets_say(cases: list[tuple[list[int], set[int]]]) -> None:
    recommended, relevant = (list(part) for part in zip(*cases, strict=True))
    hits = find_hits(np.array(recommended), rows_of(relevant))
    counts = np.array([len(items) for items in relevant])
    measures = precision(hits), recall(hits, counts), ndcg(hits, counts)
    for user, (shown, liked) in enumerate(cases):
        found = set(shown) & liked
        gains = [1 / math.log2(place + 2) for place, item in enumerate(shown) if item in liked]
        ideal = [1 / math.log2(place + 2) for place in range(min(len(shown), len(liked)))]
        expected = (
            len(found) / len(shown),
            len(found) / len(liked) if liked else math.nan,
            sum(gains) / sum(ideal) if liked else math.nan,
        )
        np.testing.assert_allclose([measure[user] for measure in measures], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 4, 10, 17])
def test_ndcg_agrees_with_scikit_learn(n: int) -> None:
    rng = np.random.default_rng(n)
    n_users, n_items = 23, 17
    relevant = rng.random((n_users, n_items)) < 0.3
    relevant[:, 5] |= ~relevant.any(axis=1)
    scores = rng.permuted(np.tile(np.arange(n_items), (n_users, 1)), axis=1)
    best = np.argsort(-scores, axis=1)[:, :n]
    ours = ndcg(find_hits(best, rows_of([set(np.flatnonzero(row)) for row in relevant])), relevant.sum(axis=1))
    theirs = [ndcg_score(relevant[[user]], scores[[user]], k=n) for user in range(n_users)]
    np.testing.assert_allclose(ours, theirs)


def test_empty_places_and_items_beyond_the_relevant_ones_are_misses() -> None:
    hits = find_hits(np.array([[-1, 0, 99], [0, 7, -1]]), rows_of([{0}, {7}]))
    assert hits.tolist() == [[False, True, False], [False, True, False]]
    assert not find_hits(np.array([[0, 1]]), rows_of([set()])).any()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_earlier_hit_gains_more(place: int) -> None:
    hits = np.zeros((1, 3), dtype=bool)
    hits[0, place] = True
    assert ndcg(hits, np.array([1]))[0] == pytest.approx(1 / math.log2(place + 2))


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
