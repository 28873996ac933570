"""Regressions of items in the kernel against their NumPy twins."""

import numpy as np
import pytest

import rankfill as rf
from rankfill import kernels
from rankfill.kernels import Rows, _native
from rankfill.kernels.reference import regressions


@pytest.fixture(params=_native.instruction_sets())
def isa(request, monkeypatch):
    monkeypatch.setattr(kernels.regressions, "instruction_set", lambda: request.param)
    return request.param


@pytest.fixture
def threads():
    before = rf.get_threads()
    yield rf.set_threads
    rf.set_threads(before)


def problem(seed=0, n_users=60, n_items=23):
    rng = np.random.default_rng(seed)
    filled = rng.random((n_users, n_items)) < 0.3
    filled[:, 5] = False
    users, items = np.nonzero(filled)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return Rows(indptr, items.astype(np.int32), rng.standard_normal(len(users)).astype(np.float32)), n_items


def of_sources(rows, n_items, sources):
    """Places, the entries of sources by user, and their Gram matrix."""
    places = np.full(n_items, -1, np.int32)
    places[sources] = np.arange(len(sources))
    X = np.zeros((rows.n_rows, n_items), np.float32)
    X[rows.row_of_entry(), rows.indices] = rows.values
    some = X[:, sources]
    users, items = np.nonzero(some)
    indptr = np.concatenate([[0], np.cumsum((some != 0).sum(axis=1))])
    by_user = Rows(indptr, items.astype(np.int32), some[users, items])
    return places, by_user, np.tril(some.T.astype(float) @ some).astype(np.float32)


@pytest.mark.parametrize("keep", [1, 4, 11])
def test_regressions_on_neighbours_equal_their_twin(isa, threads, keep):
    rows, n_items = problem()
    sources = np.array([7, 2, 5, 11, 20, 1, 0, 9, 14, 3, 22])
    places, by_user, gram = of_sources(rows, n_items, sources)
    arguments = rows.transposed(n_items), by_user, gram, places, 0.7, keep
    theirs = regressions.few_input_regressions(*arguments)
    found = []
    for n in (1, 3):
        threads(n)
        ours = kernels.few_input_regressions(*arguments)
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-6)
        assert ours[2] == pytest.approx(theirs[2], rel=1e-9)
        found.append(ours[1].tobytes())
    assert found[0] == found[1]
    assert (theirs[1][5] == 0).all()  # nobody has it


@pytest.mark.parametrize(("logistic", "everyone"), [(False, False), (True, False), (True, True)])
def test_regressions_over_raters_equal_their_twin(threads, logistic, everyone):
    rows, n_items = problem(1)
    votes = rows._replace(values=np.where(rows.values > 0, 1, -1).astype(np.float32))
    features = np.random.default_rng(2).standard_normal((rows.n_rows, 2)).astype(np.float32)
    arguments = votes.transposed(n_items), rows, features, 0.8, 0.3
    theirs = regressions.rater_regressions(*arguments, logistic=logistic, everyone=everyone)
    found = []
    for n in (1, 3):
        threads(n)
        ours = kernels.rater_regressions(*arguments, logistic=logistic, everyone=everyone)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5)
        assert ours[2] == pytest.approx(theirs[2], rel=1e-9)
        found.append(ours[0].tobytes())
    assert found[0] == found[1]
