"""Least-squares factorisations with their default settings beside the bias model, and ALS beside cmfrec.

    python -m benchmarks factorisations [--data FOLDER] [--rounds 3]

Ratings are split 80/20 by user with seed 0; errors are root mean squares of clipped predictions on the test part,
shown relative to `Bias()`. The second table fits MovieLens 1M at rank 32 in 15 passes with λ = 0.07 by count, both
libraries in turn in one process; cmfrec is left out where it is not installed.
"""

import argparse
import os
import statistics
from collections.abc import Callable, Iterator

import scipy.sparse

import rankfill as rf
from benchmarks.harness.clock import timed

MODELS: dict[str, Callable[[], rf.Model]] = {
    "ALS": rf.ALS,
    'ALS, weighting="count"': lambda: rf.ALS(weighting="count"),
    'ALS, nonnegative="both"': lambda: rf.ALS(nonnegative="both"),
    "CoordinateDescent": rf.CoordinateDescent,
    "MultiplicativeNMF": rf.MultiplicativeNMF,
}
SOLVERS = {"cholesky": False, "conjugate-gradient": True}


def data_sets(folder: str | None) -> Iterator[tuple[str, rf.Ratings]]:
    for name in ("100k", "latest-small", "1m"):
        yield f"MovieLens {name}", rf.datasets.movielens(name, path=folder).ratings
    yield "2 ratings per user", rf.synthetic.low_rank(20_000, 3_000, 40_000, seed=1)
    yield "5 ratings per user", rf.synthetic.low_rank(10_000, 2_000, 50_000, seed=3)
    yield "mostly noise", rf.synthetic.low_rank(3_000, 1_000, 30_000, noise=2.0, seed=8)
    yield "0 to 100", rf.synthetic.low_rank(3_000, 1_000, 30_000, scale=(0.0, 100.0), step=10.0, seed=6)


def quality(folder: str | None) -> None:
    for name, ratings in data_sets(folder):
        train, test = rf.split(ratings, test=0.2, by="user", seed=0)
        baseline = rf.evaluate(rf.Bias().fit(train), test)["rmse"]
        print(f"{name}: Bias {baseline:.4f}")
        for label, make in MODELS.items():
            error = rf.evaluate(make().fit(train), test)["rmse"]
            print(f"    {label:26s} {error:.4f}  {100 * (error / baseline - 1):+.2f} %")


def speed(folder: str | None, rounds: int) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # cmfrec's own threads call BLAS
    try:
        from cmfrec import CMF
    except ImportError:
        print("cmfrec is not installed: no comparison of speed")
        return
    train, _ = rf.split(rf.datasets.movielens("1m", path=folder).ratings, test=0.2, by="user", seed=0)
    matrix, threads = scipy.sparse.coo_matrix(train.to_sparse()), rf.get_threads()
    _ = train.by_item
    settings = {"k": 32, "lambda_": 0.07, "scale_lam": True, "niter": 15, "nthreads": threads, "verbose": False}
    for solver, use_cg in SOLVERS.items():
        ratios = []
        for _ in range(rounds):
            theirs = timed(
                lambda cg=use_cg: CMF(**settings, use_cg=cg, precompute_for_predictions=False).fit(matrix)
            ).seconds
            model = rf.ALS(weighting="count", penalty=0.07, tol=None, solver=solver)
            ours = timed(lambda each=model: each.fit(train)).seconds
            ratios.append(ours / theirs)
            print(f"{solver}: rankfill {ours:.2f} s, cmfrec {theirs:.2f} s")
        print(f"{solver}: {statistics.median(ratios):.2f} of cmfrec's time, {threads} threads")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder that holds the MovieLens sets (default: RANKFILL_DATA)")
    parser.add_argument("--rounds", type=int, default=3, help="how often both libraries fit (default 3)")
    arguments = parser.parse_args()
    quality(arguments.data)
    speed(arguments.data, arguments.rounds)


if __name__ == "__main__":
    main()
