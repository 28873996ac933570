"""A free model as the start of one that must not be negative."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.nonnegative import project

NONNEGATIVE = ("both", "items", "users", "none")
MAKERS = [
    lambda **settings: rf.ALS(rank=4, biases=False, **settings),
    lambda **settings: rf.ALS(rank=4, **settings),
    lambda **settings: rf.CoordinateDescent(rank=4, **settings),
    lambda **settings: rf.PassiveAggressive(rank=4, C=0.05, recipe="paper", **settings),
    lambda **settings: rf.PassiveAggressive(rank=4, **settings),
]


@pytest.fixture(scope="module")
def ratings():
    """30 users by 20 items."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((30, 20)) < 0.5, 3 + rng.normal(size=(30, 20)), np.nan)
    return rf.Ratings.from_dense(np.maximum(dense, 0))


@pytest.mark.parametrize("nonnegative", NONNEGATIVE)
@pytest.mark.parametrize("make", MAKERS)
def test_no_negative_entry_survives(make, ratings, nonnegative):
    """Nor of users and items without a rating now, whose rows no pass moves."""
    some = ratings.select((ratings.user_indices > 4) & (ratings.item_indices > 2))
    free = make(nonnegative="none", passes=3).fit(ratings.with_values(lambda values: values - 3))
    assert free.item_factors_.min() < 0 or free.user_factors_.min() < 0
    model = make(nonnegative=nonnegative, passes=1, tol=None).fit(some, init=free)
    assert nonnegative not in ("both", "users") or model.user_factors_.min() >= 0
    assert nonnegative not in ("both", "items") or model.item_factors_.min() >= 0


@pytest.mark.parametrize("make", MAKERS)
def test_a_model_is_its_own_start(make, ratings):
    """Nothing is cut off from a model that already keeps the promise."""
    first = make(nonnegative="both", passes=3).fit(ratings)
    users, items = first.user_factors_.copy(), first.item_factors_.copy()
    project(users, items, "both")
    np.testing.assert_array_equal(users, first.user_factors_)
    np.testing.assert_array_equal(items, first.item_factors_)


def test_a_factor_that_is_negative_on_both_sides_is_turned_around():
    users = np.array([[-1.0, 2.0], [-3.0, 1.0]], np.float32)
    items = np.array([[-2.0, 1.0], [-1.0, -0.5], [0.5, 3.0]], np.float32)
    project(users, items, "both")
    np.testing.assert_array_equal(users, [[1, 2], [3, 1]])
    np.testing.assert_array_equal(items, [[2, 1], [1, 0], [0, 3]])


def test_one_free_side_takes_the_sign_with_it():
    users, items = np.array([[-1.0], [3.0]], np.float32), np.array([[-2.0], [-1.0], [0.5]], np.float32)
    before = users @ items.T
    project(users, items, "items")
    np.testing.assert_array_equal(items, [[2], [1], [0]])
    np.testing.assert_array_equal((users @ items.T)[:, :2], before[:, :2])


def test_items_survive_where_a_product_would_be_negative_throughout():
    """Items at zero would stay there: users are solved against them first."""
    users, items = np.array([[1.0], [3.0]], np.float32), np.array([[-2.0], [-1.0]], np.float32)
    project(users, items, "both")
    np.testing.assert_array_equal(items, [[2], [1]])
    np.testing.assert_array_equal(users, [[0], [0]])
