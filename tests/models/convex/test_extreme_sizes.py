"""Ratings and settings of any size: the same solution in other units, or a refusal in words."""

import numpy as np
import pytest

import rankfill as rf

MODELS = {
    "soft-impute": rf.SoftImpute(passes=20),
    "trade-off": rf.TraceTradeoff(passes=20),
    "bounded": rf.TraceBounded(passes=20),
    "frank-wolfe": rf.JaggiSulovsky(passes=20),
    "primal-dual": rf.PrimalDual(passes=20),
    "absolute": rf.PrimalDual(loss="absolute", passes=20),
    "non-negative": rf.PrimalDual(nonnegative=True, offset="none", passes=20),
    "greedy": rf.GECO(rank=3),
}
SETTINGS = [
    (name, parameter)
    for name, model in MODELS.items()
    for parameter in ("penalty", "trace", "gap")
    if parameter in model.get_params()
]


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(40, 25, 400, noise=0.4, seed=0)


def answers(model, ratings):
    return model.predict(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)).astype(float)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scale", [1e-40, 2.0**-80, 2.0**60, 1e30])
def test_ratings_of_another_size_have_the_same_solution(model, ratings, scale):
    scaled = ratings.with_values(lambda values: (values * scale).astype(np.float32))
    ours, usual = (type(model)(**model.get_params()).fit(each) for each in (scaled, ratings))
    np.testing.assert_allclose(answers(ours, ratings) / scale, answers(usual, ratings), atol=2e-3)
    assert all(np.isfinite([report.objective, report.train]).all() for report in ours.history_)
    if 1e-30 <= scale <= 1e19:
        rows = ours.fold_in(scaled)[:, : ours.rank_].astype(float) / np.sqrt(scale)
        np.testing.assert_allclose(rows, usual.fold_in(ratings)[:, : usual.rank_], atol=5e-3)
    else:
        with pytest.raises(ValueError, match=r"fold_in needs a model of ratings whose largest is from 1e-30 to 1e\+20"):
            ours.fold_in(scaled)


@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
@pytest.mark.parametrize("value", [1e-30, 1e-12, 1e12, 1e30])
def test_settings_at_the_edge_give_finite_models(ratings, name, parameter, value):
    model = type(MODELS[name])(**MODELS[name].get_params() | {parameter: value}).fit(ratings)
    assert np.isfinite(answers(model, ratings)).all()
    assert np.isfinite(model.fold_in(ratings)).all()
    assert np.isfinite(model.history_[-1].objective)


@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
@pytest.mark.parametrize("value", [1e-300, 1e-40, 1e300, np.inf, np.nan, 0.0])
def test_settings_beyond_are_refused_in_words(ratings, name, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} must be"):
        type(MODELS[name])(**MODELS[name].get_params() | {parameter: value}).fit(ratings)
