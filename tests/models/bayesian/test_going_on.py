"""Learning on: rows drawn anew against dense distributions, errors beside those of a new fit, what is kept."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import rankfill as rf
from rankfill.data.tensors import read_tensors, write_tensors
from rankfill.models.bayesian.conditional import rows_given, told_by_values


def planted(seed=0, n_users=120, n_items=60, noise=0.4, share=0.5):
    """(first, later, test): most ratings, a tenth that comes later, and what was left out; later ids are new, too."""
    rng = np.random.default_rng(seed)
    truth = 3 + rng.normal(0, 0.5, (n_users, 1)) + rng.normal(0, 0.5, n_items)
    truth = truth + rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) / np.sqrt(2)
    ratings, seen = truth + noise * rng.normal(size=truth.shape), rng.random(truth.shape) < share
    later = seen & ((rng.random(truth.shape) < 0.05) | (np.arange(n_users)[:, None] >= n_users - 5))
    later |= seen & (np.arange(n_items) >= n_items - 3)
    parts = [rf.Ratings.from_arrays(*np.nonzero(some), ratings[some]) for some in (seen & ~later, later, ~seen)]
    return (*parts, truth)


def both(first, later):
    ids = (np.concatenate([part.users.ids(part.user_indices) for part in (first, later)]),)
    ids += (np.concatenate([part.items.ids(part.item_indices) for part in (first, later)]),)
    return rf.Ratings.from_arrays(*ids, np.concatenate([first.values, later.values]))


def error(model, test, some=None):
    users, items = test.users.ids(test.user_indices), test.items.ids(test.item_indices)
    chosen = np.ones(len(test), bool) if some is None else some(users, items)
    return float(np.sqrt(np.mean((model.predict(users[chosen], items[chosen]) - test.values[chosen]) ** 2)))


@pytest.mark.parametrize("side", ["user", "item"])
@pytest.mark.parametrize("links", ["none", "rated"])
def test_rows_are_drawn_from_the_dense_conditional_distribution(side, links):
    first, *_ = planted(0, 30, 20)
    model = rf.BayesianMF(rank=2, sweeps=8, links=links, clip=False).fit(first)
    samples, s, numbers = model._samples, 3, np.array([5, 2], np.int32)
    given = model._given(side, numbers, len(first))
    drawn = np.array([rows_given(samples, s, side, given, key).draws for key in range(5000)], np.float64)
    means = rows_given(samples, s, side, given, 0).means
    own, other = (samples.side(name) for name in ((side, "item") if side == "user" else (side, "user")))
    rows, columns = first.user_indices, first.item_indices
    rows, columns = (rows, columns) if side == "user" else (columns, rows)
    for place, number in enumerate(numbers):
        mine = columns[rows == number]
        x = np.column_stack([other.rows[s, mine, :2], np.ones(len(mine))]).astype(float)
        target = (first.values[rows == number] - first.mean()) / model._scale - other.rows[s, mine, 2]
        prior = own.means[s] + (0 if links == "none" else own.weights[s, mine].sum(axis=0) / np.sqrt(len(mine)))
        alpha = samples.noise_precisions[s]
        precision = own.precisions[s] + alpha * x.T @ x
        mean = np.linalg.solve(precision, own.precisions[s] @ prior + alpha * x.T @ target)
        covariance = np.linalg.inv(precision)
        deviations = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(means[place], mean, atol=1e-4)
        assert (np.abs(drawn[:, place].mean(axis=0) - mean) < 4.5 * deviations / np.sqrt(5000)).all()
        away = np.abs(np.cov(drawn[:, place].T) - covariance)
        assert (away < 0.1 * np.outer(deviations, deviations)).all()


def test_rows_from_ordered_ratings_are_the_most_probable_ones():
    rng = np.random.default_rng(0)
    first, *_ = planted(0, 40, 30)
    stars = first.with_values(lambda values: np.clip(np.round(values), 1, 5))
    model = rf.BayesianMF(rank=2, sweeps=8, links="none", likelihood="ordinal").fit(stars)
    samples, s = model._samples, 3
    given = model._given("user", np.array([7], np.int32), len(first))
    found = rows_given(samples, s, "user", given, 0).means[0].astype(float)
    mine = stars.user_indices == 7
    items = samples.items[s, stars.item_indices[mine]].astype(float)
    codes = np.searchsorted(model.levels_, stars.values[mine])
    ends = np.concatenate([[-np.inf], samples.cuts[s], [np.inf]])

    def loss(row):
        predicted = items[:, :2] @ row[:2] + row[2] + items[:, 2]
        root = samples.noise_precisions[s] ** 0.5
        chances = scipy.stats.norm.cdf((ends[codes + 1] - predicted) * root)
        chances -= scipy.stats.norm.cdf((ends[codes] - predicted) * root)
        away = row - samples.means[s]
        return 0.5 * away @ samples.precisions[s] @ away - np.log(chances).sum()

    best = loss(found)
    for _ in range(40):
        assert best < loss(found + 0.1 * rng.normal(size=3)) + 1e-4
    assert scipy.optimize.minimize(loss, found).fun > best - 1e-3


@pytest.mark.parametrize("settings", [{}, {"links": "rated"}, {"links": "none"}], ids=str)
def test_what_comes_later_is_learned_nearly_as_well_as_by_a_new_fit(settings):
    first, later, test, _ = planted()
    model = rf.BayesianMF(rank=4, sweeps=40, clip=False, **settings).fit(first)
    anew = rf.BayesianMF(rank=4, sweeps=40, clip=False, **settings).fit(both(first, later))
    before = error(model, test)
    model.partial_fit(later)
    after, wanted = error(model, test), error(anew, test)
    assert wanted < after < before - 0.7 * (before - wanted)
    new_people = [error(each, test, lambda users, items: users >= 115) for each in (model, anew)]
    assert new_people[0] < 1.15 * new_people[1]


def test_predictions_of_who_comes_later_are_those_of_the_samples_and_of_folding_in():
    first, later, _, _ = planted()
    model = rf.BayesianMF(rank=4, sweeps=40, clip=False).fit(first).partial_fit(later)
    users, items = np.repeat(np.arange(115, 120), 57), np.tile(np.arange(57), 5)
    rows = model.users_.index(users), model.items_.index(items)
    of_samples = model.mean_ + model._scale * np.mean(list(model._samples.predictions(*rows)), axis=0)
    assert np.sqrt(np.mean((model.predict(users, items) - of_samples) ** 2)) < 0.15
    theirs = later.select(later.users.ids(later.user_indices) >= 115)
    folded = model.predict_folded(theirs)[:, model.items_.index(np.arange(57))]
    at = [theirs.users.ids().tolist().index(user) for user in range(115, 120)]
    assert np.abs(folded[at].ravel() - model.predict(users, items)).max() < 0.1


def test_error_bars_become_narrower_with_every_rating():
    first, later, _, _ = planted()
    model = rf.BayesianMF(rank=4, sweeps=40, clip=False, samples=32).fit(first)
    one = later.select(later.users.ids(later.user_indices) == 117)
    widths = [model.predict(117, np.arange(50), return_std=True)[1].mean()]
    for some in (np.arange(len(one)) < 5, np.arange(len(one)) >= 5):
        model.partial_fit(one.select(some))
        widths.append(model.predict(117, np.arange(50), return_std=True)[1].mean())
    assert widths[2] < widths[1] < widths[0]
    assert widths[2] > model.noise_


@pytest.mark.parametrize("likelihood", ["ordinal", "probit"])
def test_ordered_ratings_that_come_later_count(likelihood):
    first, later, test, _ = planted(n_users=150)
    top, step = (1, 2) if likelihood == "probit" else (5, 1)

    def to_stars(values):
        return np.where(values > 3, 1.0, -1.0) if likelihood == "probit" else np.clip(np.round(values), 1, top)

    first, later, test = (part.with_values(to_stars) for part in (first, later, test))
    model = rf.BayesianMF(rank=3, sweeps=30, likelihood=likelihood).fit(first)
    before = error(model, test, lambda users, items: users >= 145)
    model.partial_fit(later)
    after = error(model, test, lambda users, items: users >= 145)
    anew = rf.BayesianMF(rank=3, sweeps=30, likelihood=likelihood).fit(both(first, later))
    wanted = error(anew, test, lambda users, items: users >= 145)
    assert after < before - 0.7 * (before - wanted)
    assert step * (len(model.levels_) - 1) == (4 if likelihood == "ordinal" else 2)


def test_times_go_on_to_matter_and_features_to_shape(tmp_path):
    first, later, _, _ = planted(1, 60, 40)
    rng = np.random.default_rng(0)
    timed = rf.Ratings.from_arrays(
        first.users.ids(first.user_indices),
        first.items.ids(first.item_indices),
        first.values,
        timestamps=86_400 * rng.integers(0, 6, len(first)),
    )
    kinds = rf.Features.from_table(np.arange(37), {"kind": [f"k{k % 3}" for k in range(37)]})
    model = rf.BayesianMF(rank=2, sweeps=6, time=True).fit(timed, item_features=kinds)
    assert model._samples.item_parts.shape == (4, timed.n_items, 3)
    model.partial_fit(later)
    model.save(tmp_path / "m")
    read = rf.load(tmp_path / "m").learn_one(2000, 3, 4.0)
    assert np.isfinite(read.predict([2000, 58, 1], [3, 39, 2], timestamps=86_400)).all()
    plain, begun = (rf.BayesianMF(rank=2, sweeps=6, time=time).partial_fit(later) for time in (False, True))
    np.testing.assert_array_equal(plain.predict_all(), begun.predict_all())


def test_who_is_forgotten_leaves_no_ratings_and_the_others_go_on(tmp_path):
    first, later, _, _ = planted(1, 60, 40)
    model = rf.BayesianMF(rank=2, sweeps=6, links="rated").fit(first)
    model.partial_fit(later).forget([3, 58])
    assert len(model._entries) == model.n_ratings_
    assert set(model.users_.ids(model._entries.by.array).tolist()) == set(range(60)) - {3, 58}
    model.partial_fit(rf.Ratings.from_arrays([3, 59], [1, 2], [5.0, 4.0]))
    assert np.isfinite(model.predict([3, 59], [1, 2])).all()


def test_a_file_without_what_was_rated_answers_but_does_not_go_on(tmp_path):
    first, later, _, _ = planted(1, 30, 20)
    model = rf.BayesianMF(rank=2, sweeps=6).fit(first)
    model.save(tmp_path / "m", history=False)
    read = rf.load(tmp_path / "m")
    assert read.predict(3, 4) == model.predict(3, 4)
    with pytest.raises(
        ValueError, match="saved without what users have rated, which rows are drawn from; fit it again"
    ):
        read.partial_fit(later)


def test_damaged_entries_are_refused(tmp_path):
    first, later, _, _ = planted(1, 30, 20)
    rf.BayesianMF(rank=2, sweeps=6).fit(first).partial_fit(later).save(tmp_path / "m")
    tensors, about = read_tensors(tmp_path / "m")
    for name, damage in (
        ("entries.by", tensors["entries.by"] + np.int32(99)),
        ("entries.of", tensors["entries.of"][1:]),
        ("user_rest", tensors["user_rest"][:, :2]),
        ("samples.item_weights", tensors["samples.item_weights"][1:]),
    ):
        write_tensors(tmp_path / "d", {**tensors, name: np.ascontiguousarray(damage)}, about)
        with pytest.raises(ValueError, match="is damaged"):
            rf.load(tmp_path / "d")


def test_what_values_tell_is_the_variance_that_they_take_away():
    cuts, precision = np.array([-1.1, -0.3, 0.4, 1.5]), 2.0
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=20_000)
    latent = predicted + rng.normal(size=20_000) / precision**0.5
    ends = np.array([-np.inf, *cuts, np.inf])
    codes = np.searchsorted(cuts, latent)
    low, high = ((ends[codes + k] - predicted) * precision**0.5 for k in (0, 1))
    left = scipy.stats.truncnorm.var(low, high)
    assert told_by_values(cuts, precision) == pytest.approx(1.0 - left.mean(), abs=0.01)
