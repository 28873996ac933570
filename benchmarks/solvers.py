"""Test errors and times of our solvers on MovieLens 1M, each with settings that suit it.

    python -m benchmarks.solvers [--data FOLDER] [--threads 2] [--only sgd]

80 % of the ratings train, 20 % test, by user. Predictions are clipped to the range of the ratings. Seconds are those of
`fit`, all of it, by the clock and of all cores (which says more on a busy machine).

How the settings were chosen: those of the named SGD rows on a fifth of the training ratings. The defaults of SGD,
VarianceReduced and GradientDescent (penalty, shrinkage, passes) were chosen by looking at test errors of seven sets,
this split of MovieLens 1M among them, so their rows here flatter them. LIBMF, where it can be imported, runs with one
fixed setting that was not tuned.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import rankfill as rf
from rankfill.data import datasets

SOLVERS: dict[str, rf.Model] = {
    "Bias": rf.Bias(),
    "SGD, defaults": rf.SGD(),
    "SGD, rank 62": rf.SGD(rank=62, passes=20),
    "SGD, in a hurry": rf.SGD(rank=30, shrinkage=0.0, rate=0.12, passes=13),
    "SGD, non-negative": rf.SGD(rank=62, penalty=0.05, nonnegative="both", biases=False, shrinkage=0.0, passes=30),
    "SGD, non-negative, absolute": rf.SGD(
        rank=62, loss="absolute", nonnegative="both", biases=False, shrinkage=0.0, passes=25
    ),
    "VarianceReduced, saga": rf.VarianceReduced(),
    "VarianceReduced, svrg": rf.VarianceReduced(method="svrg"),
    "VarianceReduced, sag": rf.VarianceReduced(method="sag"),
    "GradientDescent": rf.GradientDescent(),
}


def measured(train: rf.Ratings, test: rf.Ratings, only: str) -> Iterator[tuple[str, dict[str, float]]]:
    for name, model in SOLVERS.items():
        if only.lower() not in name.lower():
            continue
        began, began_cpu = time.perf_counter(), time.process_time()
        model.fit(train)
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        errors = rf.evaluate(model, test)
        yield name, {"rmse": errors["rmse"], "nmae": errors["nmae"], "seconds": seconds, "cpu": cpu}


def libmf(train: rf.Ratings, test: rf.Ratings, threads: int, rank: int) -> dict[str, float] | None:
    """LIBMF's squared loss with penalty 0.05, rate 0.1 and 20 passes."""
    try:
        from libmf import mf
    except ImportError:
        return None
    table = np.column_stack([train.user_indices, train.item_indices, train.values]).astype(np.float32)
    settings: dict[str, Any] = {"lambda_p1": 0.0, "lambda_q1": 0.0, "lambda_p2": 0.05, "lambda_q2": 0.05}
    engine = mf.MF(k=rank, nr_threads=threads, nr_iters=20, eta=0.1, quiet=True, copy_data=False, **settings)
    began, began_cpu = time.perf_counter(), time.process_time()
    engine.fit(table)
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    predicted = (engine.p_factors()[test.user_indices] * engine.q_factors()[test.item_indices]).sum(axis=1)
    predicted = np.clip(np.nan_to_num(predicted, nan=train.mean()), train.values.min(), train.values.max())
    error = np.abs(test.values - predicted).astype(np.float64)
    nmae = 100 * error.sum() / np.abs(test.values).sum(dtype=np.float64)
    return {"rmse": float(np.sqrt((error**2).mean())), "nmae": float(nmae), "seconds": seconds, "cpu": cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="solvers whose name has this in it")
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    ratings = datasets.movielens("1m", path=arguments.data).ratings
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    print(f"MovieLens 1M, 80/20 by user, {arguments.threads} threads")
    print("| solver | RMSE | nmae | seconds | CPU seconds |\n|---|---|---|---|---|")
    rows = list(measured(train, test, arguments.only))
    rows += [
        (f"LIBMF, rank {rank}", found) for rank in (32, 64) if (found := libmf(train, test, arguments.threads, rank))
    ]
    for name, cells in rows:
        errors, times = f"{cells['rmse']:.4f} | {cells['nmae']:.2f}", f"{cells['seconds']:.2f} | {cells['cpu']:.2f}"
        print(f"| {name} | {errors} | {times} |", flush=True)


if __name__ == "__main__":
    main()
