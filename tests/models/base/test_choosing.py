"""The automatic minimum and the variety of lists, on cases that can be checked by eye."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.choosing import ENOUGH, LEFT_OUT, fewest_ratings, pick_varied


@pytest.mark.parametrize(
    "counts",
    [
        np.random.default_rng(0).zipf(1.6, 3000),
        np.random.default_rng(1).poisson(8, 500),
        np.full(40, 3),
        np.array([1]),
        np.array([0, 0, 2, 5]),
        np.arange(1000),
        np.array([10**9, 1]),
    ],
    ids=["zipf", "poisson", "all alike", "one", "unrated", "even", "huge"],
)
def test_the_minimum_is_the_largest_that_leaves_out_few_ratings(counts):
    def left_out(least):
        return counts[counts < least].sum() / counts.sum()

    found = fewest_ratings(counts)
    assert 1 <= found <= ENOUGH
    assert left_out(found) <= LEFT_OUT
    assert found == ENOUGH or left_out(found + 1) > LEFT_OUT


def test_no_item_is_put_last_in_a_catalogue_of_rarely_rated_items():
    assert fewest_ratings(np.full(10_000, 2)) <= 2
    assert fewest_ratings(np.ones(10_000, np.int64)) == 1


def test_a_second_film_of_the_same_kind_makes_room_for_another_kind():
    vectors = np.array([[1.0, 0], [0.99, 0.1], [0, 1], [0, 2]])
    found = np.array([[0, 1, 2, 3]], np.int32), np.array([[5, 4.9, 4.5, 4.4]], np.float32)
    plain = pick_varied(found, 3, 0.0, lambda rows: vectors[rows])
    varied = pick_varied(found, 3, 0.5, lambda rows: vectors[rows])
    assert plain[0].tolist() == [[0, 1, 2]]
    assert varied[0].tolist() == [[0, 2, 1]]
    np.testing.assert_array_equal(varied[1], np.array([[5, 4.5, 4.9]], np.float32))


def test_empty_places_stay_at_the_end_and_nothing_comes_twice():
    found = np.array([[3, 1, -1], [-1, -1, -1]], np.int32), np.array([[2, 1, np.nan], [np.nan] * 3], np.float32)
    for vectors in (np.eye(4), np.zeros((4, 0)), np.ones((4, 2))):
        items, scores = pick_varied(found, 3, 1.0, lambda rows, vectors=vectors: vectors[rows])
        assert items.tolist() == [[3, 1, -1], [-1, -1, -1]]
        np.testing.assert_array_equal(scores, found[1])


def test_lists_with_variety_are_more_varied_and_lose_little():
    ratings = rf.synthetic.film_club().ratings
    model = rf.ALS().fit(ratings)

    def spread(diversify):
        best = model.recommend(ratings.users.ids(), diversify=diversify)
        rows = model.item_factors_[ratings.items.index(best.items.ravel())].reshape(*best.items.shape, -1)
        rows = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        return float(np.einsum("uik,ujk->uij", rows, rows).mean()), float(best.scores.mean())

    likeness, score = zip(*(spread(share) for share in (0.0, 0.3, 0.8)), strict=True)
    assert likeness[0] > likeness[1] > likeness[2]
    assert score[0] > score[1] > score[2] > score[0] - 0.5


def test_other_answers_do_not_depend_on_what_was_asked_before():
    ratings = rf.synthetic.film_club().ratings
    model = rf.SGD(rank=4).fit(ratings)
    before = model.recommend(ratings.users.ids()[:5])
    model.recommend(ratings.users.ids()[:5], items=ratings.items.ids()[:3], min_ratings=50, diversify=0.5)
    np.testing.assert_array_equal(model.recommend(ratings.users.ids()[:5]).items, before.items)
    model.learn_one("somebody new", 10**6, 5.0)
    assert 10**6 in model.recommend("m001", n=10**6).items[0]
