"""Frank–Wolfe within a bound on the trace norm, against its dense form, cvxpy and the penalised problem."""

import cvxpy as cp
import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(30, 18, 200, seed=0)


def completed(model):
    return model.user_factors_.astype(float) @ model.item_factors_.T


def trace_norm(model):
    return np.linalg.svd(completed(model), compute_uv=False).sum()


def dense_frank_wolfe(ratings, trace, steps):
    """The algorithm as published, on matrices that are written out; also σ₁ of the last step's residual."""
    known, dense, W = np.zeros(ratings.shape), np.zeros(ratings.shape), np.zeros(ratings.shape)
    known[ratings.user_indices, ratings.item_indices] = 1
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    for _ in range(steps):
        residual = known * (dense - W)
        left, values, right = np.linalg.svd(residual)
        towards = trace * np.outer(left[:, 0], right[0]) - W
        share = (residual * towards).sum() / ((known * towards) ** 2).sum()
        W = W + np.clip(share, 0, 1) * towards
    return W, values[0]


@pytest.mark.parametrize("trace", [40, 90, 200])
def test_passes_are_those_of_the_dense_algorithm(ratings, trace):
    for passes in (1, 2, 7, 25):
        model = rf.JaggiSulovsky(trace=trace, offset="none", passes=passes, tol=None).fit(ratings)
        expected, largest = dense_frank_wolfe(ratings, trace, passes)
        np.testing.assert_allclose(completed(model), expected, atol=1e-5)
        assert model.penalty_ == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize(("trace", "near"), [(40, 1e-6), (70, 0.015)])
def test_loss_is_the_optimum_of_cvxpy(ratings, trace, near):
    """Within the smaller bound the solution is one corner, and the approach is quick."""
    W = cp.Variable(ratings.shape)
    errors = ratings.values.astype(float) - W[ratings.user_indices, ratings.item_indices]
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(errors)), [cp.normNuc(W) <= trace]).solve(solver=cp.CLARABEL)
    model = rf.JaggiSulovsky(trace=trace, offset="none", passes=600, tol=None).fit(ratings)
    last = model.history_[-1]
    assert best * (1 - 1e-6) <= last.objective <= best * (1 + near)
    assert last.objective * (1 - last.gap) <= best * (1 + 1e-6)
    assert last.gap <= 10 * near
    assert trace_norm(model) <= trace * (1 + 1e-5)


def test_bound_of_a_penalised_solution_gives_that_solution(ratings):
    penalty = 3.0
    penalised = rf.TraceTradeoff(penalty=penalty, offset="none", gap=1e-7, tol=None, passes=200).fit(ratings)
    proof = rf.certificate(penalised, ratings)
    assert proof.rank > 1
    bounded = rf.JaggiSulovsky(trace=proof.trace_norm, offset="none", passes=2000, tol=None).fit(ratings)
    objective = bounded.history_[-1].objective + penalty * proof.trace_norm
    assert proof.dual * (1 - 1e-6) <= objective <= proof.primal * (1 + 1e-3)
    assert bounded.penalty_ == pytest.approx(penalty, rel=0.03)
    np.testing.assert_allclose(completed(bounded), completed(penalised), atol=0.05)


def test_loss_never_rises_and_the_gap_is_a_bound(ratings):
    model = rf.JaggiSulovsky(trace=60, passes=100, tol=None).fit(ratings)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-12 * objectives[:-1]).all()
    assert max(report.objective * (1 - report.gap) for report in model.history_) <= objectives[-1]


def test_a_pass_adds_one_to_the_rank(ratings):
    assert rf.JaggiSulovsky(trace=60, passes=7, tol=None).fit(ratings).rank_ == 7


def test_trace_must_be_positive(ratings):
    with pytest.raises(ValueError, match="trace must be a positive number, found -1"):
        rf.JaggiSulovsky(trace=-1).fit(ratings)
