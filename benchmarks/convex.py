"""The convex models side by side: time to a certified gap, distance to the optimum against time, test errors.

    python -m benchmarks.convex [--data FOLDER] [--threads 2] [--penalties 40,14] [--gap 1e-3] [--seconds 120]
                                [--only soft-impute] [--picture convex.png] [--part gap|dense|errors]

gap     MovieLens 1M, 80/20 by user, raw ratings, cold start: seconds of `fit` until the relative duality gap is proved
        to be at most `--gap`, for every trace-norm model that has a penalty; J − J* against time as a picture, J* being
        the largest lower bound that any of them proves.
dense   MovieLens 100K: the same J by soft-impute on the dense matrix, as it is usually written, beside SoftImpute, with
        the memory that each allocates at its peak.
errors  MovieLens 1M: clipped test RMSE for raw ratings, bias offset and weighting by count, with the penalty that is
        best on a tenth of each user's training ratings, and beside it the lowest for any of the penalties tried.
"""

import argparse
import time
import tracemalloc
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.data import datasets
from rankfill.models.trace_norm import TraceNormModel
from rankfill.plots import COLOURS, little_ink, saved

ERRORS = {
    "raw ratings": ({"offset": "none"}, (18.0, 16.0, 14.0, 12.5)),
    "bias offset": ({"offset": "bias"}, (26.0, 22.0, 19.0, 16.0)),
    "bias offset, by count": ({"offset": "bias", "weighting": "count"}, (14.0, 12.0, 10.0, 8.0)),
}


def solvers(only: str) -> dict[str, type[TraceNormModel]]:
    return {
        name: cls
        for name, cls in rf.MODELS.items()
        if issubclass(cls, TraceNormModel) and cls.convex and "penalty" in cls().get_params() and only in name
    }


def time_to_gap(train: rf.Ratings, penalty: float, goal: float, seconds: float, only: str, picture: Path) -> None:
    print(f"\nλ = {penalty:g}: until the gap is proved to be at most {goal:g}")
    print("| model | seconds | CPU seconds | passes | rank | proved gap |\n|---|---|---|---|---|---|")
    histories, bound = {}, 0.0
    for name, cls in solvers(only).items():
        model = cls(penalty=penalty, offset="none", gap=goal, tol=None, passes=10_000)
        began, cpu = time.perf_counter(), time.process_time()
        model.fit(train, callbacks=[rf.TimeBudget(seconds)])
        times = time.perf_counter() - began, time.process_time() - cpu
        proof = rf.certificate(model, train)
        histories[name], bound = model.history_, max(bound, proof.dual)
        gap = min(proof.relative_gap, model.history_[-1].gap or np.inf)
        row = f"{times[0]:.1f} | {times[1]:.1f} | {len(model.history_)} | {model.rank_} | {gap:.1e}"
        print(f"| {name} | {row} |", flush=True)
    draw(histories, bound, penalty, picture)


def draw(histories: dict[str, list[rf.EpochReport]], bound: float, penalty: float, picture: Path) -> None:
    figure = Figure(figsize=(7.5, 4.2), dpi=150, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for (name, history), colour in zip(histories.items(), COLOURS, strict=False):
        distances = [report.objective / bound - 1 for report in history]
        axes.plot([report.seconds for report in history], distances, color=colour, label=name)
    little_ink(axes, "seconds")
    axes.set_yscale("log")
    axes.set_title(f"J − J*, relative, λ = {penalty:g}", loc="left", fontsize=10, fontweight="bold")
    axes.legend(frameon=False)
    saved(figure, picture.with_stem(f"{picture.stem}-{penalty:g}"))


def dense_soft_impute(table: np.ndarray, penalty: float, goal: float) -> int:
    """Fill in, decompose, shrink, until J is at most `goal`; how many steps that took."""
    known, w = ~np.isnan(table), np.zeros(table.shape)
    for step in range(1, 100_000):
        u, values, vt = np.linalg.svd(np.where(known, table, w), full_matrices=False)
        shrunk = np.maximum(values - penalty, 0)
        w = (u * shrunk) @ vt
        if 0.5 * np.sum((table[known] - w[known]) ** 2) + penalty * shrunk.sum() <= goal:
            return step
    raise RuntimeError("the dense algorithm did not get there")


def beside_dense(penalty: float = 20.0) -> None:
    train, _ = rf.split(datasets.movielens("100k").ratings, test=0.2, seed=0)
    table = np.full(train.shape, np.nan)
    table[train.user_indices, train.item_indices] = train.values
    print(f"\nMovieLens 100K, λ = {penalty:g}\n| | seconds | CPU seconds | steps | peak MB |\n|---|---|---|---|---|")
    model = rf.SoftImpute(penalty=penalty, offset="none", gap=1e-3, tol=None, passes=5000)
    for name in ("SoftImpute", "dense"):
        tracemalloc.start()
        began, cpu = time.perf_counter(), time.process_time()
        if name == "dense":
            steps = dense_soft_impute(table, penalty, model.history_[-1].objective)
        else:
            steps = len(model.fit(train).history_)
        times = time.perf_counter() - began, time.process_time() - cpu
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {steps} | {peak:.0f} |", flush=True)


def best_errors(train: rf.Ratings, test: rf.Ratings) -> None:
    part, held_out = rf.split(train, test=0.1, by="user", seed=1)
    print("\nClipped test RMSE, TraceTradeoff\n| | λ | rank | RMSE | best λ | lowest RMSE |\n|---|---|---|---|---|---|")
    for words, (settings, penalties) in ERRORS.items():
        model = rf.TraceTradeoff(tol=1e-4, **settings)
        chosen = rf.path(model, part, penalties, held_out).best.penalty
        steps = {step.penalty: step for step in rf.path(model, train, penalties, test)}
        ours, lowest = steps[chosen], min(steps.values(), key=lambda step: step.validation or np.inf)
        row = f"{chosen:g} | {ours.rank} | {ours.validation:.4f} | {lowest.penalty:g} | {lowest.validation:.4f}"
        print(f"| {words} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--penalties", default="40,14")
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=120.0, help="the most each model may learn")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--picture", type=Path, default=Path("build/convex.png"))
    parser.add_argument("--part", choices=["gap", "dense", "errors"], action="append", help="default: all three")
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    parts = arguments.part or ["gap", "dense", "errors"]
    if "dense" in parts:
        beside_dense()
    if {"gap", "errors"} & set(parts):
        train, test = rf.split(datasets.movielens("1m", path=arguments.data).ratings, test=0.2, by="user", seed=0)
    if "gap" in parts:
        for penalty in map(float, arguments.penalties.split(",")):
            time_to_gap(train, penalty, arguments.gap, arguments.seconds, arguments.only, arguments.picture)
    if "errors" in parts:
        best_errors(train, test)


if __name__ == "__main__":
    main()
