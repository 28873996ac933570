"""Every experiment of `rankfill reproduce`, on little data: what it finds has the shape that its document claims."""

import csv
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rankfill.experiments.catalogue import experiments, run
from rankfill.experiments.frame import Asked, Result
from rankfill.experiments.report import write

Rows = list[dict[str, Any]]
CHECKS: dict[str, Callable[[Result], None]] = {}


def checks(name: str) -> Callable[[Callable[[Result], None]], Callable[[Result], None]]:
    def keep(check: Callable[[Result], None]) -> Callable[[Result], None]:
        CHECKS[name] = check
        return check

    return keep


def own(rows: Any, **wanted: Any) -> Rows:
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    assert found, f"no row with {wanted}"
    return found


def column(rows: Any, key: str) -> np.ndarray:
    return np.array([row[key] for row in rows], dtype=float)


def test_every_experiment_has_a_check_of_its_shape():
    assert len(experiments()) >= 18
    assert set(CHECKS) == set(experiments())


@pytest.mark.filterwarnings("default")  # a quick run may stop before it has converged, and says so
@pytest.mark.parametrize("name", experiments())
def test_experiment_finds_what_its_document_claims(name, tmp_path, monkeypatch):
    monkeypatch.delenv("RANKFILL_DATA", raising=False)
    result = run(name, Asked(quick=True))
    CHECKS[name](result)
    report = write(name, experiments()[name], result, tmp_path / name, f"rankfill reproduce {name} --quick", 1.0)
    text = report.read_text(encoding="utf-8")
    assert text.startswith("Data: synthetic")
    assert "| paper | ours | remark |" in text
    assert len(result.lines) >= 2
    assert result.figures, "every experiment leaves a picture"
    for picture, figure in result.figures.items():
        assert 1000 < (report.parent / f"{picture}.png").stat().st_size <= 100_000
        for axes in figure.axes:
            assert axes.images or axes.get_xlabel() or axes.get_ylabel(), f"{picture} has a panel without names"
    for table, rows in result.records.items():
        with (report.parent / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(rows) > 0


@checks("broyden-convergence")
def _(result):
    """Fewer columns for the same error: OMF-B is lower from the first round on."""
    broyden, gradient = (own(result.records["curves"], method=name) for name in ("OMF-B", "SGMF"))
    assert list(column(broyden, "columns")) == list(column(gradient, "columns"))
    assert (column(broyden, "error") < column(gradient, "error")).all()
    assert column(broyden, "error")[-1] < 0.5 * column(broyden, "error")[0]


@checks("broyden-faces")
def _(result):
    ratios = {row["method"]: row["SNR of the missing"] for row in result.records["ratios"]}
    assert ratios["missing pixels black"] == pytest.approx(0, abs=1e-6)
    assert min(ratios["Broyden"], ratios["NMF"]) > 15
    assert ratios["Broyden"] > ratios["SGMF"]


@checks("fava-tables")
def _(result):
    """The farther from where parameters were found, the more FAVA is ahead; the bound does worst."""
    matrices, whole = result.records["tables-1-and-2"], result.records["tables-3-and-4"]
    assert (np.diff(column(matrices, "ratings")) > 0).all()
    errors = {row["method"]: row["RMSE"] for row in reversed(whole) if row["size"] == 1}
    assert errors["FAVA"] < errors["TTF"] < errors["TBF"]
    largest = matrices[-1]
    assert largest["FAVA"] < largest["TTF"] < largest["TBF"]
    assert largest["TTF tuned there"] < largest["TTF"]
    assert largest["TBF tuned there"] < largest["TBF"]
    assert (np.diff(column(matrices, "γ")) >= 0).all()
    assert column(matrices, "γ")[-1] > column(matrices, "γ")[0]


@checks("nnpa-budget")
def _(result):
    """More passes, less error; coordinate descent leaves the sparsest Q."""
    rows = result.records["table-2"]
    for method in ("NN-PA-I", "SGD", "CD"):
        means = [column(own(rows, method=method, passes=passes), "error").mean() for passes in (1, 3, 5)]
        assert means[0] > means[1] > means[2]
    zeros = {name: column(own(rows, method=name, passes=5), "non-zeros in Q, %").mean() for name in ("NN-PA-I", "CD")}
    assert zeros["CD"] < zeros["NN-PA-I"] - 10
    assert len(own(rows, method="CD", passes=1)) == 2


@checks("nnpa-regret")
def _(result):
    """No regret above its bound, at any number of rounds; the bound grows slower than the rounds."""
    rows = result.records["regret"]
    assert (column(rows, "regret") <= column(rows, "bound")).all()
    assert (column(rows, "regret") > 0).any()
    for statement in {row["statement"] for row in rows}:
        curve = own(rows, statement=statement, root="exact")
        per_round = column(curve, "bound") / column(curve, "rounds")
        assert per_round[-1] < per_round[0]


@checks("nnpa-solvers")
def _(result):
    """All three alike for a small C; for a large one solving exactly does not help."""
    rows = result.records["curves"]
    last = max(row["pass"] for row in rows)

    def error(size: str, root: str) -> float:
        return float(column(own(rows, **{"C": size, "root": root, "pass": last}), "error").mean())

    small = [error("small", root) for root in ("exact", "published-bisection", "approximate")]
    assert max(small) - min(small) < 0.05
    assert error("large", "exact") == pytest.approx(error("large", "published-bisection"), abs=0.05)
    assert error("large", "exact") > error("large", "approximate") - 0.1
    assert error("large", "approximate") > max(small)


@checks("nnpa-topics")
def _(result):
    purity = {row["topics of"]: row["purity"] for row in result.records["purity"]}
    chance = purity["items drawn by their number of ratings"]
    assert purity["NN-PA-I as published"] > chance + 0.2
    assert purity["topics of the ratings (rf.topics)"] > purity["NN-PA-I as published"]
    shown = result.records["topics"]
    assert {row["place"] for row in shown} == {1, 2, 3, 4, 5}
    assert all(row["title"] and row["genres"] for row in shown)


@checks("nnpa-vs-pa")
def _(result):
    """Alike at the best C; a C too large costs NN-PA-I less."""
    rows = result.records["errors"]
    caps = sorted({row["C"] for row in rows})
    curves = {
        name: [column(own(rows, method=name, C=cap), "error").mean() for cap in caps] for name in ("NN-PA-I", "PA-I")
    }
    assert min(curves["NN-PA-I"]) == pytest.approx(min(curves["PA-I"]), rel=0.05)
    assert curves["NN-PA-I"][-1] < curves["PA-I"][-1]
    assert min(curves["NN-PA-I"]) < min(curves["NN-PA-I"][0], curves["NN-PA-I"][-1])


@checks("primal-dual-geco")
def _(result):
    """At every rank the error of the primal–dual method is the lower one."""
    primal, greedy = (
        {row["rank"]: row["test RMSE"] for row in own(result.records["curves"], method=name)}
        for name in ("PD, all terms tightened", "GECO")
    )
    assert list(greedy) == [1, 2, 3, 4]
    common = set(primal) & set(greedy)
    assert len(common) >= 3
    assert all(primal[rank] < greedy[rank] for rank in common)
    assert all(np.diff(list(greedy.values())) < 0)


@checks("primal-dual-js")
def _(result):
    """Test error, training error and objective are lower at every rank."""
    primal, rival = (own(result.records["curves"], method=name) for name in ("PD, newest term", "JS"))
    for key in ("test RMSE", "train RMSE", "J"):
        assert (column(primal, key) < column(rival, key)).all()
    assert (np.diff(column(primal, "J")) <= 1e-6 * column(primal, "J")[:-1]).all()


@checks("primal-dual-nmf")
def _(result):
    """The convex method ends nearer to what no matrix gets below, spreads less over starts, and has exact zeros."""
    convex, plain = (own(result.records["starts"], method=name) for name in ("PD, non-negative", "multiplicative NMF"))
    bound = float(result.lines[0].ours)
    assert column(convex, "objective").min() >= bound * (1 - 1e-6)
    assert column(convex, "objective").max() < column(plain, "objective").min()
    assert np.ptp(column(convex, "objective")) < np.ptp(column(plain, "objective"))
    assert column(convex, "zeros, %").min() > 1
    assert column(plain, "zeros, %").max() < column(convex, "zeros, %").min()


@checks("records")
def _(result):
    errors = {row["method"]: row["RMSE"] for row in own(result.records["records"], whose="ours")}
    assert errors["BayesianMF"] < errors["SGD"] < errors["Bias"]


@checks("slides-biases-knn")
def _(result):
    """Each effect removed helps, and the best neighbours are better than any bias."""
    rows = {row["recipe"]: row["rmse"] for row in result.records["recipes"]}
    both = rows["item mean + user's deviation"]
    assert both < min(rows["item mean"], rows["user mean"]) < max(rows["item mean"], rows["user mean"])
    assert max(rows["item mean"], rows["user mean"]) < rows["global mean"]
    assert rows["item mean + user's deviation, shrunk (α = 5)"] < both
    neighbours = column(own(result.records["recipes"], family="k-NN"), "rmse")
    assert neighbours.min() < column(own(result.records["recipes"], family="bias"), "rmse").min()
    assert rows["items, Pearson shrunk by support, similarity weights"] < rows["items, pearson, similarity weights"]


@checks("slides-inpainting")
def _(result):
    for picture in ("35 % seen", "writing"):
        ratio = {row["method"]: row["PSNR"] for row in own(result.records["ratios"], picture=picture)}
        assert ratio["factor-analysis"] > ratio["soft-impute"] > ratio["damaged"] + 5


@checks("slides-phase-transition")
def _(result):
    """More entries never hurt, a higher rank never helps; nothing is recovered below the degrees of freedom."""
    rows = result.records["recovery"]
    n = 20
    for rank in {row["rank"] for row in rows}:
        assert (np.diff(column(own(rows, rank=rank), "recovered")) >= 0).all()
    for share in {row["share"] for row in rows}:
        assert (np.diff(column(own(rows, share=share), "recovered")) <= 0).all()
    below = [row["recovered"] for row in rows if row["entries"] < row["rank"] * (2 * n - row["rank"])]
    assert below
    assert max(below) == 0
    assert max(row["recovered"] for row in rows) == 1
    assert column(rows, "largest proved gap").max() < 0.05


@checks("slides-rates")
def _(result):
    """Variance reduction is linear and fast; the others are orders of magnitude behind."""
    rows = result.records["rates"]
    for problem in ("ridge", "logistic"):
        left = {
            solver: column(own(rows, problem=problem, solver=solver), "suboptimality")
            for solver in ("gd", "sgd", "asgd", "sag", "saga", "svrg")
        }
        for solver in ("sag", "saga", "svrg"):
            assert left[solver][-1] < 1e-6
        for solver in ("gd", "sgd", "asgd"):
            assert left[solver][-1] > 1e3 * max(left[fast][-1] for fast in ("sag", "saga", "svrg"))
        assert (np.diff(left["gd"]) < 0).all()
        assert left["asgd"][-1] < left["sgd"][-1]


@checks("slides-streaming-cv")
def _(result):
    """All ways choose the same λ, and their errors agree."""
    rows = result.records["errors"]
    curves = {way: column(own(rows, way=way), "error") for way in ("V-fold", "place", "pair")}
    assert len({int(np.argmin(curve)) for curve in curves.values()}) == 1
    for way in ("place", "pair"):
        np.testing.assert_allclose(curves[way], curves["V-fold"], rtol=0.01)


@checks("slides-svd")
def _(result):
    distances = {row["model"]: row["distance"] for row in result.records["distances"]}
    assert len(distances) >= 7
    assert distances.pop("SGD") < 1e-2  # its steps must fall for it to come to rest
    assert max(distances.values()) < 1e-4


def test_names_are_checked():
    with pytest.raises(ValueError, match="there is no experiment 'nnpa'; choose one of broyden-convergence"):
        run("nnpa", Asked(quick=True))
    with pytest.raises(ValueError, match="there is no data set 'movielens'; choose one of ml-100k"):
        run("nnpa-solvers", Asked(dataset="movielens", quick=True))
