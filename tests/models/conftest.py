"""Objectives of the alternating models written out over dense matrices, for tests to compare with."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def dense_of():
    return _dense_of


@pytest.fixture(scope="session")
def explicit_objective():
    return _explicit_objective


@pytest.fixture(scope="session")
def implicit_objective():
    return _implicit_objective


def _dense_of(ratings):
    dense = np.full((ratings.n_users, ratings.n_items), np.nan)
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    return dense


def _predict_ratings(model):
    """Every pair, in double precision, from the public attributes."""
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    return model.offset_ + model.user_biases_[:, None].astype(float) + model.item_biases_ + P @ Q.T


def _explicit_objective(model, dense, penalty, bias_penalty, *, by_count):
    known = ~np.isnan(dense)
    errors = np.where(known, dense - _predict_ratings(model), 0.0)
    total = (errors**2).sum()
    for factors, biases, counts in (
        (model.user_factors_, model.user_biases_, known.sum(axis=1)),
        (model.item_factors_, model.item_biases_, known.sum(axis=0)),
    ):
        weights = counts if by_count else np.where(counts >= 0, 1, 0)
        total += (weights * (penalty * (factors.astype(float) ** 2).sum(axis=1) + bias_penalty * biases**2)).sum()
    return total / 2


def _implicit_objective(model, dense, penalty, confidence):
    known = ~np.isnan(dense)
    weights = 1 + confidence * np.where(known, dense, 0.0)
    total = (weights * (known - _predict_ratings(model)) ** 2).sum()
    return (total + penalty * sum((f.astype(float) ** 2).sum() for f in (model.user_factors_, model.item_factors_))) / 2
