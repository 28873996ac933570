"""Topics and reasons against factors set by hand and against predictions."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import rankfill as rf
from rankfill import Bias, PassiveAggressive, Ratings
from rankfill.kernels import padded_copy
from rankfill.topic_factors import factorise
from rankfill.topic_labels import Labels, Tags
from rankfill.topics import Topic, has_readable_factors, ratings_behind, topics


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


def test_what_has_no_topics_is_said_in_words(ratings: Ratings, by_hand: PassiveAggressive) -> None:
    with pytest.raises(
        TypeError, match=r"Bias has no factors .* give the ratings instead.*rankfill\.topics\(ratings\)"
    ):
        topics(Bias().fit(ratings))
    with pytest.raises(TypeError):
        topics(object())
    with pytest.raises(ValueError, match="as many topics as factors, found n_topics=3; leave it out"):
        topics(by_hand, n_topics=3)
    with pytest.raises(ValueError, match="n_topics must be a whole number of at least 1, found 0"):
        topics(ratings, n_topics=0)
    with pytest.raises(ValueError, match="there are no ratings to find topics in"):
        topics(ratings.select(ratings.values < 0))
    with pytest.raises(NotFittedError, match="call fit first"):
        topics(PassiveAggressive())
    with pytest.raises(ValueError, match="by must be one of weight, lift, found 'size'"):
        topics(by_hand, by="size")
    with pytest.raises(ValueError, match="n must be at least 1, found 0"):
        topics(by_hand, n=0)


def test_the_genres_of_the_film_club_are_found_and_named() -> None:
    club = rf.synthetic.film_club()
    found = topics(club, n=10)
    assert sorted(topic.label for topic in found) == sorted(
        {genre for named in club.genres.values() for genre in named}
    )
    assert [topic.factor for topic in found] == list(range(6))
    assert sum(topic.share for topic in found) == pytest.approx(1)
    for topic in found:
        assert sum(club.genres[film][0] == topic.label for film in topic.items) >= 9
        assert list(topic.weights) == sorted(topic.weights, reverse=True)
    assert topics(club, n=10) == found, "the same seed, the same topics"
    assert topics(club.ratings, n=10)[0].items == found[0].items
    assert len(topics(club.ratings, n_topics=4)) == 4


def test_where_everybody_has_rated_everything_what_is_liked_tells_topics_apart() -> None:
    random = np.random.default_rng(0)
    fans = random.integers(0, 2, 60)
    dense = np.where(fans[:, None] == (np.arange(10) >= 5), 5, 2) + random.integers(-1, 1, (60, 10))
    one, other = topics(Ratings.from_dense(dense), n=5, n_topics=2)
    assert {frozenset(one.items), frozenset(other.items)} == {frozenset(range(5)), frozenset(range(5, 10))}


@pytest.mark.parametrize(
    "dense",
    [[[5]], [[5], [4]], [[5, 4, 1]], np.full((6, 5), 3.0), [[5, None], [None, 1]], -np.arange(12.0).reshape(4, 3)],
    ids=["one", "one item", "one user", "constant", "apart", "negative"],
)
def test_topics_of_the_least_there_can_be(dense: object) -> None:
    ratings = Ratings.from_dense(dense)
    for options in ({}, {"n_topics": 50}, {"by": "lift"}):
        found = topics(ratings, **options)
        assert 1 <= len(found) <= 50
        assert all(np.isfinite(topic.weights).all() and np.isfinite(topic.share) for topic in found)


def test_columns_are_the_best_that_is_not_negative() -> None:
    """At the end no small change of a column lowers the error: the gradient is zero, or points below zero."""
    matrix = scipy.sparse.random_array((40, 25), density=0.2, rng=np.random.default_rng(1), format="csr")
    left, right = factorise(matrix, 4)
    for factors, gradient in (
        (left, left @ (right.T @ right) - matrix @ right),
        (right, right @ (left.T @ left) - matrix.T @ left),
    ):
        assert (factors >= 0).all()
        assert np.abs(gradient[factors > 1e-6]).max() < 0.02
        assert gradient.min() > -0.02


def test_labels_need_both_many_items_and_more_than_usual() -> None:
    counts = np.full(40, 10)
    genres = [["Drama", "War"] if item < 8 else ["Drama"] if item < 30 else ["Horror", "Noir"] for item in range(40)]
    tags = Tags(genres, counts)
    assert tags.best(np.arange(8), 2) == ["War"]  # drama is hardly more common than among all
    assert tags.best(np.arange(30, 40), 2) == ["Horror", "Noir"]
    assert tags.best(np.arange(30, 40), 1) == ["Horror"]
    assert tags.best(np.arange(0, 40), 2) == []
    assert tags.best(np.arange(0), 2) == []
    labels = Labels(range(40), counts, {item: f"Film ({1930 + item})" for item in range(40)}, dict(enumerate(genres)))
    assert labels.label(np.arange(30, 40)) == "Horror, Noir, 1960s"


def test_signs_cannot_be_read_and_what_users_rated_can() -> None:
    ratings = rf.synthetic.low_rank(40, 20, 400)
    signed, plain = rf.ALS(rank=3).fit(ratings), rf.ALS(rank=3, nonnegative="both").fit(ratings)
    assert not has_readable_factors(signed)
    assert has_readable_factors(plain)
    assert not has_readable_factors(Bias().fit(ratings))
    behind = ratings_behind(rf.ItemRegression(penalty=1.0).fit(ratings))
    assert behind is not None
    np.testing.assert_array_equal(behind.item_indices, ratings.item_indices)
    np.testing.assert_array_equal(behind.user_indices, ratings.user_indices)
