"""The bound on the trace norm, against a general solver, the penalised problem, and Frank–Wolfe."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf
from rankfill.models.convex.solvers.projected_gradient import nearest_within


@pytest.fixture
def ratings():
    """30 × 18 with an empty row and an empty column."""
    drawn = rf.synthetic.low_rank(30, 18, 220, seed=0)
    return drawn.select((drawn.user_indices != 3) & (drawn.item_indices != 5))


def trace_norm(model):
    return np.linalg.svd(model.user_factors_.astype(float) @ model.item_factors_.T, compute_uv=False).sum()


def solved(trace, **settings):
    return rf.TraceBounded(**{"trace": trace, "offset": "none", "passes": 400, "tol": 1e-12, "clip": False} | settings)


@pytest.mark.parametrize("trace", [10.0, 40.0, 75.0])
def test_loss_is_the_optimum_of_a_general_solver(ratings, trace):
    W = cvxpy.Variable(ratings.shape)
    errors = ratings.values.astype(float) - W[ratings.user_indices, ratings.item_indices]
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(errors)), [cvxpy.normNuc(W) <= trace])
    best = problem.solve(solver=cvxpy.CLARABEL)
    model = solved(trace).fit(ratings)
    assert model.history_[-1].objective == pytest.approx(best, rel=1e-5)
    assert model.history_[-1].gap <= 1e-4
    assert trace_norm(model) <= trace * (1 + 1e-5)


@pytest.mark.parametrize("weighting", ["constant", "count"])
@pytest.mark.parametrize("offset", ["none", "bias"])
def test_bound_of_a_penalised_solution_gives_that_solution(ratings, weighting, offset):
    """Theorem 4.1 of Zeng et al., one way."""
    settings = {"weighting": weighting, "offset": offset}
    penalised = rf.SoftImpute(penalty=2.0, gap=1e-7, tol=None, passes=3000, **settings).fit(ratings)
    proof = rf.certificate(penalised, ratings)
    assert proof.rank > 1
    bounded = solved(proof.trace_norm, **settings).fit(ratings)
    objective = bounded.history_[-1].objective + 2.0 * proof.trace_norm
    assert objective == pytest.approx(penalised.history_[-1].objective, rel=1e-5)
    assert bounded.penalty_ == pytest.approx(2.0, rel=1e-3)


def test_penalty_of_a_bounded_solution_gives_that_solution(ratings):
    """And the other way: λ = Σ e w / τ."""
    bounded = solved(40.0).fit(ratings)
    w = bounded.predict(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)).astype(float)
    penalty = float((ratings.values - w) @ w) / 40.0
    assert bounded.penalty_ == pytest.approx(penalty, rel=1e-4)
    penalised = rf.TraceTradeoff(penalty=penalty, offset="none", gap=1e-6, tol=None, clip=False).fit(ratings)
    assert trace_norm(penalised) == pytest.approx(40.0, rel=1e-3)
    everyone, everything = ratings.users.ids()[:, None], ratings.items.ids()
    np.testing.assert_allclose(*(m.predict(everyone, everything) for m in (bounded, penalised)), atol=0.01)


def test_frank_wolfe_approaches_the_same_loss_from_above(ratings):
    ours = solved(40.0).fit(ratings).history_[-1].objective
    theirs = rf.JaggiSulovsky(trace=40.0, offset="none", passes=400, tol=None).fit(ratings).history_[-1].objective
    assert ours <= theirs * (1 + 1e-9)
    assert theirs == pytest.approx(ours, rel=0.02)


@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_loss_never_rises_within_the_bound_and_the_gap_holds(ratings, weighting):
    traces = []
    model = rf.TraceBounded(trace=30.0, weighting=weighting, passes=40, tol=None)
    history = model.fit(
        ratings, callbacks=[lambda _: traces.append(rf.certificate(model, ratings).trace_norm)]
    ).history_
    objectives = np.array([report.objective for report in history])
    assert (np.diff(objectives) <= 0).all()
    assert max(traces) <= 30.0 * (1 + 1e-5)
    assert max(report.objective * (1 - report.gap) for report in history) <= objectives[-1] * (1 + 1e-9)


def test_bound_that_holds_nothing_back_fits_every_rating(ratings):
    model = solved(1e4).fit(ratings)
    assert model.history_[-1].train < 1e-3
    assert trace_norm(model) < 1e4


def test_sums_are_bounded_by_the_nearest_numbers():
    rng = np.random.default_rng(0)
    for most in (0.1, 1.0, 2.5):
        values = np.sort(rng.random(6))[::-1]
        x = cvxpy.Variable(6, nonneg=True)
        cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - values)), [cvxpy.sum(x) <= most]).solve(cvxpy.CLARABEL)
        np.testing.assert_allclose(nearest_within(values, most), x.value, atol=1e-6)


def test_trace_must_be_positive(ratings):
    with pytest.raises(ValueError, match="trace must be a positive number, found 0"):
        rf.TraceBounded(trace=0).fit(ratings)
