"""Every convex model with every offset and weighting, against a general solver of the same problem."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf

PENALTY = 0.4
NEAR = {"frank-wolfe": 0.07, "primal-dual, full": 0.02}
"""How near the optimum they get, which is slow by nature for these two; 1e-4 unless said here."""
PENALISED = {
    "soft-impute": rf.SoftImpute(passes=2000),
    "soft-impute, plain": rf.SoftImpute(accelerated=False, passes=4000),
    "trade-off": rf.TraceTradeoff(passes=100),
    "primal-dual": rf.PrimalDual(passes=300),
    "primal-dual, full": rf.PrimalDual(schedule="full", passes=30),
    "primal-dual, absolute": rf.PrimalDual(loss="absolute", passes=200),
    "primal-dual, huber": rf.PrimalDual(loss="huber", epsilon=0.3, passes=200),
}
BOUNDED = {"bounded": rf.TraceBounded(passes=300), "frank-wolfe": rf.JaggiSulovsky(passes=600)}

everywhere = [
    pytest.mark.parametrize("offset", ["none", "mean", "bias"]),
    pytest.mark.parametrize("weighting", ["constant", "count"]),
]


@pytest.fixture
def ratings():
    """15 × 10 with 60 ratings, an empty row and an empty column."""
    rng = np.random.default_rng(4)
    dense = 3 + rng.normal(size=(15, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(15, 10))
    dense[rng.random((15, 10)) > 0.45] = np.nan
    dense[7], dense[:, 4] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


class Oracle:
    """The problem in terms of cvxpy."""

    def __init__(self, ratings, offset, weighting):
        values = ratings.values.astype(float)
        if offset == "mean":
            values = values - values.mean()
        elif offset == "bias":
            values = values - rf.Bias(clip=False).fit(ratings).predict(
                ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
            )
        counts = ratings.by_user.counts(), ratings.by_item.counts()
        by_count = [np.sqrt(each / each[each > 0].mean()) for each in counts]
        weights = by_count if weighting == "count" else [np.ones(n) for n in ratings.shape]
        self.W = cvxpy.Variable(ratings.shape)
        self.trace_norm = cvxpy.normNuc(cvxpy.multiply(np.outer(*weights), self.W))
        errors = values - self.W[ratings.user_indices, ratings.item_indices]
        self.losses = {
            "squared": 0.5 * cvxpy.sum_squares(errors),
            "absolute": cvxpy.norm1(errors),
            "huber": 0.5 * cvxpy.sum(cvxpy.huber(errors, 0.3)),
        }

    def penalised(self, loss="squared", penalty=PENALTY):
        problem = cvxpy.Problem(cvxpy.Minimize(self.losses[loss] + penalty * self.trace_norm))
        return problem.solve(solver=cvxpy.CLARABEL)

    def bounded(self, trace):
        problem = cvxpy.Problem(cvxpy.Minimize(self.losses["squared"]), [self.trace_norm <= trace])
        return problem.solve(solver=cvxpy.CLARABEL)


def solved(model, ratings, **settings):
    return type(model)(**model.get_params() | {"gap": 1e-5, "tol": None} | settings).fit(ratings)


def holds(model, ratings, best, near):
    """The objective is the best possible; history and certificate agree on that, neither claims too much."""
    last, proof = model.history_[-1], rf.certificate(model, ratings)
    assert best * (1 - 1e-5) <= last.objective <= best * (1 + near)
    assert proof.primal <= last.objective * (1 + 1e-5)
    assert proof.primal >= best * (1 - 1e-5)
    assert proof.dual <= best * (1 + 1e-5)
    assert last.objective * (1 - last.gap) <= best * (1 + 1e-5)


@pytest.mark.parametrize("name", PENALISED)
@everywhere[0]
@everywhere[1]
def test_penalised_optimum_is_that_of_a_general_solver(ratings, name, offset, weighting):
    model = PENALISED[name]
    loss = model.get_params().get("loss", "squared")
    best = Oracle(ratings, offset, weighting).penalised(loss)
    fitted = solved(model, ratings, penalty=PENALTY, offset=offset, weighting=weighting)
    assert fitted.rank_ > 0
    holds(fitted, ratings, best, NEAR.get(name, 1e-4))


@pytest.mark.parametrize("name", BOUNDED)
@everywhere[0]
@everywhere[1]
def test_bounded_optimum_is_that_of_a_general_solver(ratings, name, offset, weighting):
    oracle = Oracle(ratings, offset, weighting)
    oracle.penalised(penalty=1.5)
    trace = float(oracle.trace_norm.value)
    fitted = solved(BOUNDED[name], ratings, trace=trace, offset=offset, weighting=weighting)
    holds(fitted, ratings, oracle.bounded(trace), NEAR.get(name, 1e-4))
    assert rf.certificate(fitted, ratings).trace_norm <= trace * (1 + 1e-5)


@pytest.mark.parametrize("model", [rf.TraceBounded(), rf.JaggiSulovsky()], ids=["bounded", "frank-wolfe"])
def test_bound_that_holds_nothing_back_leaves_rows_to_fold_in(ratings, model):
    """Every rating is met, so that the penalty of a row is next to nothing."""
    fitted = solved(model, ratings, trace=1e4, offset="none", passes=300)
    assert np.isfinite(fitted.fold_in(ratings)).all()
