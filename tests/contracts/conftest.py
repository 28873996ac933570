"""What every model is held to, whatever its family: the fixtures find the models, the tests never name one."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.tensors import read_tensors
from rankfill.models import MODELS

CHEAP = {"passes": 3, "sweeps": 3, "rank": 4, "variances": [2.0, 0.5, 0.1], "blocks": 2}


def make(name, **parameters):
    cls = MODELS[name]
    known = cls().get_params()
    return cls(**{key: value for key, value in CHEAP.items() if key in known} | parameters)


def names_with(parameter):
    return [name for name, cls in MODELS.items() if parameter in cls().get_params()]


@pytest.fixture(params=sorted(MODELS))
def model(request):
    """Every model, not fitted, with settings that make it quick."""
    return make(request.param)


def of_ratings(name):
    """The model, set to predict ratings where it has a choice."""
    choice = {"feedback": "explicit"} if "feedback" in MODELS[name]().get_params() else {}
    return make(name, **choice)


RATING_MODELS = [name for name in sorted(MODELS) if of_ratings(name).predicts_ratings]


@pytest.fixture(params=RATING_MODELS)
def rating_model(request):
    """Every model that predicts ratings, not only scores."""
    return of_ratings(request.param)


@pytest.fixture(params=names_with("passes"))
def iterative_model(request):
    return make(request.param)


@pytest.fixture(params=names_with("seed"))
def seeded_model(request):
    return make(request.param)


@pytest.fixture(params=names_with("rank"))
def ranked_model(request):
    return make(request.param)


@pytest.fixture(params=[name for name in names_with("nonnegative") if MODELS[name]().nonnegative is not False])
def nonnegative_model(request):
    """Those that say by a word which side is not negative."""
    return make(request.param)


@pytest.fixture(params=[name for name, cls in MODELS.items() if hasattr(cls, "partial_fit")])
def incremental_model(request):
    return make(request.param)


@pytest.fixture(
    params=[name for name, cls in MODELS.items() if hasattr(cls, "partial_fit") and hasattr(cls, "item_factors_")]
)
def incremental_factor_model(request):
    return make(request.param)


@pytest.fixture(params=[name for name, cls in MODELS.items() if hasattr(cls, "item_factors_")])
def factor_model(request):
    return make(request.param)


def table(n_users=17, n_items=7, density=0.5, seed=0):
    """More users than items, ratings of 1 to 5 in halves, everyone and everything rated at least once."""
    rng = np.random.default_rng(seed)
    filled = rng.random((n_users, n_items)) < density
    filled[np.arange(n_users), np.arange(n_users) % n_items] = True
    users, items = np.nonzero(filled)
    taste = rng.gamma(2.0, 0.6, (n_users, 2)) @ rng.gamma(2.0, 0.6, (2, n_items))
    values = np.clip(np.round(2 * taste[users, items]) / 2, 1, 5)
    order = rng.permutation(len(users))
    return users[order], items[order], values[order]


@pytest.fixture
def ratings():
    """Integer ids that are neither 0 … n − 1 nor in order of arrival."""
    users, items, values = table()
    return rf.Ratings.from_arrays(1000 - 3 * users, 50 + 2 * items, values)


@pytest.fixture
def named_ratings():
    users, items, values = table(seed=1)
    people, things = np.array([f"päivi {u}" for u in range(17)]), np.array([f"film №{i}" for i in range(7)])
    return rf.Ratings.from_arrays(people[users], things[items], values)


@pytest.fixture
def other_ratings():
    """A matrix of other sizes, with some ids in common with `ratings`."""
    users, items, values = table(n_users=11, n_items=9, seed=2)
    return rf.Ratings.from_arrays(1000 - 4 * users, 50 + 3 * items, values)


@pytest.fixture
def fresh():
    """The same settings, nothing learned: `fresh(model, passes=9)`. What predicts no ratings need not clip them."""

    def make_anew(model, /, **parameters):
        if not model.predicts_ratings and "clip" not in model.get_params():
            parameters.pop("clip", None)
        return type(model)(**model.get_params() | parameters)

    return make_anew


@pytest.fixture
def state(tmp_path):
    """All that a model file would hold, for comparison."""

    def read(model):
        model.save(tmp_path / "state")
        tensors, about = read_tensors(tmp_path / "state")
        return {name: (tensor.shape, tensor.tobytes()) for name, tensor in tensors.items()} | about

    return read


@pytest.fixture
def answers():
    """Everything a user can ask of a model, as bytes, for ids it knows and ids it does not."""

    def ask(model):
        users, items = model.users_.ids(), model.items_.ids()
        users = np.append(users, "nobody") if model.users_.of_strings else np.append(users, -77)
        items = np.append(items, "nothing") if model.items_.of_strings else np.append(items, -77)
        best = model.recommend(users, n=4)
        found = {
            "predictions": model.predict(users[:, None], items[None, :]).tobytes(),
            "items": best.items.tolist(),
            "scores": best.scores.tobytes(),
            "all items": model.recommend(users, n=99, exclude_seen=False).items.tolist(),
        }
        if hasattr(model, "item_factors_"):
            found |= {"users": model.user_factors_.tobytes(), "items_": model.item_factors_.tobytes()}
        return found

    return ask


class CutOff:
    """A callback that ends a fit as a crash would."""

    class Error(Exception):
        pass

    def __init__(self, after):
        self.after = after

    def __call__(self, report):
        if report.epoch >= self.after:
            raise self.Error


@pytest.fixture
def cut_off():
    return CutOff
