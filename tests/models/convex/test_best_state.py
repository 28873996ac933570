"""The best pass on validation ratings is the model of that pass in all it has learned, not in its factors alone."""

import numpy as np
import pytest

import rankfill as rf

MODELS = {
    "frank-wolfe": rf.JaggiSulovsky(trace=200),
    "frank-wolfe, bound from the data": rf.JaggiSulovsky(),
    "bounded": rf.TraceBounded(trace=200),
    "trade-off": rf.TraceTradeoff(penalty=0.1),
    "absolute": rf.PrimalDual(penalty=0.3, loss="absolute", schedule="newest"),
    "non-negative": rf.PrimalDual(penalty=0.1, nonnegative=True, offset="none", schedule="newest"),
    "greedy": rf.GECO(rank=8, penalty=0.01),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_restored_model_is_the_one_that_was_stopped_there(model):
    ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    train, validation = rf.split(ratings, test=0.3, seed=0)
    restored = type(model)(**model.get_params() | {"passes": 25, "tol": None}).fit(train, validation=validation)
    errors = [report.validation for report in restored.history_]
    best = int(np.argmin(errors)) + 1
    assert best < 25
    stopped = type(model)(**model.get_params() | {"passes": best, "tol": None}).fit(train)
    assert restored.penalty_ == stopped.penalty_
    assert restored.rank_ == stopped.rank_
    np.testing.assert_array_equal(restored.fold_in(validation), stopped.fold_in(validation))
    if not isinstance(model, rf.GECO):
        assert rf.certificate(restored, train) == rf.certificate(stopped, train)
