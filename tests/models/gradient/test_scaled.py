"""What the gradient methods share: starts for ratings of any mean, units for ratings of any size, warm starts."""

import numpy as np
import pytest

import rankfill as rf

MODELS = (rf.SGD, rf.GradientDescent, rf.VarianceReduced)
PLAIN = {"penalty": 0.001, "shrinkage": 0.0, "biases": False, "tol": None}


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(60, 40, 1200, rank=2, noise=0.2, step=None, seed=0)


def checkerboard(n_users=12, n_items=10):
    """Ratings of ±1 whose mean, and that of every row and column, is zero."""
    return rf.Ratings.from_dense((-1.0) ** (np.arange(n_users)[:, None] + np.arange(n_items)))


def predictions(model, ratings):
    return model.predict(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_checkerboard_is_learned_without_biases(model, size):
    ratings = checkerboard().with_values(lambda values: size * values)
    fitted = model(rank=2, passes=200, **PLAIN).fit(ratings)
    np.testing.assert_allclose(predictions(fitted, ratings), ratings.values, atol=0.1 * size)


@pytest.mark.parametrize("model", [rf.SGD, rf.GradientDescent])
def test_balanced_likes_are_learned_without_biases(model):
    ratings = checkerboard()
    fitted = model(rank=2, loss="logistic", passes=200, **PLAIN).fit(ratings)
    assert (np.sign(predictions(fitted, ratings)) == ratings.values).all()


@pytest.mark.parametrize("model", [rf.SGD, rf.GradientDescent])
@pytest.mark.parametrize("nonnegative", ["items", "users"])
def test_mean_zero_is_learned_where_one_side_is_not_negative(model, nonnegative):
    ratings = checkerboard()
    fitted = model(rank=8, passes=300, nonnegative=nonnegative, **PLAIN).fit(ratings)
    np.testing.assert_allclose(predictions(fitted, ratings), ratings.values, atol=0.2)
    assert getattr(fitted, f"{nonnegative[:-1]}_factors_").min() >= 0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("exponent", [-40, -30, -20, -3, 6, 18, 30, 37])
def test_ratings_of_any_size_are_learned_alike(model, biases, exponent, ratings):
    """Down to the smallest that float32 can hold with some precision; predictions are not clipped to the range."""
    size = np.float32(4.0 ** round(exponent / np.log10(4)))
    settings = {"rank": 3, "shrinkage": 1.0, "passes": 10, "tol": None, "biases": biases, "clip": False}
    ours = model(**settings).fit(ratings)
    sized = ratings.with_values(lambda values: values * size)
    theirs = model(**settings).fit(sized)
    expected = predictions(ours, ratings).astype(np.float64) * size
    tolerance = 1e-6 if exponent > -37 else 1e-2  # numbers below 1e-38 have fewer digits
    np.testing.assert_allclose(predictions(theirs, ratings), expected, rtol=0, atol=5 * size * tolerance)
    np.testing.assert_allclose(theirs.history_[-1].train, ours.history_[-1].train * float(size), rtol=1e-2)
    folded = theirs.fold_in(sized)
    assert np.isfinite(folded).all()
    assert (folded != 0).any(axis=1).all()


@pytest.mark.parametrize("model", MODELS)
def test_ratings_far_from_those_of_the_model_are_refused_in_words(model, ratings):
    tiny = model(rank=3, passes=5, shrinkage=1.0).fit(ratings.with_values(lambda values: values * np.float32(1e-40)))
    with pytest.raises(ValueError, match=r"these ratings do not fit into 32-bit numbers in a model of ratings from"):
        tiny.fold_in(ratings)


@pytest.mark.parametrize("model", MODELS)
def test_ratings_too_large_for_single_precision_are_refused_or_finite(model, ratings):
    huge = ratings.with_values(lambda values: values * np.float32(6e37))
    try:
        fitted = model(rank=3, passes=5).fit(huge)
    except ValueError as error:
        assert "do not fit into 32-bit numbers" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(predictions(fitted, huge)).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("setting", [{"rank": 7}, {"rank": 1}, {"biases": False}])
def test_settings_changed_after_a_fit_change_no_answer(model, setting, ratings):
    fitted = model(rank=3, passes=5).fit(ratings)
    rows, expected = fitted.fold_in(ratings), predictions(fitted, ratings)
    fitted.set_params(**setting)
    np.testing.assert_array_equal(fitted.fold_in(ratings), rows)
    np.testing.assert_array_equal(predictions(fitted, ratings), expected)
    assert (rows[:, 3] != 0).any()  # the biases


@pytest.mark.parametrize("model", [rf.SGD, rf.GradientDescent])
@pytest.mark.parametrize("nonnegative", ["both", "items", "users"])
def test_start_from_a_free_model_is_projected_first(model, nonnegative, ratings):
    free = model(rank=3, passes=20).fit(ratings)
    assert min(free.user_factors_.min(), free.item_factors_.min()) < 0
    rate = {"rate": 1e-12} if model is rf.SGD else {}
    bound = model(rank=3, passes=1, nonnegative=nonnegative, **rate).fit(ratings, init=free)
    for side, sides in (("user", ("both", "users")), ("item", ("both", "items"))):
        if nonnegative in sides:
            assert getattr(bound, f"{side}_factors_").min() >= 0
    idle = rf.Ratings.from_indices(
        free.users_, free.items_, ratings.user_indices[:1], ratings.item_indices[:1], ratings.values[:1]
    )
    still = model(rank=3, passes=1, nonnegative="both").fit(idle, init=free)  # rows without ratings do not move
    assert min(still.user_factors_.min(), still.item_factors_.min()) >= 0
