"""Times of ratings: days against dense formulas, recovery, what is asked without a time, what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from tests.models.bayesian.test_sampler import DAYS, dense_rows, sides_of

import rankfill as rf
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.bayesian.days import Timed, at_times, precision_at, weights_at
from rankfill.models.bayesian.moods import KnownMoods
from rankfill.models.bayesian.sampler import Chain

DAY = 86_400


def planted(seed=0, shape=(60, 50, 30), rank=2, noise=0.3):
    """(train, test) of ratings to which days add as much as items do."""
    rng = np.random.default_rng(seed)
    tastes, items, days = (rng.normal(0, 0.7, (n, rank)) for n in shape)
    u, i = np.nonzero(rng.random(shape[:2]) < 0.6)
    d = rng.integers(0, shape[2], len(u))
    values = 3 + np.sum(tastes[u] * items[i] + tastes[u] * days[d] + items[i] * days[d], axis=1)
    values += noise * rng.normal(size=len(u))
    return rf.split(rf.Ratings.from_arrays(u, i, values, timestamps=DAY * d + 5), test=0.2, by="entry", seed=0)


@pytest.fixture(scope="module")
def fitted():
    train, test = planted()
    return rf.BayesianMF(rank=4, sweeps=50, time=True, clip=False).fit(train), train, test


def pairs_of(ratings):
    return ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)


def without_times(ratings):
    return rf.Ratings.from_arrays(*pairs_of(ratings), ratings.values)


def error(model, test):
    return rf.evaluate(model, test, scores=["rmse"])["rmse"]


@pytest.fixture
def chain():
    """Four users, three items and three days, some sweeps on."""
    rng = np.random.default_rng(0)
    with one_blas_thread():
        chain = Chain(dense_rows(rng.normal(size=(4, 3))), 3, 2, False, 0, 0, days=DAYS.ravel())
        for _ in range(3):
            chain.sweep()
    return chain


def dense_predictions(users, items, days):
    """Rows (factors, bias) of all three."""
    t = days[DAYS]
    product = users[:, None, :-1] * items[:, :-1] + (users[:, None, :-1] + items[:, :-1]) * t[..., :-1]
    return product.sum(axis=-1) + users[:, None, -1] + items[:, -1] + t[..., -1]


def test_errors_of_a_chain_are_those_of_the_dense_formula(chain):
    predicted = dense_predictions(*(side.unknowns().astype(float) for side in sides_of(chain)))
    left = chain.users.ratings.values.reshape(4, 3) - predicted
    assert chain.error == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-5)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["users", "items", "days"])
def test_rows_are_drawn_around_the_dense_regression_on_both_other_sides(chain, place):
    users, items, days = chain.users, chain.items, chain.days
    side = sides_of(chain)[place]
    other = items if place == 0 else users
    third = (days.beside_users(), days.beside_items(), days.beside_days(items))[place]
    given = [each.unknowns().astype(float) for each in sides_of(chain)]
    means, ratings, alpha = side.rows.copy(), users.ratings.values.reshape(4, 3), chain.noise_precision
    side.draw(other, alpha, 1, means, third)
    own = np.broadcast_to((np.arange(4)[:, None], np.arange(3), DAYS)[place], (4, 3))
    for row in range(len(side.rows)):
        told = []
        for unknowns in (np.zeros(3), *np.eye(3)):
            given[place][row] = unknowns
            told.append(dense_predictions(*given)[own == row])
        x = np.transpose(told[1:] - told[0])
        system = side.prior.precision + alpha * x.T @ x
        target = side.prior.precision @ side.prior.mean + alpha * x.T @ (ratings[own == row] - told[0])
        expected = np.linalg.solve(system, target)
        np.testing.assert_allclose(side.unknowns(means)[row], expected, atol=1e-5)


def test_users_at_fixed_times_with_items_predict_what_all_three_do():
    rng = np.random.default_rng(0)
    users, items, times = rng.normal(size=(5, 4)), rng.normal(size=(6, 4)), rng.normal(size=(1, 4))
    whole = np.sum((users[:, None, :3] + times[:, None, :3]) * items[:, :3], axis=-1) + users[:, 3:] + items[:, 3]
    whole += users[:, :3] @ times[0, :3][:, None] + times[0, 3]
    there = at_times(users, times)
    np.testing.assert_allclose(there[:, :3] @ items[:, :3].T + there[:, 3:] + items[:, 3], whole)
    # A normal distribution moves with its draws: mean, covariance, and what weights of links add.
    root = rng.normal(size=(4, 4))
    moved = at_times(users[:1] + root, times) - at_times(users[:1], times)
    np.testing.assert_allclose(precision_at(np.linalg.inv(root.T @ root), times), np.linalg.inv(moved.T @ moved))
    np.testing.assert_allclose(weights_at(root, times), moved)


def test_what_days_add_is_recovered_and_evaluate_goes_by_the_times_of_the_ratings(fitted):
    model, train, test = fitted
    assert error(model, test) < 0.4
    assert model.noise_ == pytest.approx(0.3, rel=0.15)
    assert error(rf.BayesianMF(rank=4, sweeps=50, clip=False).fit(train), test) > 1.0
    predicted = model.predict(*pairs_of(test), timestamps=test.timestamps)
    np.testing.assert_array_equal(predicted, model._predict_ratings(test))


def test_predictions_without_a_time_are_the_mean_over_the_times_at_which_the_user_has_rated(fitted):
    model, train, test = fitted
    assert error(model, test) < 0.5 * error(model, without_times(test))
    user, items = train.users.ids()[3], train.items.ids()
    times = train.timestamps[train.user_indices == 3]
    mean = np.mean([model.predict(user, items, timestamps=time) for time in times], axis=0)
    np.testing.assert_allclose(model.predict(user, items), mean, atol=1e-4)


def test_the_nearest_day_with_ratings_counts_and_dates_may_be_text(fitted):
    model = fitted[0]
    last = model.predict(-1, 1, timestamps=29 * DAY)
    np.testing.assert_array_equal(model.predict(-1, 1, timestamps="1985-01-01"), last)
    both = model.predict(-1, [1, 2], timestamps=["1970-01-01", "1970-01-30"])
    assert both[0] == model.predict(-1, 1, timestamps=-5 * DAY)
    nobody = KnownMoods(np.zeros(1, np.int64), np.zeros(0, np.int64), *np.zeros((2, 0), np.float32), 0.1, 1.0)
    timed = Timed(np.array([2, 5, 9]), *np.zeros((4, 1, 1), np.float32), nobody)
    assert timed.nearest(np.array([-1, 2, 3, 4, 7, 8, 12])).tolist() == [0, 0, 0, 1, 1, 2, 2]
    alone = replace(timed, dates=np.array([4]))
    assert alone.nearest(np.array([3, 4, 5])).tolist() == [0, 0, 0]


def test_strangers_have_an_answer_for_every_time(fitted):
    model = fitted[0]
    asked = model.predict([-1, 0, -1], [0, -1, -1], timestamps=3 * DAY)
    assert np.isfinite(asked).all()
    assert abs(asked[2] - model.predict(-1, -1, timestamps=20 * DAY)) > 1e-3


def test_who_is_folded_in_gets_about_the_row_learned_at_the_mean_time():
    """With times that matter little both are alike."""
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 40))
    u, i = np.nonzero(rng.random(taste.shape) < 0.7)
    values = taste[u, i] + 0.2 * rng.normal(size=len(u))
    ratings = rf.Ratings.from_arrays(u, i, values, timestamps=DAY * rng.integers(0, 5, len(u)))
    model = rf.BayesianMF(rank=2, sweeps=40, time=True, clip=False).fit(ratings)
    rows = model.fold_in(ratings)
    folded = rows[:, :-2] @ model.item_factors_.T + rows[:, -2:-1] + model.item_biases_ + model.mean_
    assert np.sqrt(np.mean((folded - model.predict_all()) ** 2)) < 0.1


def test_saved_and_without_some_users_it_answers_as_before(fitted, tmp_path):
    model, _, test = fitted
    model.save(tmp_path / "m.rankfill")
    read = rf.load(tmp_path / "m.rankfill")
    np.testing.assert_array_equal(read._predict_ratings(test), model._predict_ratings(test))
    before = model.predict([5, 6], [1, 2], timestamps=DAY)
    read.forget([0, 1])
    np.testing.assert_array_equal(read.predict([5, 6], [1, 2], timestamps=DAY), before)


def test_bits_do_not_depend_on_the_threads_nor_on_an_interruption(tmp_path):
    train, test = planted(2, (40, 30, 12))
    found, before = [], rf.get_threads()
    for threads in (*range(1, 9), before):
        rf.set_threads(threads)
        found.append(rf.BayesianMF(rank=3, sweeps=6, time=True).fit(train)._predict_ratings(test))
    rf.BayesianMF(rank=3, sweeps=4, time=True).fit(train, checkpoint=tmp_path)
    found.append(rf.BayesianMF(rank=3, sweeps=6, time=True).fit(train, checkpoint=tmp_path)._predict_ratings(test))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_times_are_refused_where_there_are_none(fitted):
    _, train, _ = fitted
    with pytest.raises(ValueError, match=r"time=True needs to know when ratings were given.*leave time out"):
        rf.BayesianMF(time=True).fit(without_times(train))
    plain = rf.BayesianMF(rank=2, sweeps=2).fit(train)
    with pytest.raises(ValueError, match="fit with time=True"):
        plain.predict(0, 1, timestamps=0)
