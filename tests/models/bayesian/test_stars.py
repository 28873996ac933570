"""Ordered ratings: the parts of a draw against dense distributions, and probabilities that hold."""

import numpy as np
import pytest
import scipy.stats

import rankfill as rf
from rankfill.models.bayesian.cut_points import CutPoints
from rankfill.models.bayesian.stars import Stars, latent_moments


def ordered(seed, n_users=100, n_items=70, cuts=(-1.2, -0.2, 0.5, 1.4)):
    """Stars of planted tastes: those to learn from and the others."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 0.7, (n_users, 1)) + rng.normal(0, 0.7, n_items)
    latent = latent + rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) / 2
    stars = 1.0 + np.searchsorted(cuts, latent + rng.normal(size=latent.shape))
    given = rng.random(stars.shape) < 0.4
    users, items = np.nonzero(given)
    return rf.Ratings.from_arrays(users, items, stars[given]), stars, given


def test_numbers_behind_stars_have_the_truncated_normal_distribution():
    stars = Stars(np.array([0.0, 1.0, 2.0, 3.0], np.float32))
    predicted = np.array([0.3, -9.0, 9.0, 0.0])
    stars.codes[:] = [1, 3, 0, 2]  # two of them far from where they are expected
    stars.cuts, stars.precision = np.array([-1.0, 0.2, 0.9]), 4.0
    random = np.random.default_rng(0)
    drawn = np.array([stars._latents(predicted, stars.codes, random) for _ in range(20_000)])
    ends = np.array([-np.inf, -1.0, 0.2, 0.9, np.inf])
    means, narrower = latent_moments(predicted, stars.codes, stars.cuts, stars.precision)
    for column, mean, code, expected, less in zip(drawn.T, predicted, stars.codes, means, narrower, strict=True):
        theirs = scipy.stats.truncnorm(2 * (ends[code] - mean), 2 * (ends[code + 1] - mean), loc=mean, scale=0.5)
        assert expected == pytest.approx(theirs.mean(), abs=1e-6)
        assert less == pytest.approx(1 - 4 * theirs.var(), abs=1e-4)
        assert column.mean() == pytest.approx(theirs.mean(), abs=4.5 * theirs.std() / np.sqrt(20_000))
        assert scipy.stats.kstest(column, theirs.cdf).pvalue > 1e-4


def densities(points, predicted, codes, grid):
    """Logarithms of the density of θ, by the definition of the model."""
    found = []
    for theta in grid:
        ends = np.concatenate([[-np.inf], points.cuts(theta), [np.inf]])
        below = scipy.stats.norm.cdf((ends - predicted[:, None]) * np.exp(0.5 * theta[-1]))
        chances = np.diff(below, axis=1)[np.arange(len(codes)), codes]
        prior = scipy.stats.norm.logpdf(theta[:-1], points.usual()[:-1]).sum()
        prior += theta[-1] + scipy.stats.gamma.logpdf(np.exp(theta[-1]), 1.0)
        found.append(np.log(chances.clip(1e-300)).sum() + prior)
    return np.array(found)


def test_cut_points_and_noise_have_the_posterior_distribution_on_a_grid():
    """Four levels, so that one distance is free beside the noise: means and spreads by quadrature."""
    rng = np.random.default_rng(1)
    predicted = rng.normal(size=60)
    codes = np.searchsorted([-0.5, 0.6, 1.1], predicted + 0.7 * rng.normal(size=60))
    stars = Stars(codes.astype(np.float32))
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 121), np.linspace(-3, 4, 141)), axis=-1).reshape(-1, 2)
    density = densities(stars.points, predicted, codes, grid)
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    mean = weights @ grid
    spread = np.sqrt(weights @ (grid - mean) ** 2)
    random, found = np.random.default_rng(0), []
    for _ in range(6000):
        stars._draw_cuts(predicted, random)
        found.append(stars.points.theta(stars.cuts, stars.precision))
    found = np.array(found)
    np.testing.assert_array_less(np.abs(found.mean(axis=0) - mean), 0.1 * spread)
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=0.08)
    assert np.mean(np.diff(found[:, 0]) != 0) > 0.6


@pytest.mark.parametrize("n_levels", [2, 3, 5, 10])
def test_cut_points_go_to_unknowns_and_back_and_two_of_them_stay(n_levels):
    rng = np.random.default_rng(n_levels)
    levels = np.cumsum(rng.uniform(0.5, 1.5, n_levels))
    points = CutPoints(levels, rng.integers(5, 50, n_levels))
    theta = points.usual() + rng.normal(size=points.n_unknowns)
    cuts = points.cuts(theta)
    assert (np.diff(cuts) > 0).all()
    held = [points.low, points.high]
    np.testing.assert_allclose(cuts[held], 0.5 * (levels[1:] + levels[:-1])[held])
    np.testing.assert_allclose(points.theta(cuts, np.exp(theta[-1]) if len(theta) else 1.0), theta, atol=1e-9)
    np.testing.assert_allclose(points.cuts(points.usual()), 0.5 * (levels[1:] + levels[:-1]))


def test_slopes_that_candidates_are_found_by_are_those_of_the_density():
    rng = np.random.default_rng(3)
    middles, counts = np.linspace(-2, 2, 9), rng.integers(0, 20, (9, 5))
    points = CutPoints(np.arange(5.0) - 2, counts.sum(axis=0))
    theta = points.usual() + 0.3 * rng.normal(size=points.n_unknowns)
    predicted, codes = (
        np.repeat(middles, counts.sum(axis=1)),
        np.concatenate([np.repeat(np.arange(5), c) for c in counts]),
    )
    away = 1e-5 * np.eye(len(theta))
    expected = (
        densities(points, predicted, codes, theta + away) - densities(points, predicted, codes, theta - away)
    ) / 2e-5
    np.testing.assert_allclose(points._slopes(theta, middles, counts)[0], expected, rtol=1e-4)


def test_predictions_are_what_is_expected_to_be_seen_of_the_mean_of_the_samples():
    ratings, *_ = ordered(3)
    model = rf.BayesianMF(rank=2, sweeps=60, samples=64, likelihood="ordinal").fit(ratings)
    users, items = ratings.users.ids()[:, None], ratings.items.ids()
    expected = (model.distribution(users, items) * model.levels_).sum(axis=-1)
    predicted = model.predict(users, items)
    assert np.sqrt(np.mean((predicted - expected) ** 2)) < 0.05
    assert abs(predicted.mean() - expected.mean()) < 0.02
    assert float(model.predict(ratings.users.ids()[0], ratings.items.ids()[0])) == predicted[0, 0]
    best = model.recommend(ratings.users.ids()[:9], n=5)
    np.testing.assert_allclose(best.scores, model.predict(best.users[:, None], best.items), atol=1e-5)


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


def test_deviations_are_those_of_the_probabilities():
    ratings, *_ = ordered(2, 40, 30)
    model = rf.BayesianMF(rank=2, sweeps=20, likelihood="ordinal").fit(ratings)
    users, items = np.arange(40)[:, None], np.arange(30)
    chances, levels = model.distribution(users, items), model.levels_
    deviation = model.predict(users, items, return_std=True)[1]
    mean = (chances * levels).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(deviation, np.sqrt((chances * (levels - mean) ** 2).sum(axis=-1)), atol=1e-4)


def test_intervals_of_ordered_ratings_cover_what_they_promise():
    covered = {0.8: [], 0.9: [], 0.95: []}
    for seed in range(4):
        ratings, *_ = ordered(seed, 60, 50)
        train, test = rf.split(ratings, test=0.3, seed=seed)
        model = rf.BayesianMF(rank=2, sweeps=60, likelihood="ordinal").fit(train)
        for coverage, found in covered.items():
            low, high = model.interval(test.users.ids(test.user_indices), test.items.ids(test.item_indices), coverage)
            found.append(((low <= test.values) & (test.values <= high)).mean())
    for coverage, found in covered.items():
        assert np.mean(found) == pytest.approx(coverage, abs=0.04)


def test_ratings_are_ordered_where_there_are_few_values_and_many_of_each():
    def levels(n_ratings, n_levels, **settings):
        ratings = rf.synthetic.low_rank(60, 40, n_ratings=n_ratings, seed=0)
        values = np.argsort(np.argsort(ratings.values)) * n_levels // n_ratings
        return rf.BayesianMF(rank=1, sweeps=2, **settings).fit(ratings.with_values(lambda _: values)).levels_

    assert levels(1000, 5).tolist() == [0, 1, 2, 3, 4]
    assert levels(1000, 10).tolist() == [*range(10)]
    for case in ((499, 5), (1000, 2), (2200, 11)):
        assert not len(levels(*case))
    assert not len(levels(1000, 5, likelihood="gaussian"))
    assert len(levels(60, 11, likelihood="ordinal")) == 11


def test_two_values_have_the_probit_likelihood_and_more_are_refused():
    ratings, *_ = ordered(0)
    signs = ratings.with_values(lambda values: np.where(values > 3, 1.0, -1.0))
    model = rf.BayesianMF(rank=2, sweeps=20, likelihood="probit").fit(signs)
    chances = model.distribution(ratings.users.ids()[:5, None], ratings.items.ids()[:4])
    assert chances.shape == (5, 4, 2)
    with pytest.raises(ValueError, match=r"likelihood='probit' is for ratings of at most 2 different values, found 5"):
        rf.BayesianMF(likelihood="probit").fit(ratings)
    with pytest.raises(ValueError, match=r"taken as numbers, which have no probabilities .* fit with likelihood"):
        rf.BayesianMF(rank=1, sweeps=2, likelihood="gaussian").fit(ratings).distribution(0, 0)


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
