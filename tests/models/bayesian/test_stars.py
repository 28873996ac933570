"""Ordered ratings: the parts of a draw against dense distributions, and probabilities that hold."""

import numpy as np
import pytest
import scipy.stats

import rankfill as rf
from rankfill.models.bayesian.stars import Stars


def seen(n=400, seed=0):
    """Predictions, and the stars that were seen of them with noise, at cut points of our own."""
    rng = np.random.default_rng(seed)
    predicted = rng.normal(0, 1.2, n)
    levels = np.searchsorted([-1.0, 0.2, 0.9], predicted + rng.normal(size=n))
    return Stars(levels.astype(np.float32) - 1.5, 1.0), predicted


def test_numbers_behind_stars_have_the_truncated_normal_distribution():
    stars, predicted = seen(4)
    predicted[:] = [0.3, -9.0, 9.0, 0.0]
    stars.codes[:] = [1, 3, 0, 2]  # two of them far from where they are expected
    stars.levels, stars.cuts = np.arange(4.0), np.array([-1.0, 0.2, 0.9])
    random = np.random.default_rng(0)
    drawn = np.array([stars._latents(predicted, stars.codes, random) for _ in range(20_000)])
    ends = np.array([-np.inf, -1.0, 0.2, 0.9, np.inf])
    for column, mean, code in zip(drawn.T, predicted, stars.codes, strict=True):
        theirs = scipy.stats.truncnorm(ends[code] - mean, ends[code + 1] - mean, loc=mean)
        assert column.mean() == pytest.approx(theirs.mean(), abs=4.5 * theirs.std() / np.sqrt(20_000))
        assert scipy.stats.kstest(column, theirs.cdf).pvalue > 1e-4


def test_cut_points_have_the_posterior_distribution_on_a_grid():
    """Three levels, so that one distance is free: mean and spread of its logarithm by quadrature."""
    rng = np.random.default_rng(1)
    predicted = rng.normal(size=60)
    codes = np.searchsorted([-0.5, 0.6], predicted + rng.normal(size=60))
    stars = Stars(codes.astype(np.float32), 1.0)
    low = stars.cuts[0]
    grid = np.linspace(-3, 2, 2001)
    cuts = low + np.exp(grid)
    below, above = scipy.stats.norm.cdf(low - predicted), scipy.stats.norm.cdf(cuts[:, None] - predicted)
    chances = np.where(codes == 0, below, np.where(codes == 1, above - below, 1 - above))
    density = np.log(chances).sum(axis=1) - 0.5 * (grid - stars.expected_gaps[0]) ** 2
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    mean = weights @ grid
    spread = np.sqrt(weights @ (grid - mean) ** 2)
    random, found = np.random.default_rng(0), []
    for k in range(6000):
        stars._draw_cuts(predicted, k, random)
        found.append(np.log(stars.cuts[1] - stars.cuts[0]))
    assert np.mean(found[200:]) == pytest.approx(mean, abs=0.15 * spread)
    assert np.std(found[200:]) == pytest.approx(spread, rel=0.12)
    assert 0.1 < np.mean(np.diff(found) != 0) < 0.6


def test_the_line_is_that_of_least_squares_and_the_loss_that_of_the_chances():
    stars, predicted = seen()
    stars._line(predicted)
    ends = np.concatenate([[-np.inf], stars.cuts, [np.inf]])
    chances = np.diff(scipy.stats.norm.cdf(ends - predicted[:, None]), axis=1)
    slope, shift = np.polyfit(predicted, chances @ stars.levels, 1)
    assert (stars.slope, stars.shift) == pytest.approx((slope, shift), abs=1e-6)
    assert stars.loss == pytest.approx(-np.log(chances[np.arange(400), stars.codes]).mean())


def ordered(seed, n_users=100, n_items=70, cuts=(-1.2, -0.2, 0.5, 1.4)):
    """Stars of planted tastes: those to learn from and the others."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 0.7, (n_users, 1)) + rng.normal(0, 0.7, n_items)
    latent = latent + rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) / 2
    stars = 1.0 + np.searchsorted(cuts, latent + rng.normal(size=latent.shape))
    given = rng.random(stars.shape) < 0.4
    users, items = np.nonzero(given)
    return rf.Ratings.from_arrays(users, items, stars[given]), stars, given


def test_probabilities_of_stars_add_up_and_calibrate():
    settings = {"rank": 3, "sweeps": 150, "burn_in": 30, "samples": 32, "likelihood": "ordinal", "links": "none"}
    expected, happened = [], []
    for seed in range(3):
        ratings, stars, given = ordered(seed)
        model = rf.BayesianMF(**settings).fit(ratings)
        users, items = np.nonzero(~given)
        chances = model.distribution(users, items)
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
        assert (chances >= 0).all()
        expected.append(chances)
        happened.append(stars[~given][:, None] == model.levels_)
    chances, came = np.concatenate(expected), np.concatenate(happened)
    np.testing.assert_allclose(chances.mean(axis=0), came.mean(axis=0), atol=0.02)
    for low in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        some = (low <= chances) & (chances < low + 0.1)
        assert came[some].mean() == pytest.approx(chances[some].mean(), abs=0.03)


def test_intervals_and_deviations_are_those_of_the_probabilities():
    ratings, *_ = ordered(2, 40, 30)
    model = rf.BayesianMF(rank=2, sweeps=20, likelihood="ordinal").fit(ratings)
    users, items = np.arange(40)[:, None], np.arange(30)
    chances, levels = model.distribution(users, items), model.levels_
    low, high = model.interval(users, items, 0.8)
    assert low.shape == (40, 30)
    within = (low[..., None] <= levels) & (levels <= high[..., None])
    assert ((chances * within).sum(axis=-1) > 0.8 - 1e-5).all()
    assert ((chances * (levels < low[..., None])).sum(axis=-1) < 0.1 + 1e-5).all()
    deviation = model.predict(users, items, return_std=True)[1]
    mean = (chances * levels).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(deviation, np.sqrt((chances * (levels - mean) ** 2).sum(axis=-1)), atol=1e-4)


def test_two_values_have_the_probit_likelihood_and_more_are_refused():
    ratings, *_ = ordered(0)
    signs = ratings.with_values(lambda values: np.where(values > 3, 1.0, -1.0))
    model = rf.BayesianMF(rank=2, sweeps=20, likelihood="probit").fit(signs)
    chances = model.distribution(ratings.users.ids()[:5, None], ratings.items.ids()[:4])
    assert chances.shape == (5, 4, 2)
    with pytest.raises(ValueError, match=r"likelihood='probit' is for ratings of at most 2 different values, found 5"):
        rf.BayesianMF(likelihood="probit").fit(ratings)
    with pytest.raises(ValueError, match=r"likelihood=\"gaussian\" knows no values .* fit with likelihood"):
        rf.BayesianMF(rank=1, sweeps=2).fit(ratings).distribution(0, 0)


def test_an_ordered_fit_that_was_cut_off_goes_on_to_the_same_bits_and_is_saved(tmp_path):
    ratings, *_ = ordered(1, 30, 20)

    def cut(report):
        if report.epoch == 6:
            raise RuntimeError("cut")

    settings = {"rank": 2, "sweeps": 9, "likelihood": "ordinal", "chains": 2}
    whole = rf.BayesianMF(**settings).fit(ratings)
    with pytest.raises(RuntimeError, match="cut"):
        rf.BayesianMF(**settings).fit(ratings, checkpoint=tmp_path / "c", every=4, callbacks=[cut])
    again = rf.BayesianMF(**settings).fit(ratings, checkpoint=tmp_path / "c", every=4)
    again.save(tmp_path / "m")
    asked = ratings.users.ids()[:, None], ratings.items.ids()
    assert rf.load(tmp_path / "m").distribution(*asked).tobytes() == whole.distribution(*asked).tobytes()
    assert again.traces_.tobytes() == whole.traces_.tobytes()
