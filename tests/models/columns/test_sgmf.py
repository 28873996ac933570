"""Stochastic gradient steps on columns against the formula, and beside Broyden updates."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.starts import random_rows

PAPER = {"biases": False, "clip": False, "tol": None}


@pytest.fixture
def dense():
    rng = np.random.default_rng(0)
    full = rng.random((40, 3)) @ rng.random((3, 25))
    return np.where(rng.random(full.shape) < 0.3, np.nan, full)


def test_passes_are_the_formula(dense):
    ratings = rf.Ratings.from_dense(dense)
    model = rf.SGMF(rank=3, rate=0.2, shrinkage=0.1, side="items", passes=3, **PAPER).fit(ratings)
    unit = np.sqrt(np.nanmean(dense**2))
    C, X = np.sqrt(unit / 3) * random_rows(0, 40, 3, 0), np.zeros((25, 3))
    errors = []
    for epoch in (1, 2, 3):
        errors.append(0.0)
        for k in model._order(ratings.by_item, epoch):
            m = ~np.isnan(dense[:, k])
            y, x = dense[m, k], X[k]
            x = X[k] = x + (C[m].T @ (y - C[m] @ x) - 0.1 * x) / (0.1 + (C[m] ** 2).sum())
            left = y - C[m] @ x
            C[m] += 0.2 / np.sqrt(epoch) / (unit + x @ x) * np.outer(left, x)
            errors[-1] += (left**2).sum()
    np.testing.assert_allclose(model.user_factors_, C, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.item_factors_, X, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose([report.objective for report in model.history_], errors, rtol=1e-4)


def test_it_learns_and_broyden_updates_learn_more_from_the_same_columns(dense):
    ratings = rf.Ratings.from_dense(dense)
    plain = rf.SGMF(rank=3, rate=0.2, side="items", passes=30, **PAPER).fit(ratings)
    broyden = rf.Broyden(rank=3, penalty=1.0, side="items", passes=30, **PAPER).fit(ratings)
    assert plain.history_[-1].train < 0.5 * plain.history_[0].train
    assert broyden.history_[-1].train < plain.history_[-1].train


def test_rate_is_refused_in_words(dense):
    with pytest.raises(ValueError, match="rate must be a positive number, found 0"):
        rf.SGMF(rate=0).fit(rf.Ratings.from_dense(dense))
