"""Fixtures that all tests share."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import rankfill as rf

# A busy machine is no failure, and the same commit gives the same answer.
settings.register_profile("repeatable", deadline=None, derandomize=True)
# RANKFILL_EXAMPLES=100 (make test-deep, make fuzz) tries so many times the examples, and others every time.
settings.register_profile(
    "deep", deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
DEPTH = int(os.environ.get("RANKFILL_EXAMPLES", "1"))
settings.load_profile("deep" if DEPTH > 1 else "repeatable")

# Shells without job control start what runs in the background with Ctrl-C ignored, which tests of it would wait for.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Tests that say how many examples they need get that many times more, too."""
    functions = {item.obj for item in items if DEPTH > 1 and getattr(item.obj, "is_hypothesis_test", False)}
    for function in (getattr(each, "__func__", each) for each in functions):
        own = function._hypothesis_internal_use_settings
        function._hypothesis_internal_use_settings = settings(own, max_examples=DEPTH * own.max_examples)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets; a test that needs it is skipped where there is none."""
    named = os.environ.get("RANKFILL_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("needs real data: set RANKFILL_DATA to the folder that holds ml-1m, ml-100k, …")
    return Path(named)


class Memoriser(rf.Bias):
    """Predicts a pair it has learned exactly, and the mean rating for any other."""

    def __init__(self, *, clip=True):
        super().__init__(effects="none", clip=clip)

    def fit(self, ratings, validation=None, callbacks=(), init=None):
        self._known = {}
        return self.partial_fit(ratings)

    def partial_fit(self, ratings):
        self._known = getattr(self, "_known", {})
        users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
        self._known |= dict(zip(zip(users, items, strict=True), ratings.values, strict=True))
        if self._known:
            self.users_, self.history_ = ratings.users, []
            self.mean_ = float(np.mean(list(self._known.values())))
        return self

    def _predict_ratings(self, ratings):
        users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
        return np.array(
            [self._known.get(pair, self.mean_) for pair in zip(users, items, strict=True)], dtype=np.float32
        )


def noise(n_users=40, n_items=30, n_ratings=700, seed=0):
    """Ratings that nothing can predict, of standard deviation 1."""
    random = np.random.default_rng(seed)
    users, items = np.divmod(random.permutation(n_users * n_items)[:n_ratings], n_items)
    return rf.Ratings.from_arrays(users, items, 3 + random.normal(size=n_ratings))


@pytest.fixture
def memoriser():
    """The class of a model that knows what it has learned by heart: whoever lets it peek is found out."""
    return Memoriser


@pytest.fixture
def unpredictable():
    return noise()
