"""`evaluate` against the same measures written as loops over users and sets of items."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import ndcg_score

from rankfill import Bias, PassiveAggressive, Popularity, Ratings, load, split
from rankfill.data.synthetic import low_rank
from rankfill.evaluation import evaluate
from rankfill.models import Model

NAMES = ["rmse", "mae", "nmae", "top5", "ndcg", "precision", "recall", "coverage"]


def random_split(seed: int, n_users: int = 60, n_items: int = 25, as_text: bool = False) -> tuple[Ratings, Ratings]:
    """More users than items; some users and items are in one part only; test rows are in an order of their own."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.55)
    values = rng.integers(1, 6, len(users)).astype(float)
    in_test = rng.random(len(users)) < 0.45
    in_test[(users < 3) | (items == 7)] = True  # unknown in training
    in_test[users == 5] = False
    name = (lambda letter, ids: [f"{letter}{i}" for i in ids]) if as_text else (lambda _, ids: 100 - 3 * ids)
    parts = [np.flatnonzero(~in_test), rng.permutation(np.flatnonzero(in_test))]
    return tuple(Ratings.from_arrays(name("u", users[p]), name("i", items[p]), values[p]) for p in parts)


def triples(ratings: Ratings) -> list[tuple]:
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    return list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


LISTS = ["ndcg", "precision", "capped_precision", "recall", "map", "mrr", "hit_rate", "auc", "novelty", "rare_share"]


def by_the_book(model: Model, train: Ratings, test: Ratings, n: int, liked: object) -> dict[str, float]:
    """Recommendation measures, a user at a time."""
    candidates = {item for _, item, _ in triples(train)}
    seen: dict = {}
    given: dict = {}
    for user, item, value in triples(train):
        seen.setdefault(user, set()).add(item)
        given.setdefault(user, []).append(value)
    raters = {item: sum(item in items for items in seen.values()) for item in candidates}
    mean = np.mean([value for _, _, value in triples(train)])
    bounds = {user: np.mean(values) for user, values in given.items()} if liked == "above-user-mean" else {}
    other = {"above-mean": mean, "above-user-mean": mean, "all": -math.inf}.get(liked, liked)
    wanted_by: dict = {}
    for user, item, value in triples(test):
        if value >= np.float32(bounds.get(user, other)):
            wanted_by.setdefault(user, set()).add(item)
    by_user: dict = {name: [] for name in LISTS}
    shown = set()
    for user, wanted in wanted_by.items():
        allowed = candidates - seen.get(user, set())
        recommended = [
            item
            for item, score in zip(*(part[0] for part in model.recommend([user], n)), strict=True)
            if score == score
        ]
        assert set(recommended) <= allowed
        assert len(recommended) == min(n, len(allowed))
        hits = [place for place, item in enumerate(recommended) if item in wanted]
        most = min(n, len(wanted))
        by_user["ndcg"].append(sum(1 / math.log2(j + 2) for j in hits) / sum(1 / math.log2(j + 2) for j in range(most)))
        by_user["precision"].append(len(hits) / n)
        by_user["capped_precision"].append(len(hits) / most)
        by_user["recall"].append(len(hits) / len(wanted))
        by_user["map"].append(sum((number + 1) / (j + 1) for number, j in enumerate(hits)) / most)
        by_user["mrr"].append(1 / (hits[0] + 1) if hits else 0)
        by_user["hit_rate"].append(len(hits) > 0)
        by_user["auc"].append(auc_by_pairs(recommended, wanted, allowed))
        if recommended:
            by_user["novelty"].append(np.mean([-math.log2(raters[item] / len(seen)) for item in recommended]))
            by_user["rare_share"].append(np.mean([raters[item] <= 20 for item in recommended]))
        shown |= set(recommended)
    means = {name: float(np.nanmean(values)) for name, values in by_user.items()}
    return means | {"coverage": len(shown) / len(candidates)}


def auc_by_pairs(recommended: list, wanted: set, allowed: set) -> float:
    """What is not on the list ties; what is not allowed comes last of all."""
    place = {item: len(recommended) for item in allowed} | {item: j for j, item in enumerate(recommended)}
    pairs = [(place.get(good, math.inf), place[bad]) for good in wanted for bad in allowed - wanted]
    first = [1.0 if good < bad else 0.5 if good == bad else 0.0 for good, bad in pairs]
    return float(np.mean(first)) if first else math.nan


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("n", [1, 4, 40])
@pytest.mark.parametrize("liked", ["above-mean", "above-user-mean", "all", 5])
@pytest.mark.parametrize(
    "model", [Bias(effects="items"), PassiveAggressive(rank=3, passes=3)], ids=["ties among items", "factors"]
)
def test_recommendation_measures_are_those_of_the_book(model: Model, n: int, as_text: bool, liked: object) -> None:
    train, test = random_split(n, as_text=as_text)
    expected = by_the_book(model.fit(train), train, test, n, liked)
    result = evaluate(model, test, n=n, liked=liked, scores=[*LISTS, "coverage"])
    assert result == pytest.approx(expected)
    assert 0 < result["ndcg"] < 1


def test_every_length_is_judged_as_if_alone() -> None:
    train, test = random_split(2)
    model = PassiveAggressive(rank=3, passes=3).fit(train)
    names = [*LISTS, "coverage"]
    together = evaluate(model, test, n=2, scores=[f"{name}@{k}" for k in (7, 1) for name in names] + names)
    for k in (7, 1):
        alone = evaluate(model, test, n=k, scores=names)
        assert {name: together[f"{name}@{k}"] for name in names} == alone
    assert {name: together[name] for name in names} == evaluate(model, test, n=2, scores=names)


def test_lists_are_made_once_for_all_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = random_split(2)
    model, asked, recommend = Bias().fit(train), [], Bias.recommend
    monkeypatch.setattr(Bias, "recommend", lambda self, users, n: asked.append(n) or recommend(self, users, n))
    evaluate(model, test, scores=["ndcg@3", "recall@9", "coverage@5", "rmse"])
    assert asked == [9]
    evaluate(model, test, scores=["rmse", "top5"])
    assert asked == [9]


def test_ratings_learned_from_are_told_and_counted() -> None:
    train, test = random_split(2)
    more = Ratings.from_arrays([4321, 4321], [1, 2], [4, 5])
    for model in (PassiveAggressive(rank=2, passes=2).fit(train), PassiveAggressive(rank=2).partial_fit(train)):
        evaluate(model, test, scores=["rmse"])
        model.partial_fit(more)
        model.partial_fit(test.select(np.arange(len(test)) < 5))
        with pytest.warns(UserWarning, match=rf"learned from 5 of the {len(test)} test ratings: .*rankfill\.split"):
            evaluate(model, test, scores=["rmse"])
        with pytest.warns(UserWarning, match="learned from 1 of the 2 test"):
            evaluate(model, Ratings.from_arrays([9876, 4321], [1, 2], [4, 5]), scores=["rmse"])


def test_means_of_users_are_kept_by_streams_and_files(tmp_path: Path) -> None:
    train, test = random_split(5)
    fitted = PassiveAggressive(rank=2, passes=2).fit(train)
    streamed = PassiveAggressive(rank=2)
    for user, item, value in triples(train)[:40]:
        streamed.learn_one(user, item, value)
    streamed.partial_fit(train.select(np.arange(len(train)) >= 40))
    fitted.save(tmp_path / "m.rankfill")
    expected = fitted._user_means(test.users)
    assert np.isnan(expected).any()
    for model in (streamed, load(tmp_path / "m.rankfill")):
        np.testing.assert_allclose(model._user_means(test.users), expected)


@pytest.mark.parametrize("n", [1, 3, 10])
def test_ndcg_agrees_with_scikit_learn(n: int) -> None:
    """On the dense matrix, its scores being places in the full ranking; what cannot be recommended comes last."""
    train, test = random_split(n + 20)
    model = PassiveAggressive(rank=3, passes=3).fit(train)
    all_items = np.union1d(train.items.ids(), test.items.ids())
    relevant = np.zeros((test.n_users, len(all_items)), dtype=bool)
    kept = test.values >= 4
    relevant[test.user_indices[kept], np.searchsorted(all_items, test.items.ids())[test.item_indices[kept]]] = True
    scores = np.full(relevant.shape, -1000.0)
    for row, user in enumerate(test.users):
        items, filled = (part[0] for part in model.recommend([user], len(all_items)))
        items = items[~np.isnan(filled)]
        scores[row, np.searchsorted(all_items, items)] = -np.arange(len(items))
    some = relevant.any(axis=1)
    expected = ndcg_score(relevant[some], scores[some], k=n, ignore_ties=True)
    assert evaluate(model, test, n=n, liked=4)["ndcg"] == pytest.approx(expected)


def test_lists_are_the_best_items_by_prediction() -> None:
    """The list itself, not only what is made of it: item means are exact, equal ones go by position."""
    train, test = random_split(3)
    model = Bias(effects="items", shrinkage=0).fit(train)
    sums: dict = {}
    for _, item, value in triples(train):
        sums.setdefault(item, []).append(value)
    best_first = sorted(sums, key=lambda item: (-np.float32(np.mean(sums[item])), item))
    unknown = [user for user in test.users if user not in train.users]
    assert unknown
    for user in unknown:
        assert model.recommend([user], 5).items[0].tolist() == best_first[:5]


def test_errors_and_top5_come_from_predictions() -> None:
    train, test = random_split(11)
    model = PassiveAggressive(rank=3, passes=3, clip=False).fit(train)  # clipping would make ties
    result = evaluate(model, test)
    pairs = triples(test)
    misses = [value - float(model.predict(user, item)) for user, item, value in pairs]
    assert result["rmse"] == pytest.approx(math.sqrt(sum(miss**2 for miss in misses) / len(misses)))
    assert result["mae"] == pytest.approx(sum(map(abs, misses)) / len(misses))
    assert result["nmae"] == pytest.approx(100 * sum(map(abs, misses)) / sum(value for _, _, value in pairs))
    shares = []
    for user in test.users:
        mine = [(value, float(model.predict(user, item))) for who, item, value in pairs if who == user]
        if len(mine) >= 5:
            predicted = sorted(mine, key=lambda pair: -pair[1])[:5]
            fifth = sorted((value for value, _ in mine), reverse=True)[4]
            above = [value for value, _ in mine if value > fifth]
            level = sum(value == fifth for value, _ in predicted)
            shares.append((sum(value > fifth for value, _ in predicted) + min(level, 5 - len(above))) / 5)
    assert len(shares) > 20
    assert result["top5"] == pytest.approx(np.mean(shares))


def test_names_and_their_order() -> None:
    train, test = random_split(0)
    model = Bias().fit(train)
    result = evaluate(model, test)
    assert list(result) == NAMES
    assert all(type(value) is float for value in result.values())
    some = evaluate(model, test, scores=["coverage", "mae"])
    assert some == {"mae": result["mae"], "coverage": result["coverage"]}


def test_small_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = random_split(4)
    model = PassiveAggressive(rank=2, passes=2).fit(train)
    scores = [*NAMES, *LISTS]
    whole = evaluate(model, test, scores=scores)
    monkeypatch.setattr(sys.modules["rankfill.models.base.lists"], "USERS_AT_A_TIME", 7)
    assert evaluate(model, test, scores=scores) == pytest.approx(whole)


def test_users_without_test_ratings_do_not_count() -> None:
    train, test = random_split(4)
    model = PassiveAggressive(rank=2, passes=2).fit(train)
    everyone = Ratings.from_arrays(*map(list, zip(*triples(train), *triples(test), strict=True)), duplicates="first")
    tested = {(user, item) for user, item, _ in triples(test)}
    only_test = everyone.select(np.array([(user, item) in tested for user, item, _ in triples(everyone)]))
    assert only_test.n_users > test.n_users
    assert evaluate(model, only_test) == pytest.approx(evaluate(model, test))


def test_a_user_unknown_to_the_model_gets_the_cold_start_answer() -> None:
    train = Ratings.from_arrays([1, 1, 2, 2, 3], [10, 20, 10, 30, 20], [5, 4, 5, 1, 4])
    model = Bias(shrinkage=0, effects="items").fit(train)
    test = Ratings.from_arrays([9, 9], [10, 77], [4, 5])
    result = evaluate(model, test, n=2)
    assert result["mae"] == pytest.approx((1 + abs(5 - 3.8)) / 2)  # item mean 5, and the mean rating 3.8
    # Items 10 and 20 are shown; 77 is relevant as well but nobody rated it in training.
    assert result["precision"] == 0.5
    assert result["recall"] == 0.5
    assert result["ndcg"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert result["coverage"] == pytest.approx(2 / 3)


def test_threshold_decides_what_is_relevant() -> None:
    train = Ratings.from_arrays([1, 1, 2], [10, 20, 30], [0.1, 0.5, 0.3])
    test = Ratings.from_arrays([1, 2], [30, 10], [0.1, 0.3])
    model = Bias().fit(train)
    assert evaluate(model, test, n=3, liked=0.1)["recall"] == 1  # 0.1 counts, although float32(0.1) != 0.1
    assert evaluate(model, test, n=3, liked=np.float64(0.1))["recall"] == 1
    assert math.isnan(evaluate(model, test, liked=0.31)["recall"])
    assert math.isnan(evaluate(model, test, liked=1e300)["recall"])
    assert evaluate(model, test, n=3)["recall"] == 1  # the mean rating, 0.3, is among the ratings


def test_items_rated_in_training_cannot_be_hit() -> None:
    train, _ = random_split(8)
    with pytest.warns(UserWarning, match=f"learned from {len(train)} of the {len(train)} test ratings"):
        result = evaluate(Bias().fit(train), train, n=25)
    assert result["precision"] == result["recall"] == result["ndcg"] == 0
    assert result["rmse"] > 0


def test_coverage_counts_only_items_with_training_ratings() -> None:
    ratings = Ratings.from_dense([[5, 4, 3, 2, 1]] * 3)
    train = ratings.select((ratings.item_indices < 3) & ((ratings.user_indices > 0) | (ratings.item_indices > 0)))
    test = ratings.select((ratings.item_indices == 0) & (ratings.user_indices == 0))
    assert evaluate(Bias().fit(train), test)["coverage"] == pytest.approx(1 / 3)  # of items 0, 1 and 2


def test_nothing_qualifies_gives_nan_without_a_warning() -> None:
    train, test = random_split(1)
    model = Bias().fit(train)
    empty = evaluate(model, test.select(np.zeros(len(test), dtype=bool)))
    assert list(empty) == NAMES
    assert all(math.isnan(value) for value in empty.values())
    none_relevant = evaluate(model, test, liked=6)
    assert [name for name in NAMES if math.isnan(none_relevant[name])] == NAMES[4:]
    four_each = Ratings.from_arrays([1] * 4 + [2] * 4, [*range(4)] * 2, [5] * 8)
    others = Ratings.from_arrays([1] * 4 + [2] * 4, [*range(4, 8)] * 2, [5] * 8)
    assert math.isnan(evaluate(Bias().fit(four_each), others)["top5"])


def test_what_cannot_be_evaluated_is_said_in_words() -> None:
    train, test = random_split(1)
    model = Bias().fit(train)
    with pytest.raises(NotFittedError, match="call fit first"):
        evaluate(Bias(), test)
    with pytest.raises(TypeError, match=r"ratings are Ratings, a data frame, .*; found int"):
        evaluate(model, 5)
    with pytest.raises(TypeError, match="rankfill model, found dict"):
        evaluate({}, test)
    with pytest.raises(ValueError, match="at least 1, found 0"):
        evaluate(model, test, n=0)
    with pytest.raises(ValueError, match="lowest rating of a liked item, found nan"):
        evaluate(model, test, liked=math.nan)
    with pytest.raises(ValueError, match=r"liked must be above-mean, above-user-mean, all or .* found 'most'"):
        evaluate(model, test, liked="most")
    for wrong in ("mape", "ndcg@", "ndcg@0", "rmse@5", "ndcg@1.5", " ndcg", 5):
        with pytest.raises(ValueError, match=r"ndcg@20 judges lists of 20; found "):
            evaluate(model, test, scores=[wrong])
    with pytest.raises(TypeError, match=r"scores must be a list of names, found 'rmse'; write \['rmse'\]"):
        evaluate(model, test, scores="rmse")


def test_scores_that_are_no_ratings_are_not_measured_against_ratings_unless_asked_for() -> None:
    train, test = split(low_rank(40, 30, n_ratings=600, seed=0), test=0.2)
    model = Popularity().fit(train)
    assert list(evaluate(model, test)) == ["ndcg", "precision", "recall", "coverage"]
    assert list(evaluate(model, test, scores=["rmse"])) == ["rmse"]
