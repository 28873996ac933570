"""Test errors and times of our solvers on MovieLens 1M, each with settings that suit it.

    python -m benchmarks solvers [--data FOLDER] [--threads 2] [--only sgd]

80 % of the ratings train, 20 % test, by user. Predictions are clipped to the range of the ratings. Seconds are those of
`fit`, all of it, by the clock and of all cores (which says more on a busy machine).

How the settings were chosen: those of the named SGD rows on a fifth of the training ratings. The defaults of SGD,
VarianceReduced and GradientDescent (penalty, shrinkage, passes) were chosen by looking at test errors of seven sets,
this split of MovieLens 1M among them, so their rows here flatter them. LIBMF, where it can be imported, has its
penalty, rate and passes chosen on a fifth of the training ratings; the time of that search is not counted.
"""

import argparse
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.data import datasets
from rankfill.objectives import measures

SOLVERS: dict[str, rf.Model] = {
    "Bias": rf.Bias(),
    "SGD, defaults": rf.SGD(),
    "SGD, rank 62": rf.SGD(rank=62, passes=20),
    "SGD, in a hurry": rf.SGD(rank=30, shrinkage=0.0, rate=0.12, passes=13),
    "SGD, non-negative": rf.SGD(rank=62, penalty=0.05, nonnegative="both", biases=False, shrinkage=0.0, passes=30),
    "SGD, non-negative, absolute": rf.SGD(
        rank=62, loss="absolute", nonnegative="both", biases=False, shrinkage=0.0, passes=25
    ),
    "ALS, rank 32, by count": rf.ALS(rank=32, weighting="count", penalty=0.07, passes=15, tol=None),
    "CoordinateDescent": rf.CoordinateDescent(),
    "MultiplicativeNMF": rf.MultiplicativeNMF(),
    "PassiveAggressive, defaults": rf.PassiveAggressive(),
    "PassiveAggressive, quadratic": rf.PassiveAggressive(slack="quadratic"),
    "VarianceReduced, saga": rf.VarianceReduced(),
    "VarianceReduced, svrg": rf.VarianceReduced(method="svrg"),
    "VarianceReduced, sag": rf.VarianceReduced(method="sag"),
    "GradientDescent": rf.GradientDescent(),
}


def measure(train: rf.Ratings, test: rf.Ratings, only: str) -> Iterator[tuple[str, dict[str, float]]]:
    for name, model in SOLVERS.items():
        if only.lower() not in name.lower():
            continue
        _, seconds, cpu = timed(partial(model.fit, train))
        errors = rf.evaluate(model, test)
        yield name, {"rmse": errors["rmse"], "nmae": errors["nmae"], "seconds": seconds, "cpu": cpu}


LIBMF: dict[str, dict[str, Any]] = {
    "LIBMF": {"fun": 0},
    "LIBMF, non-negative": {"fun": 0, "do_nmf": True},
    "LIBMF, non-negative, absolute": {"fun": 1, "do_nmf": True},
}
"""`fun` is its name for the loss: 0 squared, 1 absolute."""
GRID = [(penalty, eta, passes) for penalty in (0.02, 0.05, 0.1) for eta in (0.05, 0.1, 0.2) for passes in (15, 30)]


def libmf(train: rf.Ratings, test: rf.Ratings, threads: int) -> Iterator[tuple[str, dict[str, float]]]:
    """LIBMF where it can be imported: penalty, rate and passes from a grid by a fifth of the training ratings."""
    try:
        from libmf import mf
    except ImportError:
        return

    def fit_each(
        part: rf.Ratings, other: rf.Ratings, rank: int, chosen: tuple[float, float, int], loss: dict[str, Any]
    ):
        penalty, eta, passes = chosen
        table = np.column_stack([part.user_indices, part.item_indices, part.values]).astype(np.float32)
        held: dict[str, Any] = {"lambda_p1": 0.0, "lambda_q1": 0.0, "lambda_p2": penalty, "lambda_q2": penalty}
        engine = mf.MF(
            k=rank, nr_threads=threads, nr_iters=passes, eta=eta, quiet=True, copy_data=False, **held, **loss
        )
        _, seconds, cpu = timed(partial(engine.fit, table))
        predicted = (engine.p_factors()[other.user_indices] * engine.q_factors()[other.item_indices]).sum(axis=1)
        predicted = np.clip(np.nan_to_num(predicted, nan=part.mean()), part.values.min(), part.values.max())
        return {
            "rmse": measures.rmse(other.values, predicted),
            "nmae": measures.nmae(other.values, predicted),
            "seconds": seconds,
            "cpu": cpu,
        }

    part, aside = rf.split(train, test=0.2, by="user", seed=1)
    for name, loss in LIBMF.items():
        measure = "nmae" if loss["fun"] == 1 else "rmse"
        for rank in (32, 64):
            chosen = min(GRID, key=lambda each: fit_each(part, aside, rank, each, loss)[measure])
            title = f"{name}, rank {rank} (penalty {chosen[0]:g}, eta {chosen[1]:g}, {chosen[2]} passes)"
            yield title, fit_each(train, test, rank, chosen, loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="solvers whose name has this in it")
    arguments = parser.parse_args()
    table(datasets.movielens("1m", path=arguments.data).ratings, arguments.threads, arguments.only)


def table(ratings: rf.Ratings, threads: int, only: str = "") -> None:
    rf.set_threads(threads)
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    print(f"MovieLens 1M, 80/20 by user, {threads} threads")
    print("| solver | RMSE | nmae | seconds | CPU seconds |\n|---|---|---|---|---|")
    for name, cells in itertools.chain(measure(train, test, only), libmf(train, test, threads)):
        errors, times = f"{cells['rmse']:.4f} | {cells['nmae']:.2f}", f"{cells['seconds']:.2f} | {cells['cpu']:.2f}"
        print(f"| {name} | {errors} | {times} |", flush=True)


if __name__ == "__main__":
    main()
