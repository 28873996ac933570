"""Ranking measures against scikit-learn, against other libraries and against definitions spelled out user by user.

ranking.json has the figures of ranx, ir-measures and implicit; `store_ranking.py` writes it where these are installed.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from rankfill.kernels import Rows
from rankfill.objectives import ranking
from rankfill.objectives.ranking import find_hits, ndcg, precision, recall


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


@given(lists_and_relevant)
def test_the_other_measures_are_what_sets_say(cases: list[tuple[list[int], set[int]]]) -> None:
    recommended, relevant = (list(part) for part in zip(*cases, strict=True))
    hits = find_hits(np.array(recommended), rows_of(relevant))
    counts = np.array([len(items) for items in relevant])
    measures = [
        measure(hits, counts)
        for measure in (
            ranking.capped_precision,
            ranking.average_precision,
            ranking.reciprocal_rank,
            ranking.hit_rate,
        )
    ]
    for user, (shown, liked) in enumerate(cases):
        places = [place for place, item in enumerate(shown, start=1) if item in liked]
        most = min(len(shown), len(liked))
        precisions = [len(set(shown[:place]) & liked) / place for place in places]
        expected = [math.nan] * 4
        if liked:
            expected = [len(places) / most, sum(precisions) / most, 1 / min(places, default=math.inf), bool(places)]
        np.testing.assert_allclose([measure[user] for measure in measures], expected, rtol=1e-12)


@settings(max_examples=60)
@given(lists_and_relevant, st.integers(0, 2))
def test_auc_is_the_mean_over_all_orders_of_what_is_beyond_the_list(
    cases: list[tuple[list[int], set[int]]], unreachable: int
) -> None:
    """Nine candidates; beyond the list every pair is in either order half of the time."""
    for shown, liked in cases:
        hits = np.array([[item in liked for item in shown]])
        sizes = (np.array([len(liked) + unreachable]), np.array([len(liked)]), np.array([9]))
        found = ranking.auc(hits, *sizes)[0]
        others = set(range(9)) - liked
        if not others or not liked | set(range(unreachable)):
            assert math.isnan(found)
            continue
        place = {item: shown.index(item) if item in shown else 9 for item in range(9)}
        pairs = [(place[good], place[bad]) for good in liked for bad in others]
        first = sum(1.0 if good < bad else 0.5 if good == bad else 0.0 for good, bad in pairs)
        assert found == pytest.approx(first / ((len(liked) + unreachable) * len(others)))


def test_auc_of_a_full_list_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    relevant = rng.random((20, 15)) < 0.4
    relevant[:, 0], relevant[:, 1] = True, False
    scores = rng.random((20, 15))
    hits = np.take_along_axis(relevant, np.argsort(-scores, axis=1), axis=1)
    n = relevant.sum(axis=1)
    expected = [roc_auc_score(*pair) for pair in zip(relevant, scores, strict=True)]
    np.testing.assert_allclose(ranking.auc(hits, n, n, np.full(20, 15)), expected)
    longer = np.hstack([hits, np.zeros((20, 4), dtype=bool)])  # empty places are no candidates
    np.testing.assert_allclose(ranking.auc(longer, n, n, np.full(20, 15)), expected)


def test_novelty_and_rare_share_by_hand() -> None:
    lists = np.array([[0, 2, -1], [1, 3, 0], [-1, -1, -1]])
    n_ratings = np.array([64, 20, 16, 21, 0])
    expected = [(0 + 2) / 2, (np.log2(64 / 20) + np.log2(64 / 21) + 0) / 3, np.nan]
    np.testing.assert_allclose(ranking.novelty(lists, n_ratings, n_users=64), expected)
    np.testing.assert_allclose(ranking.rare_share(lists, n_ratings), [1 / 2, 1 / 3, np.nan])


def test_coverage_counts_rated_items_only() -> None:
    assert ranking.coverage(np.array([True, True, False, False]), np.array([1, 5, 2, 0])) == 2 / 3
    assert math.isnan(ranking.coverage(np.array([False]), np.array([0])))


GOLDEN = json.loads((Path(__file__).parent / "ranking.json").read_text())


@pytest.mark.parametrize("k", [1, 5, 10])
def test_measures_are_those_of_other_libraries(k: int) -> None:
    """ranx and ir-measures divide average precision by the number of relevant items, so it is theirs where k is no
    smaller; implicit divides by at most k, and its precision is that of all users together."""
    lists, relevant = np.array(GOLDEN["lists"]), [set(items) for items in GOLDEN["relevant"]]
    n = np.array([len(items) for items in relevant])
    hits = find_hits(lists[:, :k], rows_of(relevant))
    ours = {
        "precision": precision(hits),
        "recall": recall(hits, n),
        "ndcg": ndcg(hits, n),
        "mrr": ranking.reciprocal_rank(hits, n),
        "hit_rate": ranking.hit_rate(hits, n),
        "map": ranking.average_precision(hits, n),
    }
    for library in ("ranx", "ir-measures"):
        for name, values in GOLDEN[library][str(k)].items():
            same = n <= k if name == "map" else n > 0
            assert same.any() or k == 1
            np.testing.assert_allclose(ours[name][same], np.array(values)[same], rtol=1e-9, err_msg=name)
    implicit = GOLDEN["implicit"][str(k)]
    all_candidates = np.full(len(n), GOLDEN["n_items"])
    assert implicit["ndcg"] == pytest.approx(ours["ndcg"].mean())
    assert implicit["map"] == pytest.approx(ours["map"].mean())
    assert implicit["auc"] == pytest.approx(ranking.auc(hits, n, n, all_candidates).mean())
    capped = ranking.capped_precision(hits, n) * np.minimum(n, k)
    assert implicit["precision"] == pytest.approx(capped.sum() / np.minimum(n, k).sum())
