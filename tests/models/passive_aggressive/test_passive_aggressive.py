"""Passive-aggressive factorisation: what a pass and a stream do, to the bit, and what they learn."""

import itertools

import numpy as np
import pytest

import rankfill as rf
from rankfill import PassiveAggressive
from rankfill.kernels import Rule, padded, padded_copy
from rankfill.kernels.reference import rounds as reference
from rankfill.models.base.training import order_seed

SLACKS, ROOTS = ("none", "linear", "quadratic"), ("exact", "bisection", "approximate")


@pytest.fixture
def ratings():
    """13 users by 8 items, one of each without ratings; ratings of 0 to 5."""
    rng = np.random.default_rng(1)
    dense = np.where(rng.random((13, 8)) < 0.5, rng.integers(0, 6, (13, 8)), np.nan)
    dense[4], dense[:, 6] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


@pytest.fixture
def stream():
    """Ratings as they arrive, as arrays; people and things come back in no order."""
    rng = np.random.default_rng(2)
    pairs = rng.permutation(9 * 12)[:60]
    return 100 - pairs // 12, 5 * (pairs % 12), rng.integers(0, 6, 60).astype(np.float32)


def paper(**settings):
    """The plain recipe of the paper."""
    return PassiveAggressive(**{"rank": 30, "C": 0.01, "recipe": "paper"} | settings)


def start_of_items(n_items, rank, seed):
    return padded_copy(np.random.default_rng(np.random.PCG64(seed)).random((n_items, rank)))


@pytest.mark.parametrize(("slack", "root"), list(itertools.product(SLACKS, ROOTS)))
@pytest.mark.parametrize("nonnegative", ["both", "items", "users", "none"])
def test_passes_are_those_of_the_reference(ratings, slack, root, nonnegative):
    """P from zero and Q uniform; all of P against Q, then all of Q against P; the losses are those of the Q half."""
    settings = {"C": 0.1, "epsilon": 0.25, "slack": slack, "root": root}
    model = paper(rank=3, passes=2, seed=5, nonnegative=nonnegative, **settings).fit(ratings)
    user_rule = Rule(**settings, nonnegative=nonnegative in ("both", "users"))
    item_rule = Rule(**settings, nonnegative=nonnegative in ("both", "items"))
    P, Q = padded(13, 3), start_of_items(8, 3, seed=5)
    for epoch in (1, 2):
        seed = order_seed(model.seed, epoch)
        reference.passive_aggressive_pass(ratings.by_user, P, Q, user_rule, seed)
        losses = reference.passive_aggressive_pass(ratings.by_item, Q, P, item_rule, seed + 1)
        assert model.history_[epoch - 1].objective == losses.loss
        assert model.history_[epoch - 1].train == losses.absolute / len(ratings)
    np.testing.assert_array_equal(model.user_factors_, P[:, :3])
    np.testing.assert_array_equal(model.item_factors_, Q[:, :3])


def test_passes_and_seeds_meet_the_entries_in_different_orders():
    seeds = [order_seed(seed, epoch) for seed in range(20) for epoch in range(1, 20)]
    assert len(set(seeds)) == len(seeds)
    assert len({each + 1 for each in seeds} | set(seeds)) == 2 * len(seeds)


@pytest.mark.parametrize(("slack", "nonnegative"), [("linear", "both"), ("quadratic", "items"), ("none", "none")])
@pytest.mark.parametrize("timed", [False, True])
def test_stream_is_that_of_the_reference(stream, slack, nonnegative, timed):
    """Ids are numbered as they arrive; users begin at zero, items at the row of their number in the start of Q."""
    users, items, values = stream
    settings = {"C": 0.2, "slack": slack, "root": "exact"}
    model = paper(rank=3, seed=8, nonnegative=nonnegative, **settings)
    if timed:
        mixed = np.random.default_rng(0).permutation(60)
        data = rf.Ratings.from_arrays(users[mixed], items[mixed], values[mixed], timestamps=1_000_000 + mixed)
    else:
        data = rf.Ratings.from_arrays(users, items, values)
    model.partial_fit(data)
    seen_users, seen_items = list(dict.fromkeys(users.tolist())), list(dict.fromkeys(items.tolist()))
    P, Q = padded(len(seen_users), 3), start_of_items(len(seen_items), 3, seed=8)
    reference.passive_aggressive_online(
        np.array([seen_users.index(user) for user in users], dtype=np.int32),
        np.array([seen_items.index(item) for item in items], dtype=np.int32),
        values,
        P,
        Q,
        Rule(**settings, nonnegative=nonnegative in ("both", "users")),
        Rule(**settings, nonnegative=nonnegative in ("both", "items")),
    )
    assert list(model.users_) == seen_users
    assert list(model.items_) == seen_items
    np.testing.assert_array_equal(model.user_factors_, P[:, :3])
    np.testing.assert_array_equal(model.item_factors_, Q[:, :3])


def test_stream_after_fit_goes_on_from_the_fitted_rows(ratings):
    model = paper(rank=3, C=0.1, passes=2).fit(ratings)
    P, Q = padded_copy(model.user_factors_), padded_copy(model.item_factors_)
    P, Q = np.vstack([P, padded(1, 3)]), np.vstack([Q, start_of_items(9, 3, seed=0)[8:]])
    model.partial_fit(rf.Ratings.from_arrays([2, 50, 50], [80, 80, 1], [4.0, 5.0, 1.0]))
    indices = np.array([2, 13, 13], dtype=np.int32), np.array([8, 8, 1], dtype=np.int32)
    reference.passive_aggressive_online(*indices, np.array([4, 5, 1], dtype=np.float32), P, Q, Rule(C=0.1), Rule(C=0.1))
    np.testing.assert_array_equal(model.user_factors_, P[:, :3])
    np.testing.assert_array_equal(model.item_factors_, Q[:, :3])


def test_fold_in_is_as_many_passes_from_zero_against_the_items_as_they_are(ratings):
    model = paper(rank=3, C=0.1, passes=4).fit(ratings)
    newcomers = rf.Ratings.from_arrays(["b", "a", "b"], [1, 3, 7], [5.0, 2.0, 1.0])
    rows, items = padded(2, 3), padded_copy(model.item_factors_)
    known = rf.Ratings.from_indices(
        newcomers.users, ratings.items, newcomers.user_indices, np.array([3, 1, 7], dtype=np.int32), [2.0, 5.0, 1.0]
    )
    for epoch in range(1, 5):
        reference.passive_aggressive_pass(known.by_user, rows, items, Rule(C=0.1), order_seed(model.seed, epoch))
    np.testing.assert_array_equal(model.fold_in(newcomers), rows[:, :3])


def planted(rng, n_users=60, n_items=40, signed=""):
    P, Q = rng.gamma(1.0, 1.0, (n_users, 3)), rng.gamma(1.0, 1.0, (n_items, 3))
    if "users" in signed:
        P *= rng.choice([-1, 1], P.shape)
    if "items" in signed:
        Q *= rng.choice([-1, 1], Q.shape)
    product = P @ Q.T
    seen = rng.random(product.shape) < 0.5
    return rf.Ratings.from_dense(np.where(seen, product, np.nan)), rf.Ratings.from_dense(
        np.where(seen, np.nan, product)
    )


def share_left(model, train, test):
    """Mean absolute error on the test ratings, relative to that of the mean."""
    predicted = model.predict(test.users.ids(test.user_indices), test.items.ids(test.item_indices))
    return np.abs(test.values - predicted).mean() / np.abs(test.values - train.mean()).mean()


@pytest.mark.parametrize(("slack", "root"), list(itertools.product(("linear", "quadratic"), ROOTS)))
def test_planted_nonnegative_matrix_of_rank_three_is_found(slack, root):
    train, test = planted(np.random.default_rng(3))
    model = paper(rank=3, C=0.05, slack=slack, root=root, passes=150, tol=None).fit(train)
    assert share_left(model, train, test) < 0.02
    assert model.user_factors_.min() >= 0
    assert model.item_factors_.min() >= 0


@pytest.mark.parametrize(("promise", "signed"), [("items", "users"), ("users", "items"), ("none", "users items")])
def test_planted_matrix_is_found_where_one_side_or_none_is_nonnegative(promise, signed):
    train, test = planted(np.random.default_rng(4), signed=signed)
    model = paper(rank=3, C=0.05, nonnegative=promise, root="exact", passes=300, tol=None).fit(train)
    assert train.values.min() < 0
    assert share_left(model, train, test) < 0.05
    assert (model.user_factors_.min() >= 0) == (promise == "users")
    assert (model.item_factors_.min() >= 0) == (promise == "items")


def test_stream_learns_too():
    train, test = planted(np.random.default_rng(5))
    model = paper(rank=3, C=0.05, seed=1)
    for _ in range(40):
        model.partial_fit(train)
    assert share_left(model, train, test) < 0.1


def test_best_pass_on_validation_ratings_is_not_always_the_last():
    rng = np.random.default_rng(6)
    dense = np.where(rng.random((40, 25)) < 0.3, rng.integers(1, 6, (40, 25)), np.nan)
    test = np.where(np.isnan(dense), rng.integers(1, 6, (40, 25)), np.nan)
    model = paper(rank=10, C=0.1, passes=30, tol=None)
    model.fit(rf.Ratings.from_dense(dense), validation=rf.Ratings.from_dense(test))
    errors = [report.validation for report in model.history_]
    assert np.argmin(errors) < len(errors) - 1
    assert model._error(rf.Ratings.from_dense(test)) == min(errors)


def test_smaller_c_moves_less_and_wide_tube_does_not_move(ratings):
    gentle, bold = (paper(rank=3, C=C, passes=1).fit(ratings) for C in (0.001, 0.1))
    assert np.abs(gentle.user_factors_).sum() < np.abs(bold.user_factors_).sum()
    still = paper(rank=3, epsilon=10.0).fit(ratings)
    np.testing.assert_array_equal(still.user_factors_, 0)
    np.testing.assert_array_equal(still.item_factors_, start_of_items(8, 3, seed=0)[:, :3])
    assert still.history_[0].objective == 0


def test_greater_tol_stops_earlier(ratings):
    lengths = [len(paper(rank=3, C=0.05, passes=60, tol=tol).fit(ratings).history_) for tol in (-10.0, 0.02, 0.5)]
    assert 60 == lengths[0] > lengths[1] > lengths[2]


def test_unknown_user_is_the_mean_user_and_unknown_item_the_mean_item(ratings):
    """Means over the rows learned: user 4 and item 6 have no ratings and do not count."""
    model = paper(rank=3, C=0.1, clip=False).fit(ratings)
    mean_user = np.delete(model.user_factors_, 4, axis=0).mean(axis=0)
    mean_item = np.delete(model.item_factors_, 6, axis=0).mean(axis=0)
    rated_items, rated_users = np.delete(np.arange(8), 6), np.delete(np.arange(13), 4)
    np.testing.assert_allclose(model.predict(-1, rated_items), model.item_factors_[rated_items] @ mean_user, rtol=1e-5)
    np.testing.assert_allclose(model.predict(rated_users, -1), model.user_factors_[rated_users] @ mean_item, rtol=1e-5)
    np.testing.assert_allclose(model.predict(4, 6), ratings.mean(), rtol=1e-6)


def test_warm_start_takes_the_rows_of_the_ids_in_common(ratings):
    """With a tube too wide for anything to move, the start is what is left: by id, the rest as ever."""
    first = paper(rank=3, C=0.1).fit(ratings)
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    later = rf.Ratings.from_arrays(np.append(users, -3) + 1, np.append(items, -7) + 2, np.append(ratings.values, 1.0))
    warm = paper(rank=3, epsilon=1e6, seed=4, passes=1).fit(later, init=first)
    shared_users = [user for user in warm.users_ if user in ratings.users]
    shared_items = [item for item in warm.items_ if item in ratings.items]
    assert 5 < len(shared_users) < len(warm.users_)
    assert 2 < len(shared_items) < len(warm.items_)
    np.testing.assert_array_equal(
        warm.user_factors_[warm.users_.index(shared_users)], first.user_factors_[first.users_.index(shared_users)]
    )
    np.testing.assert_array_equal(
        warm.item_factors_[warm.items_.index(shared_items)], first.item_factors_[first.items_.index(shared_items)]
    )
    new = [item not in ratings.items for item in warm.items_]
    np.testing.assert_array_equal(warm.item_factors_[new], start_of_items(len(warm.items_), 3, seed=4)[:, :3][new])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 0}, "rank must be a whole number of at least 1, found 0"),
        ({"rank": 2.5}, r"rank must be a whole number of at least 1, found 2\.5"),
        ({"rank": "ten"}, "rank must be a whole number of at least 1, found 'ten'"),
        ({"passes": 0}, "passes must be a whole number of at least 1, found 0"),
        ({"tol": "small"}, "tol must be a number, or None to make every pass, found 'small'"),
        ({"tol": np.nan}, "tol must be a number, or None to make every pass, found nan"),
        ({"seed": -1}, "seed must be a whole number of at least 0, found -1"),
        ({"seed": None}, "seed must be a whole number of at least 0, found None"),
        ({"C": 0.0}, r"C must be a positive number, found 0\.0; small values"),
        ({"C": -1.0}, r"C must be a positive number, found -1\.0"),
        ({"C": np.inf}, "C must be a positive number, found inf"),
        ({"C": np.nan}, "C must be a positive number, found nan"),
        ({"C": "small"}, "C must be a positive number, found 'small'"),
        ({"epsilon": -0.1}, r"epsilon must be zero or a positive number, found -0\.1"),
        ({"epsilon": np.nan}, "epsilon must be zero or a positive number, found nan"),
        ({"slack": "soft"}, "slack must be one of none, linear, quadratic, found 'soft'"),
        (
            {"root": "published-bisection", "nonnegative": "items"},
            'root="published-bisection" needs nonnegative="both", found \'items\'; use root="bisection"',
        ),
        ({"root": "newton"}, "root must be one of exact, bisection, published-bisection, approximate, found 'newton'"),
        ({"nonnegative": True}, "nonnegative must be one of both, items, users, none, found True"),
        ({"recipe": "mine"}, "recipe must be one of averaged, paper, found 'mine'"),
    ],
)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_settings_are_checked_in_words(ratings, settings, words, learn):
    model = paper(**settings)
    with pytest.raises(ValueError, match=words):
        getattr(model, learn)(ratings)
    assert not hasattr(model, "users_")


def test_negative_rating_is_named_with_user_item_and_remedy():
    ratings = rf.Ratings.from_arrays(["ann", "bob"], ["tea", "milk"], [4.0, -3.5])
    words = (
        r'nonnegative="both" needs ratings >= 0, found -3\.5 of user \'bob\' for item \'milk\'; '
        r'use ratings\.shifted\(\), or nonnegative="items"'
    )
    with pytest.raises(ValueError, match=words):
        paper().fit(ratings)
    with pytest.raises(ValueError, match=words):
        paper().partial_fit(ratings)
