"""The list of models is complete, so that no model escapes the contract."""

import importlib
import inspect
import pkgutil

import pytest

import rankfill
from rankfill import models
from rankfill.models import MODELS, Model


def test_there_are_models_and_each_is_under_one_name():
    assert len(MODELS) >= 2
    assert len(set(MODELS.values())) == len(MODELS)
    assert all(name == name.lower() and " " not in name for name in MODELS)


def test_every_model_exported_is_in_the_list():
    exported = {
        each
        for each in map(vars(models).get, models.__all__)
        if inspect.isclass(each) and issubclass(each, Model) and not inspect.isabstract(each)
    }
    assert exported == set(MODELS.values())
    assert all(getattr(rankfill, cls.__name__) is cls for cls in MODELS.values())


def test_every_model_defined_in_the_package_is_in_the_list():
    defined = set()
    for module in pkgutil.walk_packages(models.__path__, "rankfill.models."):
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, Model) and not inspect.isabstract(each):
                defined.add(each)
    assert {cls for cls in defined if not cls.__name__.startswith("_")} == set(MODELS.values())


@pytest.mark.parametrize(
    "capability", ["passes", "seed", "rank", "nonnegative", "partial_fit", "item_factors_", "fold_in", "clip"]
)
def test_some_model_has_each_capability_that_tests_select_by(capability):
    """A fixture over no models would skip its tests in silence; here that fails."""
    assert any(capability in cls().get_params() or hasattr(cls, capability) for cls in MODELS.values())
