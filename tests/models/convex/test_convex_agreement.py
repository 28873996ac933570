"""Solvers that share an objective agree on its optimum, each with a proof; a warm path leads where cold starts lead."""

import numpy as np
import pytest

import rankfill as rf

SOLVERS = {
    "trace trade-off": rf.TraceTradeoff(passes=300),
    "soft-impute": rf.SoftImpute(passes=3000),
    "primal–dual": rf.PrimalDual(passes=300),
}


def agree(ratings, penalty, gap):
    settings = {"penalty": penalty, "offset": "none", "gap": gap, "tol": None}
    fitted = {name: type(model)(**model.get_params() | settings).fit(ratings) for name, model in SOLVERS.items()}
    last = {name: model.history_[-1] for name, model in fitted.items()}
    assert all(report.gap <= gap for report in last.values())
    best = min(report.objective for report in last.values())
    assert {name: report.objective for name, report in last.items()} == pytest.approx(
        dict.fromkeys(last, best), rel=1e-5
    )
    proof = rf.certificate(fitted["trace trade-off"], ratings)
    assert proof.relative_gap <= 1.1 * gap
    bounded = rf.TraceBounded(trace=proof.trace_norm, offset="none", tol=1e-8, passes=300).fit(ratings)
    assert bounded.history_[-1].objective + penalty * proof.trace_norm == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("share", [0.07, 0.12, 0.3])
def test_solvers_agree(share):
    ratings = rf.synthetic.low_rank(90, 60, 1500, seed=3)
    agree(ratings, share * rf.SoftImpute(offset="none").largest_penalty(ratings), 1e-5)


@pytest.mark.data
@pytest.mark.parametrize("penalty", [15.0, 25.0, 40.0])
def test_solvers_agree_on_movielens(data_folder, penalty):
    agree(rf.split(rf.datasets.movielens("100k").ratings, test=0.2, seed=0)[0], penalty, 1e-4)


def test_warm_path_of_the_trade_off_ends_where_cold_starts_do_in_fewer_passes():
    ratings = rf.synthetic.low_rank(90, 60, 1500, seed=3)
    settings = {"offset": "mean", "gap": 1e-5, "tol": None, "passes": 300}
    warm, passes = None, {"warm": 0, "cold": 0}
    largest = rf.TraceTradeoff(offset="mean").largest_penalty(ratings)
    for share in np.geomspace(0.3, 0.03, 8):
        cold = rf.TraceTradeoff(penalty=share * largest, **settings).fit(ratings)
        warm = rf.TraceTradeoff(penalty=share * largest, **settings).fit(ratings, init=warm)
        passes["warm"] += len(warm.history_)
        passes["cold"] += len(cold.history_)
        assert warm.history_[-1].objective == pytest.approx(cold.history_[-1].objective, rel=1e-5)
        assert warm.history_[-1].gap <= 1e-5
    assert passes["warm"] <= 0.8 * passes["cold"]
