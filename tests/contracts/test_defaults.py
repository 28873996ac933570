"""With nothing set, no model is worse than the effects of users and items alone by more than half a percent."""

import pytest

import rankfill as rf
from rankfill.models import MODELS

SETS = {  # users, items, ratings, noise
    "two ratings a user": (3000, 500, 6000, 0.7),
    "little signal": (1500, 500, 15_000, 1.0),
    "nearly all noise": (1500, 500, 15_000, 2.0),
    "dense noise": (400, 200, 16_000, 2.0),
    "clear": (400, 200, 16_000, 0.5),
    "small": (300, 150, 4000, 1.0),
}


@pytest.fixture(scope="module", params=SETS)
def kept_aside(request):
    *size, noise = SETS[request.param]
    train, test = rf.split(rf.synthetic.low_rank(*size, noise=noise, seed=8), test=0.2, by="user", seed=0)
    return train, test, rf.evaluate(rf.Bias().fit(train), test)["rmse"]


# GECO fits without a penalty: its rank is all that keeps it from noise, and nobody can know that beforehand.
@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"geco"}))
def test_defaults_do_not_lose_to_the_effects(name, kept_aside):
    train, test, error_of_effects = kept_aside
    assert rf.evaluate(MODELS[name]().fit(train), test)["rmse"] <= 1.005 * error_of_effects
