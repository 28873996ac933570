"""Ratings of any size that single precision can hold are learned alike; those that it cannot are refused."""

import numpy as np
import pytest

import rankfill as rf

MODELS = [
    rf.CoordinateDescent(rank=3, passes=4),
    rf.CoordinateDescent(rank=3, passes=4, biases=False, nonnegative="both"),
    rf.CoordinateDescent(rank=3, passes=4, weighting="count"),
    rf.ALS(rank=3, passes=4),
    rf.ALS(rank=3, passes=4, weighting="count"),
    rf.ALS(rank=3, passes=4, biases=False, nonnegative="items"),
]


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(60, 40, 900, noise=0.5, seed=1)


@pytest.mark.parametrize("power", [-100, -64, -26, 26, 64, 100, 120])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_power_of_four_changes_no_bit(model, ratings, power):
    """2¹²⁰ is about 1e36; squares of such ratings are far beyond single precision."""
    scaled = ratings.with_values(lambda values: np.ldexp(values, power))
    ours, plain = (type(model)(**model.get_params()).fit(each) for each in (scaled, ratings))
    np.testing.assert_array_equal(ours.predict_all(), np.ldexp(plain.predict_all(), power))
    np.testing.assert_array_equal(ours.user_factors_, np.ldexp(plain.user_factors_, power // 2))
    np.testing.assert_array_equal(ours.item_biases_, np.ldexp(plain.item_biases_, power))
    np.testing.assert_array_equal(ours.fold_in(scaled)[:, :3], np.ldexp(plain.fold_in(ratings)[:, :3], power // 2))
    assert ours.history_[-1].objective == pytest.approx(np.ldexp(plain.history_[-1].objective, 2 * power), rel=1e-12)
    assert ours.history_[-1].train == pytest.approx(np.ldexp(plain.history_[-1].train, power), rel=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_ratings_below_the_normal_range_are_learned_as_well_as_they_are_known(model, ratings):
    scaled = ratings.with_values(lambda values: values.astype(np.float64) * 1e-40)
    ours, plain = (type(model)(**model.get_params()).fit(each) for each in (scaled, ratings))
    np.testing.assert_allclose(ours.predict_all().astype(float) * 1e40, plain.predict_all(), atol=1e-3)


@pytest.mark.parametrize("size", [1e-40, 1e30])
def test_validation_ratings_are_measured_in_their_own_units(ratings, size):
    scaled = ratings.with_values(lambda values: values.astype(np.float64) * size)
    model = rf.ALS(rank=3, passes=3).fit(scaled, validation=scaled)
    assert model.history_[-1].validation == pytest.approx(rf.ALS(rank=3, passes=3).fit(scaled)._error(scaled))


def test_weights_of_implicit_feedback_have_no_unit(ratings):
    """Next to no weight is no weight: what was used counts once, whatever the size of the start."""
    tiny, none = (
        rf.ALS(rank=3, feedback="implicit", confidence=1.0).fit(
            ratings.with_values(lambda values, size=size: values * size)
        )
        for size in (1e-30, 0.0)
    )
    np.testing.assert_allclose(tiny.predict_all(), none.predict_all(), atol=1e-6)
    assert tiny.predict_all().max() > 0.5


def test_weights_too_heavy_for_single_precision_are_refused(ratings):
    heavy = ratings.with_values(lambda values: values.astype(np.float64) * 1e20)
    with pytest.raises(ValueError, match=r"weights confidence · rating up to 1e\+12, found 5e\+20; use a smaller"):
        rf.ALS(feedback="implicit", confidence=1.0).fit(heavy)


@pytest.mark.parametrize("power", [-60, -3, 70])
def test_a_confidence_that_is_chosen_goes_with_the_size_of_the_ratings(ratings, power):
    ours, plain = (
        rf.ALS(feedback="implicit").fit(each) for each in (ratings.with_values(lambda v: np.ldexp(v, power)), ratings)
    )
    np.testing.assert_array_equal(ours.predict_all(), plain.predict_all())
    assert ours.confidence_ == plain.confidence_ * 2.0**-power
