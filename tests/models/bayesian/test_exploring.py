"""Lists that explore, against the dense definition from the samples that are kept."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture(scope="module")
def model():
    ratings = rf.synthetic.low_rank(30, 20, n_ratings=250, noise=0.7, seed=3)
    return rf.BayesianMF(rank=3, sweeps=40, burn_in=8, links="rated").fit(ratings)


def predictions_of_samples(model):
    """One matrix of all users and items per sample, in the units of the ratings."""
    users, items = (each[:, :-1].astype(float) for each in (model._samples.users, model._samples.items))
    products = users[:, :, :-1] @ items[:, :, :-1].transpose(0, 2, 1)
    return model._scale * (products + users[:, :, -1:] + items[:, None, :, -1])


def everything(model, users, explore, **more):
    """The scores of all items, by row of the item."""
    found = model.recommend(users, n=99, exclude_seen=False, min_ratings=1, explore=explore, **more)
    order = model.items_.index(found.items.ravel()).reshape(found.items.shape)
    scores = np.empty_like(found.scores)
    np.put_along_axis(scores, order, found.scores, axis=1)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    return scores


def test_the_upper_bound_is_the_prediction_and_the_spread_of_the_samples(model):
    users = model.users_.ids()
    spread = predictions_of_samples(model).std(axis=0)
    expected = everything(model, users, "mean") + 1.2815516 * spread
    np.testing.assert_allclose(everything(model, users, "upper"), expected, rtol=1e-4, atol=1e-4)
    assert spread.min() > 0


def test_a_thompson_list_is_that_of_one_sample(model):
    users, each = model.users_.ids(), predictions_of_samples(model)
    deviations = each - each.mean(axis=0)
    mean, chosen = everything(model, users, "mean"), set()
    for seed in range(3):
        scores = everything(model, users, "thompson", seed=seed)
        distances = np.abs(mean + deviations - scores).max(axis=2)
        assert (distances.min(axis=0) < 1e-4).all()
        chosen |= set(distances.argmin(axis=0).tolist())
        alone = everything(model, users[7], "thompson", seed=seed)
        np.testing.assert_array_equal(alone[0], scores[7])
    assert len(chosen) > 10  # users get different samples


def test_thompson_takes_each_sample_as_often(model):
    """Over many seeds, scores of one user have the mean and the spread of the samples."""
    scores = np.array([everything(model, model.users_.ids()[:1], "thompson", seed=seed)[0] for seed in range(400)])
    each = predictions_of_samples(model)[:, 0]
    error = each.std(axis=0) / 20
    assert (np.abs(scores.mean(axis=0) - everything(model, model.users_.ids()[:1], "mean")[0]) < 4.5 * error).all()
    np.testing.assert_allclose(scores.std(axis=0), each.std(axis=0), rtol=0.2)


@pytest.mark.parametrize("explore", ["upper", "thompson"])
def test_seen_and_excluded_items_stay_out_whoever_asks(model, explore):
    users = np.append(model.users_.ids(), 9999)
    plain, found = model.recommend(users, n=5), model.recommend(users, n=5, explore=explore)
    assert found.items.shape == plain.items.shape
    for row, user in enumerate(users[:-1]):
        seen = model.items_.ids(model._seen.rows(np.array([row], np.int32))[1])
        assert not set(found.items[row].tolist()) & set(seen.tolist())
        assert user == found.users[row]
    best = found.items[0, 0]
    assert best not in model.recommend(users, n=5, explore=explore, exclude=[best]).items
    assert model.recommend(users, n=5, explore="mean").items.tolist() == plain.items.tolist()
    again = model.recommend(users, n=5, explore=explore)
    assert again.scores.tobytes() == found.scores.tobytes()


def test_newcomers_explore_more_the_less_is_known_of_them(model):
    rng = np.random.default_rng(0)
    items = model.items_.ids()
    few = rf.Ratings.from_arrays([1], items[:1], [3.0])
    many = rf.Ratings.from_arrays(np.ones(18, int), items[:18], rng.choice([2.0, 3.0, 4.0], 18))
    added = []
    for known in (few, many):
        plain, upper = (everything(model, known, explore)[0, 18:] for explore in ("mean", "upper"))
        added.append((upper - plain).mean())
        draws = [everything(model, known, "thompson", seed=seed)[0, 18:] for seed in range(30)]
        assert np.std(draws, axis=0).min() > 0
    assert added[0] > added[1] > 0


def test_wrong_words_are_refused(model):
    with pytest.raises(ValueError, match="explore must be one of mean, upper, thompson"):
        model.recommend(0, explore="greedy")
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0"):
        model.recommend(0, explore="thompson", seed=-1)
