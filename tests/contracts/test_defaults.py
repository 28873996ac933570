"""With nothing set, no model is worse than the effects of users and items alone by more than half a percent."""

import pytest

import rankfill as rf
from rankfill.models import MODELS

LONG_TAIL = {"popularity": "zipf", "level": 1.0}

SETS = {  # users, items, ratings
    "two ratings a user": ((3000, 500, 6000), {"noise": 0.7}),
    "little signal": ((1500, 500, 15_000), {"noise": 1.0}),
    "nearly all noise": ((1500, 500, 15_000), {"noise": 2.0}),
    "dense noise": ((400, 200, 16_000), {"noise": 2.0}),
    "clear": ((400, 200, 16_000), {"noise": 0.5}),
    "small": ((300, 150, 4000), {"noise": 1.0}),
    "most items once": ((1500, 20_000, 50_000), LONG_TAIL | {"effects": 0.5, "signal": 0.1, "noise": 1.2}),
    "a scale of ten": ((8000, 5000, 40_000), LONG_TAIL | {"signal": 0.3, "noise": 0.8, "scale": (1.0, 10.0)}),
    "weak effects, few ratings": ((4000, 6000, 20_000), LONG_TAIL | {"effects": 0.6, "signal": 0.2, "noise": 1.0}),
    "small and dense": ((250, 120, 9000), {"effects": 1.6, "signal": 0.4, "noise": 0.9}),
}


def with_nothing_set(name):
    """Set to predict ratings where a model has a choice; of a long series of samples only the beginning."""
    known, wanted = MODELS[name]().get_params(), {"feedback": "explicit", "goal": "predict", "sweeps": 80}
    return MODELS[name](**{key: value for key, value in wanted.items() if key in known})


@pytest.fixture(scope="module", params=SETS)
def kept_aside(request):
    size, kind = SETS[request.param]
    train, test = rf.split(rf.synthetic.low_rank(*size, **kind, seed=8), test=0.2, by="user", seed=0)
    return train, test, rf.evaluate(rf.Bias().fit(train), test)["rmse"]


@pytest.mark.parametrize("name", sorted(name for name in MODELS if with_nothing_set(name).predicts_ratings))
def test_defaults_do_not_lose_to_the_effects(name, kept_aside):
    train, test, error_of_effects = kept_aside
    assert rf.evaluate(with_nothing_set(name).fit(train), test)["rmse"] <= 1.005 * error_of_effects
