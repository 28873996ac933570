"""Bayesian factorisation: recovery, calibration, what is kept, what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.tensors import read_tensors, write_tensors
from rankfill.models.bayesian.averages import MeanProduct, strongest
from rankfill.models.bayesian.priors import Prior
from rankfill.models.bayesian.samples import Samples, Sizes


def planted(seed=0, n_users=120, n_items=80, rank=2, noise=0.5, share=0.35):
    """Ratings that the model is right about, and those that were left out."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 1, (n_users, rank)) @ rng.normal(0, 1, (n_items, rank)).T / np.sqrt(rank)
    truth = 3 + rng.normal(0, 0.5, (n_users, 1)) + rng.normal(0, 0.5, n_items) + taste
    ratings = truth + rng.normal(0, noise, truth.shape)
    seen = rng.random(truth.shape) < share
    seen[np.arange(n_users), np.arange(n_users) % n_items] = True
    users, items = np.nonzero(seen)
    return rf.Ratings.from_arrays(users, items, ratings[seen]), truth, ratings, seen


@pytest.fixture(scope="module")
def fitted():
    train, truth, ratings, seen = planted()
    return rf.BayesianMF(rank=4, sweeps=60, clip=False).fit(train), truth, ratings, seen


def test_planted_factors_are_recovered_and_the_noise_is_learned(fitted):
    model, truth, _, seen = fitted
    error = np.sqrt(np.mean((model.predict_all() - truth)[~seen] ** 2))
    assert error < 0.35
    assert model.noise_ == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_promise(coverage):
    covered = []
    for seed in range(4):
        train, _, ratings, seen = planted(seed, 60, 50)
        model = rf.BayesianMF(rank=3, sweeps=50, clip=False).fit(train)
        users, items = np.nonzero(~seen)
        low, high = model.interval(users, items, coverage)
        covered.append(((low <= ratings[~seen]) & (ratings[~seen] <= high)).mean())
    assert np.mean(covered) == pytest.approx(coverage, abs=0.03)


def test_standard_deviations_are_larger_where_less_is_known(fitted):
    model = fitted[0]
    known = model.predict(range(20), range(20), return_std=True)[1]
    unknown_item, unknown = model.predict(range(20), -1, return_std=True)[1], model.predict(-1, -1, return_std=True)[1]
    assert (known > model.noise_ * 0.95).all()
    assert known.mean() < unknown_item.mean() < unknown * 1.2


def test_an_interval_has_the_shape_of_the_question_and_stays_within_the_ratings():
    train, *_ = planted()
    model = rf.BayesianMF(rank=2, sweeps=5).fit(train)
    low, high = model.interval(np.arange(3)[:, None], np.arange(5), 0.99)
    assert low.shape == high.shape == (3, 5)
    assert low.dtype == np.float32
    assert (train.values.min() <= low).all()
    assert (high <= train.values.max()).all()
    assert model.predict(0, 1, return_std=True)[1].shape == ()
    for wrong in (0, 1, 1.5, -0.1, "0.9", float("nan")):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1, found"):
            model.interval(0, 1, wrong)


def test_predictions_are_the_mean_over_the_sweeps():
    """The sweeps are all kept, added up one by one, but for the factors that are dropped."""
    train, *_ = planted(3, 40, 30)
    model = rf.BayesianMF(rank=3, sweeps=9, burn_in=3, samples=6, clip=False).fit(train)
    assert model._samples.count == 6
    assert model._samples.added == 6
    assert 0 <= model.lost_ < 0.02
    assert model.rank_ == 6


def test_the_mean_product_is_the_mean_where_nothing_is_dropped():
    rng = np.random.default_rng(0)
    mean, total = MeanProduct.none(30, 20, 30), 0
    for _ in range(5):
        users, items = rng.normal(size=(30, 4)).astype(np.float32), rng.normal(size=(20, 4)).astype(np.float32)
        mean.add(users, items)
        product = users[:, :3] @ items[:, :3].T + users[:, 3:] + items[:, 3]
        total = total + product
    found = mean.users @ mean.items.T + mean.user_biases[:, None] + mean.item_biases
    np.testing.assert_allclose(found, total / 5, atol=1e-5)
    assert mean.lost < 1e-10


def test_the_strongest_factors_are_those_of_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(40, 7)), rng.normal(size=(25, 7))
    left[:, 6] = left[:, 5]  # dependent columns
    users, items, lost = strongest(left, right, 3)
    u, values, vt = np.linalg.svd(left @ right.T)
    np.testing.assert_allclose(users @ items.T, u[:, :3] * values[:3] @ vt[:3], atol=1e-8)
    assert lost == pytest.approx((values[3:] ** 2).sum() / (values**2).sum())


def test_kept_samples_are_spread_evenly_whatever_their_number():
    samples = Samples.room_for(4, Sizes(1, 1), 2, False)
    found = {}
    for k in range(1, 40):
        samples.add(_fake_chain(k), (np.array([0]), np.array([0])), np.random.default_rng(0))
        assert 1 <= samples.count <= 4
        found[k] = samples.noise_precisions[: samples.count].round(9).tolist()
    assert found[4] == [1, 2, 3, 4]
    assert found[8] == [2, 4, 6, 8]
    assert found[39] == [8, 16, 24, 32]


def _fake_chain(k):
    """A chain that says in its noise which sample it is."""
    side = SimpleNamespace(
        links=None,
        prior=Prior(np.zeros(2), np.eye(2)),
        unknowns=lambda: np.full((1, 2), k, np.float32),
        draw_unknown=lambda random: np.zeros(2, np.float32),
    )
    same = {
        "users_at_mean_times": lambda rows: rows,
        "mean_time": lambda: np.zeros((1, 2), np.float32),
    }
    return SimpleNamespace(users=side, items=side, untimed_precision=k, stars=None, **same)


def test_sampling_ends_by_itself_where_more_does_not_help():
    train, *_ = planted(1, 60, 50, rank=1, share=0.9)
    model = rf.BayesianMF(rank=1).fit(train)
    assert 16 <= model.n_sweeps_ < 300
    assert len(model.history_) == model.n_sweeps_


def test_a_start_from_another_model_is_where_that_ended():
    train, *_ = planted(1, 60, 50)
    long = rf.BayesianMF(rank=2, sweeps=60).fit(train)
    cold, warm = (rf.BayesianMF(rank=2, sweeps=1).fit(train, init=init) for init in (None, long))
    expected = np.mean([report.train for report in long.history_[-20:]])
    assert abs(warm.history_[0].train - expected) < abs(cold.history_[0].train - expected)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rank": 0}, "rank must be a whole number of at least 1"),
        ({"sweeps": 0}, "sweeps must be a whole number of at least 1"),
        ({"sweeps": "many"}, "sweeps must be a whole number of at least 1"),
        ({"burn_in": -1}, "burn_in must be a whole number of at least 0"),
        ({"links": "friends"}, "links must be one of auto, none, rated"),
        ({"samples": 1}, "samples must be a whole number of at least 2"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(wrong, words):
    with pytest.raises(ValueError, match=words):
        rf.BayesianMF(**wrong).fit(rf.Ratings.from_dense([[5, 3], [4, None]]))


def with_features(seed, n_users=150, n_items=60):
    """Items whose biases and tastes follow from their kind, few ratings each, and features of most of them."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, n_items)
    truth = 3 + np.array([-1, 0, 0.5, 1.0])[kinds] + rng.normal(0, 1, (n_users, 4))[:, kinds]
    seen = rng.random(truth.shape) < 0.08
    users, items = np.nonzero(seen)
    ratings = rf.Ratings.from_arrays(users, items, (truth + rng.normal(0, 0.5, truth.shape))[seen])
    known = np.arange(n_items - 3)
    return ratings, rf.Features.from_table(known, {"kind": [f"k{kinds[k]}" for k in known]}), truth, seen


@pytest.mark.parametrize("links", ["none", "rated"])
def test_features_make_predictions_of_rated_items_better(links):
    errors = []
    for seed in range(3):
        ratings, features, truth, seen = with_features(seed)
        for given in ({}, {"item_features": features}):
            model = rf.BayesianMF(rank=6, sweeps=40, links=links, clip=False).fit(ratings, **given)
            users, items = np.nonzero(~seen[:, :57])
            errors.append(np.sqrt(np.mean((model.predict(users, items) - truth[users, items]) ** 2)))
    without, with_them = np.reshape(errors, (3, 2)).T
    assert (with_them < 0.95 * without).all()


def test_links_to_what_was_rated_are_made_where_there_are_enough_ratings():
    sparse, dense = (planted(0, 60, 50, share=share)[0] for share in (0.02, 0.5))
    assert rf.BayesianMF(rank=2, sweeps=2).fit(sparse)._samples.weights.shape[1] == 0
    assert rf.BayesianMF(rank=2, sweeps=2).fit(dense)._samples.weights.shape[1] == 50
    assert rf.BayesianMF(rank=2, sweeps=2, links="rated").fit(sparse)._samples.weights.shape[1] == sparse.n_items


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "m.rankfill"
    ratings = rf.Ratings.from_dense([[5, 3, 1], [4, None, 2]])
    rf.BayesianMF(rank=2, sweeps=4, burn_in=0, links="rated").fit(ratings).save(path)
    tensors, about = read_tensors(path)
    for name, damage in (
        ("samples.items", tensors["samples.items"][:, 1:]),
        ("samples.users", tensors["samples.users"][:1]),
        ("samples.noise_precisions", -tensors["samples.noise_precisions"]),
        ("samples.weights", np.repeat(tensors["samples.weights"], 2, axis=1)),
    ):
        write_tensors(path, {**tensors, name: np.ascontiguousarray(damage)}, about)
        with pytest.raises(ValueError, match="is damaged: samples"):
            rf.load(path)
