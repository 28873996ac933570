"""Topics and reasons against factors set by hand and against predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from rankfill import Bias, PassiveAggressive, Ratings
from rankfill.kernels import padded_copy
from rankfill.topics import Reason, Topic, explain, topics


@pytest.fixture
def ratings() -> Ratings:
    """5 users by 4 items; the items have 4, 3, 2 and 1 ratings, the users 4, 3, 2, 1 and 0."""
    users, items = np.nonzero(np.add.outer(np.arange(4), np.arange(4)) < 4)
    return Ratings.from_arrays(users, [f"item {i}" for i in items], np.ones(len(users)) * 3)


def model_with(ratings: Ratings, users: NDArray, items: NDArray, **settings: str) -> PassiveAggressive:
    model = PassiveAggressive(rank=users.shape[1], passes=1, **settings).fit(ratings)
    model._set_factors(padded_copy(users), padded_copy(items), users.shape[1])
    return model


@pytest.fixture
def by_hand(ratings: Ratings) -> PassiveAggressive:
    """Three factors; the last is dead."""
    users = np.array([[1, 2, 0], [1, 0, 0], [0, 1, 0], [2, 2, 0]], dtype=float)
    items = np.array([[3, 1, 0], [2, 0, 0], [1, 5, 0], [4, 6, 0]], dtype=float)
    return model_with(ratings, users, items)


def test_items_by_decreasing_weight_and_shares_by_rating_counts(by_hand: PassiveAggressive) -> None:
    # Means over ratings: users (4·1 + 3·1 + 0 + 1·2, 4·2 + 0 + 2·1 + 1·2) / 10, items (24, 20) / 10.
    parts = np.array([9 * 24, 12 * 20])
    second, first, dead = topics(by_hand, n=3)
    assert (second.factor, first.factor, dead.factor) == (1, 0, 2)
    assert [first.share, second.share] == pytest.approx((parts / parts.sum()).tolist())
    assert first.items == ("item 3", "item 0", "item 1")
    assert first.weights == (4.0, 3.0, 2.0)
    assert second.items == ("item 3", "item 2", "item 0")  # item 1 has no weight in it
    assert dead == Topic(2, (), (), (), 0.0)


def test_lift_is_the_share_in_the_item_over_the_share_in_all(by_hand: PassiveAggressive) -> None:
    found = {topic.factor: topic for topic in topics(by_hand, n=4, by="lift", min_ratings=1)}
    typical = np.array([9, 12]) / 10
    share = np.array([9 * 24, 12 * 20]) / (9 * 24 + 12 * 20)
    lifts = {
        f"item {i}": (typical * q / (typical * q).sum() / share)
        for i, q in enumerate(np.array([[3, 1], [2, 0], [1, 5], [4, 6]]))
    }
    for factor in (0, 1):
        expected = sorted((name for name in lifts if lifts[name][factor]), key=lambda name: -lifts[name][factor])
        assert list(found[factor].items) == expected
        assert found[factor].weights == pytest.approx([lifts[name][factor] for name in expected])


def test_rarely_rated_items_are_left_out(by_hand: PassiveAggressive) -> None:
    assert topics(by_hand, n=1)[1].items == ("item 3",)
    assert topics(by_hand, n=1, min_ratings=2)[1].items == ("item 0",)
    assert all("item 3" not in topic.items for topic in topics(by_hand, by="lift"))  # fewer than the mean of 2.5
    with pytest.raises(ValueError, match="no item has 5 ratings, the most is 4; lower min_ratings"):
        topics(by_hand, min_ratings=5)


def test_items_without_training_ratings_are_left_out() -> None:
    ratings = Ratings.from_dense([[5, 3, 4], [4, 2, 1]])
    model = PassiveAggressive(rank=2, passes=1).fit(ratings.select(ratings.item_indices != 1))
    assert all(set(topic.items) == {0, 2} for topic in topics(model, n=3))


@given(scale=st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
def test_shares_and_lifts_do_not_depend_on_the_scale_of_a_factor(scale: list[float]) -> None:
    rng = np.random.default_rng(0)
    ratings = Ratings.from_dense(rng.integers(1, 6, (7, 5)))
    users, items = rng.random((7, 3)), rng.random((5, 3))
    plain = topics(model_with(ratings, users, items), by="lift")
    scaled = topics(model_with(ratings, users * scale, items / scale), by="lift")
    for one, other in zip(plain, scaled, strict=True):
        assert (one.factor, one.items) == (other.factor, other.items)
        assert one.weights == pytest.approx(other.weights, rel=1e-4)
        assert one.share == pytest.approx(other.share, rel=1e-4)
    assert sum(topic.share for topic in plain) == pytest.approx(1)
    assert [topic.share for topic in plain] == sorted((topic.share for topic in plain), reverse=True)


def test_signed_factors_go_by_magnitude_and_show_their_sign(ratings: Ratings) -> None:
    users, items = np.array([[1.0], [-1], [1], [-1]]), np.array([[1.0], [-4], [2], [-3]])
    model = model_with(ratings, users, items, nonnegative="none")
    (topic,) = topics(model, n=3)
    assert topic.items == ("item 1", "item 3", "item 2")
    assert topic.weights == (-4.0, -3.0, 2.0)
    assert topic.share == 1
    (lifted,) = topics(model, n=3, by="lift", min_ratings=1)
    assert lifted.weights == (1.0, -1.0, 1.0)  # one factor carries all of every item


def test_titles_stand_for_ids_and_ids_for_themselves() -> None:
    ratings = Ratings.from_arrays([1, 1, 2], [10, 20, 10], [5, 1, 4])
    (topic,) = topics(PassiveAggressive(rank=1, C=1).fit(ratings), titles={10: "Alien"})
    assert topic.items == (10, 20)
    assert all(type(item) is int for item in topic.items)
    assert topic.titles == ("Alien", "20")
    assert str(topic) == "Topic 0 (100.0%): Alien · 20"
    assert str(Topic(3, (), (), (), 0.0)) == "Topic 3 (0.0%): no items"


def test_equal_weights_keep_the_order_of_items(ratings: Ratings) -> None:
    model = model_with(ratings, np.ones((4, 1)), np.ones((4, 1)))
    assert topics(model, n=2)[0].items == ("item 0", "item 1")
    assert topics(model, n=9)[0].items == ("item 0", "item 1", "item 2", "item 3")


def test_reasons_are_products_of_factors(by_hand: PassiveAggressive) -> None:
    assert explain(by_hand, 0, ["item 2", "item 1"]) == [
        Reason("item 2", 1, 10.0, 10 / 11),
        Reason("item 2", 0, 1.0, 1 / 11),
        Reason("item 1", 0, 2.0, 1.0),
    ]
    assert explain(by_hand, 0, "item 2", n=1) == [Reason("item 2", 1, 10.0, 10 / 11)]


@pytest.mark.parametrize("nonnegative", ["both", "none"])
@pytest.mark.parametrize(("user", "item"), [(3, 2), ("unknown", 2), (3, "unknown")])
def test_reasons_sum_to_the_prediction(nonnegative: str, user: int | str, item: int | str) -> None:
    rng = np.random.default_rng(2)
    ratings = Ratings.from_dense(rng.integers(1, 6, (8, 6)))
    model = PassiveAggressive(rank=4, passes=5, nonnegative=nonnegative, clip=False).fit(ratings)
    user, item = (99 if each == "unknown" else each for each in (user, item))
    reasons = explain(model, user, item, n=4)
    assert sum(reason.contribution for reason in reasons) == pytest.approx(float(model.predict(user, item)), rel=1e-5)
    assert sum(reason.share for reason in reasons) == pytest.approx(1)
    sizes = [abs(reason.contribution) for reason in reasons]
    assert sizes == sorted(sizes, reverse=True)


def test_a_pair_of_unknowns_has_no_reasons(by_hand: PassiveAggressive) -> None:
    with pytest.raises(ValueError, match="user 77 and item 'nowhere' are both unknown"):
        explain(by_hand, 77, ["item 1", "nowhere"])


def test_what_has_no_topics_is_said_in_words(ratings: Ratings, by_hand: PassiveAggressive) -> None:
    for function in (topics, lambda model: explain(model, 0, "item 0")):
        with pytest.raises(TypeError, match=r"Bias has no factors .* use a factor model such as PassiveAggressive"):
            function(Bias().fit(ratings))
        with pytest.raises(TypeError, match="rankfill model, found ndarray"):
            function(np.eye(3))
        with pytest.raises(NotFittedError, match="call fit first"):
            function(PassiveAggressive())
    with pytest.raises(ValueError, match="by must be one of weight, lift, found 'size'"):
        topics(by_hand, by="size")
    with pytest.raises(ValueError, match="n must be at least 1, found 0"):
        topics(by_hand, n=0)
    with pytest.raises(ValueError, match="n must be at least 1, found 0"):
        explain(by_hand, 0, "item 0", n=0)
