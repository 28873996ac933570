"""The comparisons of Xin and Jaakkola (AISTATS 2012): test error against seconds of learning and against rank.

    python -m benchmarks primal_dual rivals --data 1m --penalty 40   Figure 1: primal–dual (newest), Jaggi–Sulovský
    python -m benchmarks primal_dual geco                            Figure 3: primal–dual (retighten), GECO, half of 1M

The bound of Jaggi and Sulovský is `--trace`, or the trace norm of the solution at the same penalty, found first by
`TraceTradeoff`. `--plot` draws both.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankfill as rf
from rankfill.data import Ratings, datasets, split, synthetic

Curve = list[tuple[int, float, float]]
"""Rank, seconds of learning, error on the test ratings."""


def curve_of(model: rf.Model, train: Ratings, test: Ratings, most: int) -> Curve:
    """One point per pass, up to so high a rank or, where the rank stands still, so many passes."""
    curve: Curve = []

    def note(report: rf.EpochReport) -> bool:
        rank = int(np.any(model.user_factors_ != 0, axis=0).sum())
        curve.append((rank, report.seconds, report.validation or np.nan))
        return rank >= most

    model.fit(train, validation=test, callbacks=[note])
    return curve


def rivals(data: str, penalty: float, most: int, trace: float | None) -> dict[str, Curve]:
    """Figure 1."""
    ratings = synthetic.like("movielens-10m", seed=0) if data == "like-10m" else datasets.movielens(data).ratings
    train, test = split(ratings, test=0.2, by="user", seed=0)
    common = {"offset": "none", "tol": None, "passes": most}
    if trace is None:
        trace = trace_at(penalty, train)
    return {
        "primal–dual, newest": curve_of(rf.PrimalDual(penalty=penalty, schedule="newest", **common), train, test, most),
        "Jaggi–Sulovský": curve_of(rf.JaggiSulovsky(trace=trace, **common), train, test, most),
    }


def trace_at(penalty: float, train: Ratings) -> float:
    """The trace norm of a solution whose objective has come to a stand."""
    solved = rf.TraceTradeoff(penalty=penalty, offset="none", tol=1e-3, passes=30).fit(train)
    trace = float(np.linalg.norm(solved.user_factors_.astype(np.float64)) ** 2)
    print(f"trace norm {trace:.6g} at penalty {penalty:g}, {solved.history_[-1].seconds:.1f} s")
    return trace


def geco(penalty: float, most: int) -> dict[str, Curve]:
    """Figure 3: half of MovieLens 1M, and rank by rank."""
    train, test = split(datasets.movielens("1m").ratings, test=0.5, by="entry", seed=0)
    curves: dict[str, Curve] = {"primal–dual, retighten": [], "GECO": []}
    for rank in range(1, most + 1):
        model = rf.PrimalDual(penalty=penalty, max_rank=rank, offset="none", passes=8, tol=None)
        curves["primal–dual, retighten"].append(curve_of(model, train, test, most + 1)[-1])
    greedy = rf.GECO(rank=most, penalty=1e-3, offset="none", passes=most, tol=None)
    curves["GECO"] = curve_of(greedy, train, test, most + 1)
    return curves


def draw(curves: dict[str, Curve], path: Path) -> None:
    figure, (by_time, by_rank) = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for name, curve in curves.items():
        ranks, seconds, errors = zip(*curve, strict=True)
        by_time.plot(seconds, errors, label=name)
        by_rank.plot(ranks, errors, label=name)
    by_time.set(xlabel="seconds of learning", ylabel="RMSE on the test ratings")
    by_rank.set(xlabel="rank")
    by_rank.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=["rivals", "geco"])
    parser.add_argument("--data", default="1m", help="100k, 1m, 10m or like-10m (synthetic)")
    parser.add_argument("--penalty", type=float)
    parser.add_argument("--rank", type=int, help="the most")
    parser.add_argument("--trace", type=float, help="the bound of Jaggi and Sulovský, where it is known")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    if given.figure == "rivals":
        curves = rivals(given.data, given.penalty or 40.0, given.rank or 50, given.trace)
    else:
        curves = geco(given.penalty or 10.0, given.rank or 9)
    for name, curve in curves.items():
        print(f"{name}\n  rank  seconds  test RMSE")
        for rank, seconds, error in curve[:: max(1, len(curve) // 10)] + curve[-1:]:
            print(f"  {rank:4d}  {seconds:7.2f}  {error:.4f}")
    if given.plot:
        draw(curves, given.plot)


if __name__ == "__main__":
    main()
