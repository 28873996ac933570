"""Settings where none are given: what is noise is not learned, quickly, and what is not is."""

import numpy as np
import pytest

import rankfill as rf

LONG_TAIL = {"popularity": "zipf", "level": 1.0, "effects": 0.5, "noise": 1.2}
CONVEX = [rf.SoftImpute, rf.TraceTradeoff, rf.TraceBounded, rf.JaggiSulovsky, rf.PrimalDual]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("cls", CONVEX)
def test_nothing_is_learned_where_no_singular_value_stands_above_the_noise(cls, seed):
    ratings = rf.synthetic.low_rank(2500, 20_000, 60_000, **LONG_TAIL, signal=0.1, seed=seed)
    model = cls().fit(ratings)
    assert model.rank_ == 0
    users, items = ratings.users.ids(ratings.user_indices[:50]), ratings.items.ids(ratings.item_indices[:50])
    np.testing.assert_allclose(model.predict(users, items), rf.Bias().fit(ratings).predict(users, items), atol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_what_stands_above_the_noise_is_learned(seed):
    ratings = rf.synthetic.low_rank(2000, 1500, 40_000, noise=1.0, seed=seed)
    train, test = rf.split(ratings, test=0.2, seed=0)
    errors = [rf.evaluate(model.fit(train), test)["rmse"] for model in (rf.TraceTradeoff(), rf.Bias())]
    assert errors[0] < 0.996 * errors[1]


def test_zero_that_is_seen_at_once_is_the_solution():
    """With a penalty above the largest useful one, for a model that looks for directions in blocks otherwise."""
    ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    largest = rf.TraceTradeoff().largest_penalty(ratings)
    for share, rank in ((1.1, 0), (1.001, 0), (0.97, 1)):
        model = rf.TraceTradeoff(penalty=share * largest, gap=1e-9).fit(ratings)
        assert model.rank_ == rank
        assert model.history_[-1].gap <= 1e-9
