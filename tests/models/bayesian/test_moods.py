"""Moods against dense normal distributions, and what is told of a rating at a time, whatever the times are."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import rankfill as rf
from rankfill.data.tensors import read_tensors, write_tensors
from rankfill.kernels import Rows
from rankfill.models.bayesian import moods as module
from rankfill.models.bayesian.moods import USUAL, WIDTHS, KnownMoods, MeanMoods, Moods

USERS = np.array([0, 0, 0, 0, 1, 3, 3, 3])
TIMES = np.array([50, 10, 10, 500, 70, 5, 4, 30])
LOGS = np.log([0.6, 40.0])
HOUR, NOON = 3600, 1_000_000_000


def by_user(users, n_users):
    """Entries of these users, ascending."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=n_users))])
    items = np.concatenate([np.arange(n, dtype=np.int32) for n in np.diff(indptr)])
    return Rows.taking(indptr, items, np.zeros(len(users), np.float32))


@pytest.fixture
def moods():
    found = Moods(by_user(USERS, 4), TIMES)
    found.logs[:] = LOGS
    return found


def dense_covariance(users, times, logs):
    variance, memory = np.exp(logs)
    away = np.abs(times[:, None] - times)
    return np.where(users[:, None] == users, variance * np.exp(-away / memory), 0.0)


def test_moments_are_those_at_which_somebody_has_rated_and_their_precision_is_tridiagonal(moods):
    assert moods.users.tolist() == [0, 0, 0, 1, 3, 3, 3]
    assert moods.moments.tolist() == [10, 50, 500, 70, 4, 5, 30]
    assert moods.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    diagonal, below, log_determinant = moods.precision(LOGS)
    expected = np.linalg.inv(dense_covariance(moods.users, moods.moments, LOGS))
    np.testing.assert_allclose(np.diag(diagonal) + np.diag(below, 1) + np.diag(below, -1), expected, atol=1e-9)
    assert log_determinant == pytest.approx(np.linalg.slogdet(expected)[1])


def test_moods_have_the_dense_conditional_distribution(moods, monkeypatch):
    """Mean and covariance over a hundred thousand draws."""
    monkeypatch.setattr(module, "_TRIES", 0)
    random, alpha = np.random.default_rng(0), 2.5
    left, entries = random.normal(size=8), moods.moments[None, :] == TIMES[:, None]
    entries &= moods.users == USERS[:, None]
    inner = np.linalg.inv(
        np.linalg.inv(dense_covariance(moods.users, moods.moments, LOGS)) + alpha * entries.T @ entries
    )
    mean, deviations = alpha * inner @ entries.T @ left, np.sqrt(np.diag(inner))
    drawn = np.empty((100_000, 7))
    for row in drawn:
        moods.draw(left, alpha, random)
        row[:] = moods.now
    np.testing.assert_allclose(moods.expected, mean, atol=1e-9)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.5 * deviations / np.sqrt(len(drawn))).all()
    assert (np.abs(np.cov(drawn.T) - inner) < 0.02 * np.outer(deviations, deviations)).all()
    np.testing.assert_array_equal(moods.of_ratings(), entries @ moods.now)
    np.testing.assert_allclose(moods.of_users()[[0, 2]], [(2 * row[0] + row[1] + row[2]) / 4, 0.0])


def test_how_moods_vary_and_fade_is_drawn_by_the_density_of_the_ratings(moods):
    """The density that steps go by is that of ratings with all moods integrated out, up to a constant."""
    left, alpha, told = np.random.default_rng(1).normal(size=8), 2.5, []
    sums = alpha * np.bincount(moods._of_entry, left)
    for logs in (LOGS, np.log([0.1, 300.0]), np.log([2.0, 3.0])):
        covariance = dense_covariance(USERS, TIMES, logs) + np.eye(8) / alpha
        dense = scipy.stats.multivariate_normal(cov=covariance).logpdf(left)
        dense += scipy.stats.norm(USUAL, WIDTHS).logpdf(logs).sum()
        told.append(moods._solve(logs, sums, alpha).log_density - dense)
    np.testing.assert_allclose(told, told[0])


def test_between_two_moments_a_mood_is_that_of_the_dense_normal_distribution():
    moments, values = np.array([0, 100, 130]), np.array([0.5, -1.0, 2.0])
    known = KnownMoods(np.array([0, 0, 3]), moments, values.astype(np.float32), np.zeros(3, np.float32), 0.3, 40.0)
    times = np.array([-1000, -20, 0, 30, 99, 130, 131, 10**15])
    at = known.at(np.full(8, 1, np.int32), times)
    for time, mean, narrower in zip(times, at.means, at.narrower, strict=True):
        beside = np.exp(-np.abs(time - moments) / 40.0)
        weights = np.linalg.solve(np.exp(-np.abs(moments[:, None] - moments) / 40.0), beside)
        assert mean == pytest.approx(weights @ values, abs=1e-6)
        assert narrower == pytest.approx(0.3 * (weights @ beside), abs=1e-6)
    unsure = replace(known, unsure=np.full(3, 0.49, np.float32))
    assert unsure.at(np.array([1], np.int32), np.array([100])).narrower[0] == pytest.approx(0.3 * 0.51)
    nobody = known.at(np.array([0, -1, 2], np.int32), np.full(3, 100))
    np.testing.assert_array_equal(nobody, np.zeros((2, 3)))
    some = known.of_rows([1])
    np.testing.assert_array_equal(some.at(np.zeros(8, np.int32), times), at)
    nothing = known.of_rows([])
    np.testing.assert_array_equal(nothing.at(np.array([-1, 0], np.int32), np.full(2, 100)), np.zeros((2, 2)))


def test_what_is_known_of_moods_is_the_mean_of_the_draws(moods):
    def above_mean(numbers):
        counts = np.array([2.0, 1, 1, 1, 1, 1, 1])
        means = [np.average(numbers[moods.users == u], weights=counts[moods.users == u]) for u in moods.users]
        return numbers - means

    mean, now = MeanMoods(7), []
    for count in range(1, 40):
        moods.draw(np.ones(8), 2.0, np.random.default_rng(count))
        mean.add(moods, 2.0, count)
        now.append([*moods.expected, *above_mean(moods.now) ** 2, moods.variance, moods.logs[1]])
    means, squares, sizes = np.split(np.mean(now, axis=0), [7, 14])
    known = KnownMoods.of(moods, mean, np.array([1, 2, 4, 5]), 7, 3.0)
    assert known.indptr.tolist() == [0, 0, 3, 4, 4, 4, 7, 7]
    np.testing.assert_allclose(known.means, 3 * means, rtol=1e-5)
    np.testing.assert_allclose(
        known.unsure, ((squares - above_mean(means) ** 2) / sizes[0]).clip(0, 1), rtol=1e-4, atol=1e-6
    )
    assert known.memory == pytest.approx(np.exp(sizes[1]))


def planted(n_users=80, seed=0, levels=False):
    """(train, test): ratings of people whose mood changes from one sitting to the next."""
    rng = np.random.default_rng(seed)
    u, i = np.nonzero(rng.random((n_users, 40)) < 0.6)
    sitting = rng.integers(0, 4, len(u))
    values = 3 + 0.5 * rng.normal(size=n_users)[u] + 0.5 * rng.normal(size=40)[i] + 0.3 * rng.normal(size=len(u))
    values += 0.8 * rng.normal(size=(n_users, 4))[u, sitting]
    times = NOON + 86_400 * 30 * sitting + rng.integers(0, 60, len(u))
    if levels:
        values = values.round().clip(1, 5)
    return rf.split(rf.Ratings.from_arrays(u, i, values, timestamps=times), test=0.2, by="entry", seed=0)


def asked(test):
    return test.users.ids(test.user_indices), test.items.ids(test.item_indices)


@pytest.mark.parametrize("likelihood", ["gaussian", "ordinal"])
def test_error_bars_go_by_the_time_as_predictions_do(likelihood):
    train, test = planted(levels=likelihood == "ordinal")
    model = rf.BayesianMF(rank=2, sweeps=80, burn_in=20, time=True, likelihood=likelihood).fit(train)
    found = {}
    for times in (None, test.timestamps):
        predicted, deviations = model.predict(*asked(test), return_std=True, timestamps=times)
        low, high = model.interval(*asked(test), coverage=0.9, timestamps=times)
        covered = float(((low <= test.values) & (test.values <= high)).mean())
        found[times is None] = float(np.sqrt(np.mean((predicted - test.values) ** 2))), deviations.mean(), covered
    for error, deviation, covered in found.values():
        assert deviation == pytest.approx(error, rel=0.15)
        assert 0.86 < covered < (0.94 if likelihood == "gaussian" else 1.0)
    assert found[False][0] < 0.65 * found[True][0]
    np.testing.assert_array_equal(predicted, model._predict_ratings(test))


def test_probabilities_of_stars_go_by_the_time():
    train, test = planted(levels=True)
    model = rf.BayesianMF(rank=2, sweeps=40, time=True, likelihood="ordinal").fit(train)
    came = np.searchsorted(model.levels_, test.values)
    told = [model.distribution(*asked(test), timestamps=times) for times in (None, test.timestamps)]
    scores = [np.log(chances[np.arange(len(came)), came]).mean() for chances in told]
    assert scores[1] > scores[0] + 0.2
    np.testing.assert_allclose(told[1].sum(axis=1), 1.0, atol=1e-5)
    predicted = model.predict(*asked(test), timestamps=test.timestamps)
    assert np.sqrt(np.mean((predicted - told[1] @ model.levels_) ** 2)) < 0.1


def test_intervals_and_probabilities_refuse_times_that_were_not_learned():
    train, _ = planted(20, levels=True)
    model = rf.BayesianMF(rank=1, sweeps=2, likelihood="ordinal").fit(train)
    for ask in (model.interval, model.distribution):
        with pytest.raises(ValueError, match="fit with time=True"):
            ask(0, 1, timestamps=NOON)


FARTHEST = np.iinfo(np.int64)


@pytest.mark.parametrize(
    "times",
    [
        np.zeros(60, np.int64),
        np.full(60, -5),
        np.full(60, FARTHEST.min + 5),
        np.arange(60) + FARTHEST.max - 100,
        np.linspace(-9e18, 9e18, 60).astype(np.int64),
        np.repeat([0, 10**18], 30),
    ],
    ids=["one second", "before 1970", "the first", "the last", "all of time", "two moments"],
)
def test_any_times_give_finite_answers(times):
    rng = np.random.default_rng(0)
    u, i = np.divmod(rng.permutation(100)[:60], 10)
    train = rf.Ratings.from_arrays(u, i, rng.normal(size=60), timestamps=times)
    model = rf.BayesianMF(rank=1, sweeps=8, time=True).fit(train)
    for time in (times[0], times[-1], 0, -(2**62), 2**62):
        predicted, deviations = model.predict([0, 3, -1], [1, -1, 1], return_std=True, timestamps=time)
        low, high = model.interval([0, 3, -1], [1, -1, 1], timestamps=time)
        assert np.isfinite([predicted, deviations, low, high]).all()
        assert (deviations > 0).all()


def test_one_rating_and_users_without_any_have_an_answer():
    one = rf.Ratings.from_arrays([5], [7], [3.0], timestamps=[NOON])
    assert rf.BayesianMF(rank=1, sweeps=3, time=True).fit(one).predict(5, 7, timestamps=NOON) == 3.0
    train, _ = planted(20)
    more = train.select(train.user_indices % 3 > 0)  # the others keep their ids
    model = rf.BayesianMF(rank=1, sweeps=6, time=True).fit(more)
    assert np.isfinite(model.predict(np.arange(20), 0, timestamps=NOON)).all()
    assert not model._timed.moods.at(np.array([0, 3], np.int32), np.array([NOON, NOON])).means.any()


def test_moods_are_saved_and_forgotten_with_their_users(tmp_path):
    train, test = planted(30)
    model = rf.BayesianMF(rank=1, sweeps=6, time=True).fit(train)
    model.save(tmp_path / "m.rankfill")
    read = rf.load(tmp_path / "m.rankfill")
    pairs, times = asked(test), test.timestamps
    for each in zip(read.interval(*pairs, timestamps=times), model.interval(*pairs, timestamps=times), strict=True):
        np.testing.assert_array_equal(*each)
    moments = train.timestamps[train.user_indices == 4]
    read.forget([4])
    assert len(read._timed.moods.moments) == len(model._timed.moods.moments) - len(np.unique(moments))
    stay = pairs[0] != 4
    answers = (each.predict(pairs[0][stay], pairs[1][stay], timestamps=times[stay]) for each in (read, model))
    np.testing.assert_array_equal(*answers)


def test_damaged_moods_are_refused(tmp_path):
    train, _ = planted(20)
    path = tmp_path / "m.rankfill"
    rf.BayesianMF(rank=1, sweeps=4, time=True).fit(train).save(path)
    tensors, about = read_tensors(path)
    for name, damage in (("indptr", lambda a: a[:-1]), ("means", lambda a: a[1:]), ("unsure", lambda a: a - 2)):
        name = f"timed.moods.{name}"
        write_tensors(path, {**tensors, name: np.ascontiguousarray(damage(tensors[name]))}, about)
        with pytest.raises(ValueError, match="is damaged: moods are not those of 20 users"):
            rf.load(path)
    known = KnownMoods(np.zeros(1, np.int64), np.zeros(0, np.int64), *np.zeros((2, 0), np.float32), 0.1, 1.0)
    for wrong in ({"share": 1.0}, {"share": -0.1}, {"memory": 0.0}):
        with pytest.raises(ValueError, match="which cannot be"):
            replace(known, **wrong).check(0)


def test_who_comes_later_has_no_moods_and_chains_agree_on_those_of_the_others():
    train, test = planted(30)
    each = [rf.BayesianMF(rank=1, sweeps=20, time=True, chains=chains).fit(train) for chains in (1, 2)]
    errors = [rf.evaluate(model, test)["rmse"] for model in each]
    assert errors[1] < 1.02 * errors[0]
    model, known = each[1], each[1]._timed.moods
    before = known.at(np.array([3], np.int32), train.timestamps[train.user_indices == 3][:1])
    model.partial_fit(rf.Ratings.from_arrays([999, 999], [1, 2], [3.0, 5.0], timestamps=[NOON, NOON]))
    after = model._timed.moods.at(np.array([3, 30], np.int32), train.timestamps[train.user_indices == 3][[0, 0]])
    assert (after.means[0], after.means[1]) == (before.means[0], 0.0)
    predicted, deviations = model.predict(999, [1, 2], return_std=True, timestamps=NOON)
    assert np.isfinite([predicted, deviations]).all()
    np.testing.assert_array_equal(deviations, model.predict(999, [1, 2], return_std=True)[1])
