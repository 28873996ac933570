"""The convex models side by side: time to a certified gap, distance to the optimum against time, test errors.

    python -m benchmarks convex [--data FOLDER] [--threads 2] [--penalties 40,14] [--gap 1e-3] [--seconds 120]
                                [--only soft-impute] [--picture convex.png] [--part gap|dense|errors]

gap     MovieLens 1M, 80/20 by user, raw ratings, cold start: seconds of `fit` until the relative duality gap is proved
        to be at most `--gap`, for every convex model; J − J* against time as a picture, J* being that of a solution
        with a tenth of that gap. Models with a bound on the trace norm get that of the same solution: their J is the
        loss plus λ times the bound.
dense   MovieLens 100K: the same J by soft-impute on the dense matrix, as it is usually written, beside two of ours, and
        the memory that each allocates at its peak.
errors  MovieLens 1M, `--seeds` splits 80/20 by rating: clipped test RMSE for raw ratings and for the bias offset, with
        constant weights and by count, with the penalty that is best on a tenth of the training ratings, and beside it
        the lowest for any of the penalties tried.
"""

import argparse
import time
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.data import datasets
from rankfill.models.convex.model import BoundedModel, TraceNormModel
from rankfill.plots.style import COLOURS, finish, little_ink

ERRORS = {
    "raw ratings": ({"offset": "none"}, (18.0, 16.0, 14.0, 12.5)),
    "bias offset": ({"offset": "bias"}, (26.0, 22.0, 19.0, 16.0)),
    "bias offset, by count": ({"offset": "bias", "weighting": "count"}, (14.0, 12.0, 10.0, 8.0)),
    "raw ratings, by count": ({"offset": "none", "weighting": "count"}, (14.0, 12.0, 11.0, 10.0)),
}


def solvers(only: str) -> dict[str, type[TraceNormModel]]:
    return {name: cls for name, cls in rf.MODELS.items() if issubclass(cls, TraceNormModel) and only in name}


def time_to_gap(train: rf.Ratings, penalty: float, goal: float, seconds: float, only: str, picture: Path) -> None:
    print(f"\nλ = {penalty:g}: until the gap is proved to be at most {goal:g}")
    print("| model | seconds | CPU seconds | passes | rank | proved gap |\n|---|---|---|---|---|---|")
    solved = rf.TraceTradeoff(penalty=penalty, offset="none", gap=goal / 10, tol=None, passes=100).fit(train)
    best = rf.certificate(solved, train)
    curves = {}
    for name, cls in solvers(only).items():
        bounded = issubclass(cls, BoundedModel)
        given = {"trace": best.trace_norm} if bounded else {"penalty": penalty}
        model = cls(offset="none", gap=goal, tol=None, passes=10_000, **given)
        times = timed(partial(model.fit, train, callbacks=[rf.TimeBudget(seconds)]))[1:]
        gap = min(rf.certificate(model, train).relative_gap, model.history_[-1].gap or np.inf)
        row = f"{times[0]:.1f} | {times[1]:.1f} | {len(model.history_)} | {model.rank_} | {gap:.1e}"
        print(f"| {name} | {row} |", flush=True)
        beside = penalty * best.trace_norm if bounded else 0.0
        distances = [(report.objective + beside) / best.primal - 1 for report in model.history_]
        curves[name] = [report.seconds for report in model.history_], distances
    draw(curves, penalty, picture)


def draw(curves: dict[str, tuple[list[float], list[float]]], penalty: float, picture: Path) -> None:
    figure = Figure(figsize=(7.5, 4.2), dpi=150, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
        axes.plot(*curve, color=colour, label=name)
    little_ink(axes, "seconds")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(f"J − J*, relative, λ = {penalty:g}", loc="left", fontsize=10, fontweight="bold")
    axes.legend(frameon=False)
    finish(figure, picture.with_stem(f"{picture.stem}-{penalty:g}"))


def dense_soft_impute(table: np.ndarray, penalty: float, goal: float, seconds: float) -> tuple[int, float]:
    """Fill in, decompose, shrink, until J is at most `goal` or time is up; how many steps that took, and the last J."""
    known, w, until = ~np.isnan(table), np.zeros(table.shape), time.perf_counter() + seconds
    objective, step = np.inf, 0
    while objective > goal and time.perf_counter() < until:
        u, values, vt = np.linalg.svd(np.where(known, table, w), full_matrices=False)
        shrunk = np.maximum(values - penalty, 0)
        w = (u * shrunk) @ vt
        objective, step = 0.5 * np.sum((table[known] - w[known]) ** 2) + penalty * shrunk.sum(), step + 1
    return step, float(objective)


def beside_dense(seconds: float, penalty: float = 20.0) -> None:
    train, _ = rf.split(datasets.movielens("100k").ratings, test=0.2, seed=0)
    table = np.full(train.shape, np.nan)
    table[train.user_indices, train.item_indices] = train.values
    print(f"\nMovieLens 100K, λ = {penalty:g}; the dense algorithm has {seconds:g} s")
    print("| | seconds | CPU seconds | steps | J | peak MB |\n|---|---|---|---|---|---|")
    rf.SoftImpute(passes=1).fit(train)  # imports what it needs
    objective = np.inf
    for name in ("TraceTradeoff", "SoftImpute", "dense"):
        tracemalloc.start()
        if name == "dense":
            solve = partial(dense_soft_impute, table, penalty, objective, seconds)
        else:
            solve = partial(solve_to, getattr(rf, name), penalty, train)
        (steps, objective), *times = timed(solve)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {steps} | {objective:.2f} | {peak:.0f} |", flush=True)


def solve_to(cls: type[TraceNormModel], penalty: float, train: rf.Ratings) -> tuple[int, float]:
    """How many passes it took, and the last J."""
    history = cls(penalty=penalty, offset="none", gap=1e-3, tol=None, passes=5000).fit(train).history_
    return len(history), history[-1].objective


def best_errors(ratings: rf.Ratings, seeds: int, only: str) -> None:
    print("\nClipped test RMSE, TraceTradeoff")
    print("| | split | λ | rank | RMSE | best λ | lowest RMSE |\n|---|---|---|---|---|---|---|")
    for words, (settings, penalties) in ((words, row) for words, row in ERRORS.items() if only in words):
        model, errors = rf.TraceTradeoff(tol=1e-4, **settings), []
        for seed in range(seeds):
            train, test = rf.split(ratings, test=0.2, by="entry", seed=seed)
            part, held_out = rf.split(train, test=0.1, by="entry", seed=1)
            chosen = rf.path(model, part, penalties, held_out).best.penalty
            steps = {step.penalty: step for step in rf.path(model, train, penalties, test)}
            ours, lowest = steps[chosen], min(steps.values(), key=lambda step: step.validation or np.inf)
            errors.append((ours.validation, lowest.validation))
            row = f"{chosen:g} | {ours.rank} | {ours.validation:.4f} | {lowest.penalty:g} | {lowest.validation:.4f}"
            print(f"| {words} | {seed} | {row} |", flush=True)
        chosen_mean, lowest_mean = np.mean(errors, axis=0)
        print(f"| {words} | mean | | | {chosen_mean:.4f} | | {lowest_mean:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--penalties", default="40,14")
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=120.0, help="the most each model of a comparison may learn")
    parser.add_argument("--only", default="", help="models, or rows of the errors, whose name has this in it")
    parser.add_argument("--picture", type=Path, default=Path("build/convex.png"))
    parser.add_argument("--seeds", type=int, default=3, help="splits of the errors")
    parser.add_argument("--part", choices=["gap", "dense", "errors"], action="append", help="default: all three")
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    parts = arguments.part or ["gap", "dense", "errors"]
    if "dense" in parts:
        beside_dense(arguments.seconds)
    if {"gap", "errors"} & set(parts):
        ratings = datasets.movielens("1m", path=arguments.data).ratings
    if "gap" in parts:
        train, _ = rf.split(ratings, test=0.2, by="user", seed=0)
        for penalty in map(float, arguments.penalties.split(",")):
            time_to_gap(train, penalty, arguments.gap, arguments.seconds, arguments.only, arguments.picture)
    if "errors" in parts:
        best_errors(ratings, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
