"""Passive-aggressive factorisation with nothing set: the start from the effects, the falling C, the choice of C."""

import itertools

import numpy as np
import pytest

import rankfill as rf
from rankfill import Bias, PassiveAggressive, Ratings
from rankfill.kernels import Rule, padded_copy
from rankfill.kernels.reference import rounds as reference
from rankfill.models.base.training import order_seed
from rankfill.models.passive_aggressive.model import CAPS


@pytest.fixture
def ratings():
    """13 users by 8 items, one of each without ratings; ratings of 0 to 5."""
    rng = np.random.default_rng(1)
    dense = np.where(rng.random((13, 8)) < 0.5, rng.integers(0, 6, (13, 8)), np.nan)
    dense[4], dense[:, 6] = np.nan, np.nan
    return Ratings.from_dense(dense)


@pytest.fixture(scope="module")
def planted():
    """Non-negative tastes of rank 3, half of the table known."""
    rng = np.random.default_rng(3)
    product = rng.gamma(1.0, 1.0, (80, 3)) @ rng.gamma(1.0, 1.0, (3, 60))
    return rf.split(Ratings.from_dense(np.where(rng.random(product.shape) < 0.5, product, np.nan)), test=0.2)


def pairs(ratings):
    return ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)


def errors(model, train, test):
    return rf.evaluate(model.fit(train), test, scores=["rmse", "mae"])


@pytest.mark.parametrize(
    ("nonnegative", "shift"), [("both", 0.0), *itertools.product(("items", "users", "none"), (0.0, -7.0, -2.5))]
)
def test_what_no_rating_has_moved_is_the_bias_model(ratings, nonnegative, shift):
    """A tube too wide for anything to move leaves the start; negative ratings are held by the side that is free."""
    shifted = ratings.with_values(lambda values: values + np.float32(shift))
    still = PassiveAggressive(rank=5, nonnegative=nonnegative, epsilon=1e6, clip=False).fit(shifted)
    expected = Bias(clip=False).fit(shifted).predict(*pairs(shifted))
    np.testing.assert_allclose(still.predict(*pairs(shifted)), expected, atol=2e-5)
    for side, rows in (("users", still.user_factors_), ("items", still.item_factors_)):
        assert nonnegative not in ("both", side) or rows.min() >= 0


def test_single_factor_starts_as_the_means_of_the_items(ratings):
    still = PassiveAggressive(rank=1, epsilon=1e6, clip=False).fit(ratings)
    expected = Bias(effects="items", clip=False).fit(ratings).predict(*pairs(ratings))
    np.testing.assert_allclose(still.predict(*pairs(ratings)), expected, atol=1e-5)


@pytest.mark.parametrize(("slack", "nonnegative"), [("linear", "both"), ("quadratic", "items")])
def test_passes_are_those_of_the_reference_with_falling_caps(ratings, slack, nonnegative):
    settings = {"rank": 5, "slack": slack, "nonnegative": nonnegative, "seed": 3}
    start = PassiveAggressive(**settings, C=0.3, epsilon=1e6).fit(ratings)
    P, Q = padded_copy(start.user_factors_), padded_copy(start.item_factors_)
    model = PassiveAggressive(**settings, C=0.3, passes=3, tol=None).fit(ratings)
    for epoch in (1, 2, 3):
        rules = [
            Rule(C=0.3 * 0.72 ** (epoch - 1), slack=slack, nonnegative=nonnegative in ("both", side), averaged=20.0)
            for side in ("users", "items")
        ]
        seed = order_seed(3, epoch)
        reference.passive_aggressive_pass(ratings.by_user, P, Q, rules[0], seed)
        losses = reference.passive_aggressive_pass(ratings.by_item, Q, P, rules[1], seed + 1)
        assert model.history_[epoch - 1].objective == losses.loss
    np.testing.assert_array_equal(model.user_factors_, P[:, :5])
    np.testing.assert_array_equal(model.item_factors_, Q[:, :5])
    assert model.C_ == 0.3


def test_stream_goes_on_with_the_cap_of_the_tenth_pass(ratings):
    model = PassiveAggressive(rank=5, C=0.3, passes=2).fit(ratings)
    P, Q = padded_copy(model.user_factors_), padded_copy(model.item_factors_)
    model.partial_fit(Ratings.from_arrays([2, 3], [1, 1], [4.0, 5.0]))
    users, items = np.array([2, 3], dtype=np.int32), np.array([1, 1], dtype=np.int32)
    rule = Rule(C=0.3 * 0.72**9)
    reference.passive_aggressive_online(users, items, np.array([4, 5], dtype=np.float32), P, Q, rule, rule)
    np.testing.assert_array_equal(model.user_factors_, P[:, :5])
    np.testing.assert_array_equal(model.item_factors_, Q[:, :5])


def test_newcomers_to_a_stream_start_at_the_mean(ratings):
    model = PassiveAggressive(rank=5, clip=False).fit(ratings)
    known_item = int(model.items_.ids()[1])
    model.set_params(epsilon=1e6).partial_fit(Ratings.from_arrays([99], [known_item], [5.0]))
    strangers = model.predict(99, 77), model.predict(99, known_item)
    assert strangers[1] == pytest.approx(float(model.item_factors_[1] @ model.user_factors_[-1]), rel=1e-5)
    assert abs(strangers[1] - ratings.mean()) < 2.5


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_bold_where_there_is_something_to_learn(planted, slack):
    train, test = planted
    model = PassiveAggressive(slack=slack)
    ours, bias = errors(model, train, test), errors(Bias(), train, test)
    assert model.C_ * (model._columns.unit**2 if slack == "quadratic" else 1) >= CAPS[3]
    assert ours["mae"] < 0.6 * bias["mae"]
    assert ours["rmse"] < 0.6 * bias["rmse"]


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize(
    ("shape", "noise"), [((3000, 400, 6000), 0.7), ((2000, 400, 10000), 0.7), ((500, 100, 4000), 2.5)]
)
def test_close_to_the_bias_model_where_there_is_nothing(slack, shape, noise):
    """Two, five and eight ratings a user; a model that had seen the held-out fifth would choose a large C here."""
    train, test = rf.split(rf.synthetic.low_rank(*shape, noise=noise, seed=1), test=0.2)
    model = PassiveAggressive(slack=slack)
    ours, bias = errors(model, train, test), errors(Bias(), train, test)
    for measure in ("rmse", "mae"):
        assert ours[measure] < 1.005 * bias[measure]
    unit = model._columns.unit**2 if slack == "quadratic" else 1.0
    assert model.C_ * unit <= 0.05


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_ratings_in_other_units_are_learned_as_well(planted, slack):
    """Factors take √s of a scale s, so C stays under linear slack and is divided by s under quadratic."""
    train, test = planted
    plain = PassiveAggressive(slack=slack).fit(train)
    scaled = PassiveAggressive(slack=slack).fit(train.with_values(lambda values: 64 * values))
    assert pytest.approx(plain.C_ / (64 if slack == "quadratic" else 1), rel=1e-5) == scaled.C_
    np.testing.assert_allclose(scaled.predict(*pairs(test)), 64 * plain.predict(*pairs(test)), rtol=1e-2)


def test_choice_depends_neither_on_passes_nor_on_validation_ratings(planted):
    train, test = planted
    plain = PassiveAggressive().fit(train)
    assert PassiveAggressive(passes=1).fit(train).C_ == plain.C_
    assert PassiveAggressive().fit(train, validation=test).C_ == plain.C_


def test_choice_on_many_ratings_is_made_on_some_users(planted, monkeypatch):
    train, _ = planted
    learned = []
    whole = PassiveAggressive._pass

    def counted(self, ratings, *rest):
        learned.append(len(ratings))
        return whole(self, ratings, *rest)

    monkeypatch.setattr(PassiveAggressive, "_pass", counted)
    monkeypatch.setattr("rankfill.models.passive_aggressive.model.SAMPLE", 600)
    model = PassiveAggressive(passes=2).fit(train)
    assert max(learned[:-2]) < 600
    assert learned[-2:] == [len(train)] * 2
    assert model.C_ in CAPS


@pytest.mark.parametrize("values", [[3.0], [0.0], [4.0, 4.0, 4.0]])
def test_hardly_any_ratings(values):
    ratings = Ratings.from_arrays(np.arange(len(values)), np.zeros(len(values), dtype=int), values)
    model = PassiveAggressive().fit(ratings)
    np.testing.assert_allclose(model.predict(*pairs(ratings)), values, atol=1e-6)


def test_paper_finds_its_cap_too(planted):
    train, test = planted
    model = PassiveAggressive(recipe="paper", rank=5, passes=10)
    assert errors(model, train, test)["mae"] < errors(Bias(), train, test)["mae"]
    assert model.C_ in CAPS
