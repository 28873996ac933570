"""What a model holds is given back with its last use, not some time later: it may be most of the memory."""

import gc
import weakref

import pytest


@pytest.fixture
def without_collector():
    """Nothing is freed but what nobody refers to any more."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_fitted_model_and_its_view_are_freed_with_their_last_use(model, fresh, ratings, without_collector):
    fitted = fresh(model).fit(ratings)
    alive = [weakref.ref(fitted), weakref.ref(fitted._view())]
    assert fitted._view()._view() is fitted._view()
    del fitted
    assert [each() for each in alive] == [None, None]
