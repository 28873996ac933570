"""ALS against implicit and cmfrec on small problems.

Their answers are stored in `rivals.json`, so that the comparison runs without them; where a package is installed, the
numbers are compared with the package. To store them anew, with both installed:

    python tests/models/alternating/test_rivals.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from threadpoolctl import threadpool_limits

import rankfill as rf

STORE = Path(__file__).with_name("rivals.json")


def problem(seed, n_users, n_items, density=0.4):
    """Ratings 1 … 5 in a dense matrix, zero where there is none; every user and item has some."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_users, n_items)) < density, rng.integers(1, 6, (n_users, n_items)), 0)
    dense[np.arange(n_users), np.arange(n_users) % n_items] = 3
    dense[np.arange(n_items) % n_users, np.arange(n_items)] = 4
    return dense


def planted(seed, n_users, n_items, rank, density=0.5):
    """A matrix of low rank with a little noise, zero where there is no rating: every start ends at one optimum."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(n_users, rank)) @ rng.normal(size=(rank, n_items))
    noisy = full + 0.1 * rng.normal(size=full.shape)
    return np.where(rng.random(full.shape) < density, np.round(noisy, 2), 0.0)


def objective(errors, penalty, users, items):
    return float(0.5 * ((errors**2).sum() + penalty * ((users**2).sum() + (items**2).sum())))


def implicit_scores():
    """What implicit's ALS gives every pair; its weight of a rating is alpha · r, where ours is 1 + confidence · r."""
    from implicit.cpu.als import AlternatingLeastSquares

    used = (problem(0, 40, 23) > 0).astype(np.float32)
    model = AlternatingLeastSquares(
        factors=3, regularization=1.0, alpha=2.0, iterations=300, use_cg=False, num_threads=1, random_state=0
    )
    model.fit(csr_matrix(used), show_progress=False)
    users, items = (np.asarray(each, dtype=float) for each in (model.user_factors, model.item_factors))
    return np.round(users @ items.T, 3).tolist()


def cmfrec_objective():
    """½ Σ e² + ½ λ (‖P‖² + ‖Q‖²) where cmfrec ends, without biases."""
    from cmfrec import CMF

    dense = planted(1, 60, 35, rank=3)
    users, items = np.nonzero(dense)
    values = dense[users, items]
    model = CMF(
        k=3, lambda_=5.0, center=False, user_bias=False, item_bias=False, niter=200, use_cg=False, verbose=False
    ).fit(coo_matrix((values, (users, items)), shape=dense.shape))
    P, Q = model.A_.astype(float), model.B_.astype(float)
    return objective(values - (P[users] * Q[items]).sum(axis=1), 5.0, P, Q)


RIVALS = {"implicit": implicit_scores, "cmfrec": cmfrec_objective}


def stored(name):
    return json.loads(STORE.read_text())[name]["answer"]


def known(dense):
    users, items = np.nonzero(dense)
    return rf.Ratings.from_arrays(users, items, dense[users, items].astype(np.float32))


def test_implicit_feedback_agrees_with_implicit():
    used = known(problem(0, 40, 23)).with_values(np.ones_like)
    model = rf.ALS(rank=3, penalty=1.0, feedback="implicit", confidence=1.0, passes=300, tol=None).fit(used)
    np.testing.assert_allclose(model.predict_all(), stored("implicit"), atol=0.02)


def test_objective_agrees_with_cmfrec():
    ratings = known(planted(1, 60, 35, rank=3))
    model = rf.ALS(rank=3, penalty=5.0, biases=False, passes=300, tol=None).fit(ratings)
    assert model.history_[-1].objective == pytest.approx(stored("cmfrec"), rel=1e-3)


@pytest.mark.parametrize("name", RIVALS)
def test_what_is_stored_is_what_the_package_answers(name):
    pytest.importorskip(name)
    with threadpool_limits(1, "blas"):  # as implicit asks for
        np.testing.assert_allclose(RIVALS[name](), stored(name), rtol=1e-3, atol=2e-3)


if __name__ == "__main__":
    STORE.write_text(
        json.dumps({name: {"version": version(name), "answer": run()} for name, run in RIVALS.items()}) + "\n"
    )
