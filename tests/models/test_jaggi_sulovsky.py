"""Frank–Wolfe within a bound on the trace norm, against cvxpy and the penalised problem."""

import cvxpy as cp
import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(30, 18, 200, seed=0)


def trace_norm(model):
    return np.linalg.svd(model.user_factors_.astype(float) @ model.item_factors_.T, compute_uv=False).sum()


def test_loss_is_the_optimum_of_cvxpy(ratings):
    W = cp.Variable(ratings.shape)
    errors = ratings.values.astype(float) - W[ratings.user_indices, ratings.item_indices]
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(errors)), [cp.normNuc(W) <= 40]).solve(solver=cp.CLARABEL)
    model = rf.JaggiSulovsky(trace=40, offset="none", passes=600, tol=None).fit(ratings)
    last = model.history_[-1]
    assert best <= last.objective * (1 + 1e-6)
    assert last.objective == pytest.approx(best, rel=0.01)
    assert last.objective * (1 - last.gap) <= best * (1 + 1e-6)
    assert trace_norm(model) <= 40 * (1 + 1e-5)


def test_bound_of_a_penalised_solution_gives_that_solution(ratings):
    penalty = 3.0
    penalised = rf.PrimalDual(penalty=penalty, offset="none", gap=1e-6, tol=None).fit(ratings)
    bounded = rf.JaggiSulovsky(trace=trace_norm(penalised), offset="none", passes=800, tol=None).fit(ratings)
    objective = bounded.history_[-1].objective + penalty * trace_norm(bounded)
    assert objective == pytest.approx(penalised.history_[-1].objective, rel=2e-3)
    assert bounded.penalty_ == pytest.approx(penalty, rel=0.1)
    predicted = (model.predict(np.arange(30)[:, None], np.arange(18)) for model in (penalised, bounded))
    np.testing.assert_allclose(*predicted, atol=0.1)


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
