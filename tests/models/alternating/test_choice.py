"""What ALS chooses for implicit feedback where it is not told."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.alternating import choice


def groups(n_users=240, n_items=120, n_groups=12, seed=0):
    """People who choose within one of several groups of items, and now and then beyond."""
    rng = np.random.default_rng(seed)
    own = rng.integers(n_groups, size=n_users)
    chance = np.where(own[:, None] == np.arange(n_items) % n_groups, 0.5, 0.03)
    users, items = np.nonzero(rng.random((n_users, n_items)) < chance)
    return rf.split(rf.Ratings.from_arrays(users, items, np.ones(len(users), np.float32)), test=0.2, seed=seed)


def quality(model, test):
    return rf.evaluate(model, test, scores=["ndcg@10"], liked="all")["ndcg@10"]


def test_what_is_chosen_is_near_the_best_of_a_grid():
    train, test = groups()
    ours = quality(rf.ALS(feedback="implicit").fit(train), test)
    by_hand = [
        quality(rf.ALS(feedback="implicit", rank=rank, confidence=c, penalty=penalty).fit(train), test)
        for rank in (8, 32)
        for c in (1.0, 5.0, 25.0)
        for penalty in (1.0, 5.0, 25.0)
    ]
    assert ours > 0.97 * max(by_hand)
    assert ours > 1.2 * np.median(by_hand)


def test_what_is_given_is_kept_and_the_rest_is_chosen():
    train, _ = groups()
    model = rf.ALS(feedback="implicit", rank=5, penalty=2.0).fit(train)
    assert (model.rank_, model.penalty_) == (5, 2.0)
    assert model.get_params()["confidence"] is None
    assert model.confidence_ > 0
    model = rf.ALS(feedback="implicit", confidence=3.0).fit(train)
    assert model.confidence_ == 3.0
    assert model.rank_ in (64, 120)


def test_a_fit_with_what_was_chosen_is_the_same_model():
    train, _ = groups()
    chosen = rf.ALS(feedback="implicit").fit(train)
    given = {"rank": chosen.rank_, "penalty": chosen.penalty_, "confidence": chosen.confidence_}
    told = rf.ALS(feedback="implicit", weighting="count", exponent=0.5, **given).fit(train)
    np.testing.assert_array_equal(told.predict_all(), chosen.predict_all())


def test_too_few_ratings_to_search_take_the_start_of_the_search(monkeypatch):
    monkeypatch.setattr(choice, "_Search", None)
    ratings = rf.Ratings.from_dense([[1, 2, None], [None, 1, 1]])
    model = rf.ALS(feedback="implicit").fit(ratings)
    assert model.confidence_ == pytest.approx(5.0 / 1.25)
    noise = 0.75 * (np.sqrt(2) + np.sqrt(4 / 3))
    scales = np.sqrt(2) * np.average(np.sqrt([1, 2, 1]), weights=[1, 2, 1])
    assert model.penalty_ == pytest.approx(1.5 * noise * 6**0.75 / np.sqrt(scales))
    assert model.rank_ == 2


def test_explicit_ratings_are_learned_as_ever():
    train, _ = rf.split(rf.synthetic.low_rank(60, 40, 900, seed=0), test=0.2)
    plain = rf.ALS().fit(train)
    told = rf.ALS(rank=32, weighting="constant", solver="cholesky", confidence=7.0, liked=4).fit(train)
    np.testing.assert_array_equal(plain.predict_all(), told.predict_all())
    assert plain.rank_ == 32


def test_a_second_fit_searches_afresh():
    """What an earlier fit has learned, of fewer items, is no start for the search."""
    small, large = (rf.synthetic.low_rank(60, n, 30 * n, seed=1).with_values(np.ones_like) for n in (25, 50))
    again = rf.ALS(feedback="implicit", rank=4).fit(small).fit(large)
    fresh = rf.ALS(feedback="implicit", rank=4).fit(large)
    np.testing.assert_array_equal(again.item_factors_, fresh.item_factors_)
