"""fit(…, init=(P, Q)): the same as going on from a model that holds these factors, and refused in words otherwise."""

import numpy as np
import pytest

import rankfill as rf

STARTING = sorted(name for name, cls in rf.MODELS.items() if getattr(cls, "starts_from_factors", False))
OTHERS = sorted(set(rf.MODELS) - set(STARTING))


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(40, 25, 500, seed=3)


def small(name, **more):
    """Few factors, two passes, no biases; what the model does not have is left out."""
    settings = {"rank": 3, "passes": 2, "tol": None, "biases": False, "shrinkage": 1.0, "recipe": "paper"}
    known = rf.MODELS[name]().get_params()
    return rf.MODELS[name](**{key: value for key, value in (settings | {"C": 0.1} | more).items() if key in known})


def test_the_models_that_start_from_factors_are_found():
    assert {"passive-aggressive", "sgd", "coordinate-descent", "als"} <= set(STARTING)
    assert {"bias", "bayesian-mf"} <= set(OTHERS)


@pytest.mark.parametrize("name", STARTING)
def test_factors_are_as_good_as_the_model_that_holds_them(name, ratings):
    before = small(name).fit(ratings)
    by_model = small(name).fit(ratings, init=before)
    by_factors = small(name).fit(ratings, init=(before.user_factors_, before.item_factors_))
    np.testing.assert_array_equal(by_model.user_factors_, by_factors.user_factors_)
    np.testing.assert_array_equal(by_model.item_factors_, by_factors.item_factors_)
    cold = small(name).fit(ratings)
    assert not np.array_equal(cold.item_factors_, by_factors.item_factors_), "the start made a difference"


@pytest.mark.parametrize("name", ["sgd", "als"])
def test_biases_and_offset_start_as_they_would_without(name, ratings):
    start = np.zeros((40, 3)), np.zeros((25, 3))
    model = small(name, biases=True, passes=1).fit(ratings, init=start)
    assert model.offset_ == pytest.approx(ratings.mean(), rel=1e-5)
    assert np.any(model.item_biases_ != 0)


def test_a_pass_from_given_factors_is_the_one_of_the_definition(ratings):
    """One pass of unregularised coordinate descent at rank 1 is two quotients of sums."""
    q = np.linspace(1.0, 2.0, 25)
    start = np.zeros((40, 1)), q[:, None]
    model = rf.CoordinateDescent(rank=1, penalty=0.0, biases=False, inner=1, passes=1, tol=None, clip=False)
    model.fit(ratings, init=start)
    users, items, values = ratings.user_indices, ratings.item_indices, ratings.values
    p = np.bincount(users, values * q[items]) / np.bincount(users, q[items] ** 2)
    expected = np.bincount(items, values * p[users]) / np.bincount(items, p[users] ** 2)
    np.testing.assert_allclose(model.user_factors_[:, 0], p, rtol=1e-5)
    np.testing.assert_allclose(model.item_factors_[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_models_without_such_a_start_say_so(name, ratings):
    with pytest.raises(TypeError, match="does not start from factors"):
        rf.MODELS[name]().fit(ratings, init=(np.zeros((40, 3)), np.zeros((25, 3))))


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((np.zeros((39, 3)), np.zeros((25, 3))), r"user factors as numbers of shape \(40, rank\)"),
        ((np.zeros((40, 3)), np.zeros(25)), r"item factors as numbers of shape \(25, rank\)"),
        ((np.zeros((40, 3)), np.zeros((25, 2))), "user factors of rank 3 and item factors of rank 2"),
        ((np.zeros((40, 2)), np.zeros((25, 2))), "init has rank 2, this model 3"),
        ((np.full((40, 3), np.nan), np.zeros((25, 3))), "not finite"),
        ((np.zeros((40, 3)),), "a pair of user and item factors, found 1"),
    ],
)
def test_factors_that_do_not_fit_are_refused(pair, words, ratings):
    with pytest.raises(ValueError, match=words):
        small("als").fit(ratings, init=pair)
