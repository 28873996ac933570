"""SoftImpute(penalty="exact"): the least trace norm of all matrices that meet the ratings."""

import cvxpy as cp
import numpy as np
import pytest

import rankfill as rf

SETTINGS = {"penalty": "exact", "offset": "none", "tol": None, "clip": False}


def noiseless(n, m, rank, share, seed=0):
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    return whole, rf.Ratings.from_dense(np.where(rng.random((n, m)) < share, whole, np.nan))


def product(model):
    return model.user_factors_.astype(np.float64) @ model.item_factors_.T


def test_it_is_the_solution_of_an_independent_solver():
    """The matrix has rank 4 and too few entries: the solution is not the matrix that was planted."""
    whole, ratings = noiseless(14, 10, 4, 0.5)
    model = rf.SoftImpute(passes=1500, **SETTINGS).fit(ratings)
    W = cp.Variable((14, 10))
    known = ratings.user_indices, ratings.item_indices
    least = cp.Problem(cp.Minimize(cp.normNuc(W)), [W[u, i] == whole[u, i] for u, i in zip(*known, strict=True)])
    least.solve(solver="SCS", eps=1e-8, max_iters=50_000)
    assert np.linalg.norm(W.value - whole) > 0.1
    np.testing.assert_allclose(np.linalg.svd(product(model), compute_uv=False).sum(), least.value, rtol=1e-4)
    np.testing.assert_allclose(product(model)[known], whole[known], atol=1e-3)


@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_the_certificate_is_a_proof(weighting):
    whole, ratings = noiseless(30, 20, 5, 0.5)
    model = rf.SoftImpute(passes=600, weighting=weighting, **SETTINGS).fit(ratings)
    proof = rf.certificate(model, ratings)
    assert 0 <= proof.relative_gap < 1e-3
    predicted = product(model)[ratings.user_indices, ratings.item_indices]
    np.testing.assert_allclose(predicted, ratings.values, atol=2e-3)
    if weighting == "constant":
        assert proof.dual <= np.linalg.svd(whole, compute_uv=False).sum() * (1 + 1e-9), "the planted one is feasible"
        early = rf.SoftImpute(passes=5, **SETTINGS).fit(ratings)
        assert rf.certificate(early, ratings).gap > proof.gap


def test_a_matrix_of_low_rank_is_recovered_exactly_and_training_ends_by_the_gap():
    whole, ratings = noiseless(60, 50, 2, 0.5)
    model = rf.SoftImpute(gap=1e-5, passes=2000, **SETTINGS).fit(ratings)
    assert len(model.history_) < 500
    assert model.history_[-1].gap <= 1e-5
    assert np.linalg.norm(product(model) - whole) <= 1e-4 * np.linalg.norm(whole)
    assert model.penalty_ == 0.0


def test_it_is_the_limit_of_small_penalties():
    _, ratings = noiseless(20, 15, 3, 0.6)
    limit = product(rf.SoftImpute(passes=1500, **SETTINGS).fit(ratings))
    distances = [
        np.linalg.norm(product(rf.TraceTradeoff(penalty=each, offset="none", gap=1e-8).fit(ratings)) - limit)
        for each in (1.0, 0.1, 0.01)
    ]
    assert distances[0] > 3 * distances[1] > 9 * distances[2]


def test_corners(tmp_path):
    one = rf.Ratings.from_arrays([1], [1], [3.0])
    assert rf.SoftImpute(penalty="exact", offset="none").fit(one).predict(1, 1) == pytest.approx(3.0, rel=1e-4)
    flat = rf.Ratings.from_dense([[2.0, 2.0], [2.0, np.nan]])
    assert rf.SoftImpute(penalty="exact", offset="none").fit(flat).predict(1, 1) == pytest.approx(2.0, rel=1e-3)
    _, ratings = noiseless(12, 9, 2, 0.6)
    model = rf.SoftImpute(passes=300, **SETTINGS).fit(ratings)
    rf.save(model, tmp_path / "m.rankfill")
    again = rf.certificate(rf.load(tmp_path / "m.rankfill"), ratings)
    assert again.dual == pytest.approx(rf.certificate(model, ratings).dual, rel=1e-6)
    assert np.isfinite(model.predict_folded(ratings)).all()
    with pytest.raises(ValueError, match=r'penalty must be a number above 0, "exact" or None, found \'none\''):
        rf.SoftImpute(penalty="none").fit(ratings)
