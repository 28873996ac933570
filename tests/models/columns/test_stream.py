"""Streams of ratings of any size: the unit follows the ratings, no single one spoils it, and cuts do not matter."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankfill as rf

MODELS = [rf.Broyden, rf.SGMF]
SIDES = ["users", "items"]


def stars(seed=0, n_users=60, n_items=25, n=900):
    """Users, items and ratings of one to five stars in an order of arrival; effects only, with noise."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n_users * n_items)[:n]
    users, items = pairs // n_items, pairs % n_items
    effects = rng.normal(0, 0.6, n_users)[users] + rng.normal(0, 0.8, n_items)[items]
    return users, items, np.clip(np.round(3.3 + effects + rng.normal(0, 0.5, n)), 1, 5)


def as_ratings(users, items, values):
    return rf.Ratings.from_arrays(users, items, values)


def error_on(model, users, items, values):
    return np.sqrt(np.mean((model.predict(users, items) - values) ** 2))


def state_of(model):
    return [each.tobytes() for each in (model._users.array, model._items.array)] + [model.offset_, model.unit_]


def in_parts(model, users, items, values, cuts):
    for part in np.split(np.arange(len(values)), sorted(cuts)):
        if len(part):
            model.partial_fit(as_ratings(users[part], items[part], values[part]))
    return model


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("stray", [1e6, 0.0, 0.001, -1e30])
@pytest.mark.parametrize("place", [0, 1, 300])
def test_a_stray_rating_does_not_spoil_the_others(make, side, stray, place):
    users, items, values = stars()
    plain = make(rank=4, side=side).partial_fit(as_ratings(users, items, values))
    users_too, items_too = np.insert(users, place, 777), np.insert(items, place, 888)
    model = make(rank=4, side=side).partial_fit(as_ratings(users_too, items_too, np.insert(values, place, stray)))
    assert np.std(values) > 0.9
    assert error_on(plain, users, items, values) < 0.95 * np.std(values)
    assert error_on(model, users, items, values) < 1.01 * error_on(plain, users, items, values)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("stray", [1e6, 0.0, 0.001])
@pytest.mark.parametrize(("biases", "most"), [(True, 1.01), (False, 1.4)])
def test_a_stray_first_rating_of_a_user_and_an_item_that_come_again(make, stray, biases, most):
    """Without biases a column takes whatever explains its ratings: those of one user and one item suffer."""
    users, items, values = stars(seed=1)
    plain = make(rank=4, biases=biases).partial_fit(as_ratings(users, items, values))
    model = make(rank=4, biases=biases).partial_fit(as_ratings(users, items, np.append(stray, values[1:])))
    assert error_on(model, users[1:], items[1:], values[1:]) < most * error_on(plain, users, items, values)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e-3, 100.0, 1e6, 1e30])
def test_a_stream_is_learned_at_any_scale(make, biases, scale):
    users, items, values = stars(seed=2)
    plain = make(rank=4, biases=biases, clip=False).partial_fit(as_ratings(users, items, values))
    model = make(rank=4, biases=biases, clip=False).partial_fit(as_ratings(users, items, np.float32(values * scale)))
    found = model.predict(users, items).astype(float) / scale
    np.testing.assert_allclose(found, plain.predict(users, items), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("factor", [0.1, 100.0])
def test_a_stream_whose_ratings_change_their_size_is_learned(make, factor):
    """Newcomers after the change, with twenty times as many ratings as before it."""
    users, items, values = stars(seed=3, n_users=30, n_items=10, n=100)
    later = stars(seed=4, n_users=100, n_items=25, n=2000)
    model = make(rank=4).partial_fit(as_ratings(users, items, values))
    before = model.unit_  # a tenth of it is within what the ratings before the change have left
    model.partial_fit(as_ratings(later[0] + 100, later[1] + 100, later[2] * factor))
    assert model.unit_ / before == (64 if factor > 1 else 1)
    assert error_on(model, later[0] + 100, later[1] + 100, later[2] * factor) < np.std(later[2] * factor)


@settings(max_examples=30, deadline=None)
@given(
    make=st.sampled_from(MODELS),
    side=st.sampled_from(SIDES),
    biases=st.booleans(),
    factor=st.sampled_from([1.0, 1e-3, 1e4, 0.0]),
    in_order=st.booleans(),
    cuts=st.lists(st.integers(0, 200), max_size=9),
)
def test_cuts_do_not_matter_when_the_unit_changes(make, side, biases, factor, in_order, cuts):
    """By user in order the columns are long and the cuts fall within them."""
    users, items, values = stars(seed=5, n_users=20, n_items=12, n=200)
    if in_order:
        order = np.lexsort((np.arange(200), users))
        users, items, values = users[order], items[order], values[order]
    values[80:] *= factor
    values[3] = 500.0
    whole = make(rank=3, side=side, biases=biases).partial_fit(as_ratings(users, items, values))
    parts = in_parts(make(rank=3, side=side, biases=biases), users, items, values, cuts)
    same = parts.users_.index(whole.users_.ids())
    np.testing.assert_array_equal(same, np.arange(20))
    assert state_of(parts) == state_of(whole)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("stop", [1, 20, 32, 33, 120])
def test_a_stream_goes_on_from_a_file(make, stop, tmp_path):
    users, items, values = stars(seed=6)
    values[100:] *= 1000
    model = make(rank=3).partial_fit(as_ratings(users[:stop], items[:stop], values[:stop]))
    model.save(tmp_path / "model")
    for each in (model, loaded := rf.load(tmp_path / "model")):
        each.partial_fit(as_ratings(users[stop:], items[stop:], values[stop:]))
    assert state_of(loaded) == state_of(model)


def test_a_new_unit_does_not_change_what_is_predicted():
    users, items, values = stars(seed=7)
    model = rf.Broyden(rank=4, clip=False).fit(as_ratings(users, items, values))
    before, dictionary = model.predict(users, items), model.item_factors_.copy()
    model._change_unit(model.unit_ * 16)
    np.testing.assert_array_equal(model.predict(users, items), before)
    np.testing.assert_array_equal(model.item_factors_, 4 * dictionary)
    assert model.penalty_ == pytest.approx(100 * model.unit_)
    assert model.shrinkage_ == pytest.approx(15 * model.unit_)


@pytest.mark.parametrize("side", SIDES)
def test_given_numbers_are_not_changed_with_the_unit(side):
    users, items, values = stars(seed=8)
    values[200:] *= 1000
    model = rf.Broyden(rank=4, penalty=7.0, shrinkage=3.0, side=side).partial_fit(as_ratings(users, items, values))
    assert (model.penalty_, model.shrinkage_, model.bias_shrinkage_) == (7.0, 3.0, 3.0)
    assert model.unit_ > 100


@pytest.mark.parametrize(("rate", "biases"), [(50.0, True), (1e30, True), (1e30, False)])
def test_steps_that_diverge_are_refused_in_words(rate, biases):
    ratings, model = as_ratings(*stars(seed=9)), rf.SGMF(rate=rate, biases=biases, passes=40)
    words = re.escape(f"the factors grow without end on these ratings; rate={rate:g} is too large: lower it")
    with pytest.raises(ValueError, match=words):
        model.fit(ratings)
    model = rf.SGMF(rate=rate, biases=biases)
    with pytest.raises(ValueError, match=words):
        learn_often(model, ratings)


def learn_often(model, ratings):
    for _ in range(200):
        model.partial_fit(ratings)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("side", SIDES)
def test_single_ratings_are_learned_as_a_stream_is_and_newcomers_are_the_mean(make, side):
    """Every user and item is known early; a user's ratings come one after the other; the unit changes."""
    users, items, values = stars(seed=10, n_users=12, n_items=10, n=110)
    order = np.lexsort((np.arange(110), users))
    users, items, values = users[order], items[order], values[order]
    values[60:] *= 1000
    single = make(rank=3, side=side)
    for n, rating in enumerate(zip(users.tolist(), items.tolist(), values.tolist(), strict=True), start=1):
        single.learn_one(*rating)
        if n % 7 == 0:  # asking makes the mean rows, which later ratings must renew
            whole = make(rank=3, side=side).partial_fit(as_ratings(users[:n], items[:n], values[:n]))
            assert state_of(single) == state_of(whole)
            np.testing.assert_allclose(single.predict(-1, items), whole.predict(-1, items), rtol=1e-6)
            np.testing.assert_allclose(single.predict(users, -1), whole.predict(users, -1), rtol=1e-6)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("biases", [True, False])
def test_single_ratings_of_pairs_rated_again_are_learned_as_many_are(make, side, biases):
    random = np.random.default_rng(0)
    users, items = random.integers(0, 3, 300), random.integers(0, 3, 300)
    values = random.integers(1, 6, 300) * np.where(np.arange(300) % 100 == 99, 1e5, 1.0)
    options = {"rank": 2, "side": side, "biases": biases}
    single, many = make(**options), make(**options).learn_many(users, items, values)
    for rating in zip(users.tolist(), items.tolist(), values.tolist(), strict=True):
        single.learn_one(*rating)
    assert state_of(single) == state_of(many)


@pytest.mark.parametrize("make", MODELS)
def test_ratings_that_single_precision_cannot_add_up_are_refused(make):
    model = make(rank=2).partial_fit(as_ratings([1, 2], [1, 2], [3.0, 4.0]))
    with pytest.raises(ValueError, match=r"between -1e\+37 and 1e\+37, found one of the size 2e\+38; divide them all"):
        model.partial_fit(as_ratings([1], [2], [-2e38]))
    with pytest.raises(ValueError, match=r"between -1e\+37 and 1e\+37"):
        model.learn_one(1, 2, 2e38)
    with pytest.raises(ValueError, match=r"between -1e\+37 and 1e\+37"):
        make(rank=2).fit(as_ratings([1], [2], [2e38]))


def test_a_rating_too_large_is_refused_wherever_it_stands():
    model = rf.SGMF(rank=2).learn_many([1, 2, 1], [1, 1, 2], [3.0, 4.0, 2.0])
    for values in ([1e38, 1.0, 2.0], [1.0, 1e38, 2.0], [1.0, 2.0, -1e38]):
        with pytest.raises(ValueError, match=r"1e\+38"):
            model.learn_many([1, 2, 1], [1, 1, 2], values)
    assert model.n_ratings_ == 3
