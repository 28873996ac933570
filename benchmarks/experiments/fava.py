"""Parameters that transfer: the experiments of Zeng et al. (IJCAI 2015) on MovieLens 1M.

    python -m benchmarks fava submatrices   their Table 2: sub-matrices of the training ratings, 5-fold errors
    python -m benchmarks fava whole         their Table 3: parameters from one small sub-matrix for all of the ratings
    python -m benchmarks fava large         FAVA with at most 30 factors on ratings of the shape of MovieLens10M

The mean is removed first. A parameter is tuned by 5-fold cross-validation along a path with warm starts that ends once
the error has risen twice (`models.variances.best_on_path`). TTF is `TraceTradeoff`, TBF `TraceBounded`; their λ and γ
are given as here (½ Σ e² + λ ‖W‖_*, ‖W‖_* ≤ τ). Seconds are of CPU time, all threads together.
"""

import argparse
from functools import partial

import numpy as np

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.data import Ratings, datasets, split, synthetic
from rankfill.models.convex.variances import RATIO, best_on_path, lasting_variances, sample_variances

RATIOS = {"≈ 4k": 0.085, "≈ 28k": 0.2, "≈ 150k": 0.43}
OFFSET = "mean"


class Parameters:
    """λ, τ and σ² tuned on a sub-matrix, with the seconds that each took."""

    def __init__(self, sample: Ratings, seed: int) -> None:
        largest = rf.TraceTradeoff(offset=OFFSET).largest_penalty(sample)
        tradeoff, bounded = rf.TraceTradeoff(offset=OFFSET, gap=1e-3), rf.TraceBounded(offset=OFFSET, tol=1e-4)
        self.penalty, _, self.penalty_seconds = timed(
            lambda: best_on_path(tradeoff, "penalty", largest, RATIO, sample, seed)
        )
        self.trace, _, self.trace_seconds = timed(lambda: best_on_path(bounded, "trace", largest, 2**0.5, sample, seed))
        fitted = rf.TraceTradeoff(penalty=self.penalty, offset=OFFSET, gap=1e-4).fit(sample)
        self.variances = lasting_variances(fitted)

    def models(self) -> dict[str, rf.Model]:
        return {
            "FAVA": rf.FAVA(variances=self.variances, offset=OFFSET),
            "TBF": rf.TraceBounded(trace=self.trace, offset=OFFSET, tol=1e-4),
            "TTF": rf.TraceTradeoff(penalty=self.penalty, offset=OFFSET, gap=1e-3),
        }


def submatrices(samples: int) -> None:
    """One line per sub-matrix: tuned there, and with the parameters of the first."""
    train, _ = split(datasets.movielens("1m").ratings, test=0.2, by="entry", seed=0)
    first: Parameters | None = None
    print("size, users, items, ratings | tuned there: λ, TTF, τ, TBF, seconds | as for the first: FAVA, TBF, TTF")
    for name, ratio in RATIOS.items():
        for number in range(samples):
            sample = rf.sample_submatrix(train, ratio, seed=number)
            own = Parameters(sample, 0)
            first = first or own
            errors = [_error(own.models()[each], sample) for each in ("TTF", "TBF")]
            moved = [_error(model, sample) for model in first.models().values()]
            print(
                f"{name:8} {number + 1}: {sample.n_users:9d} {sample.n_items:5d} {len(sample):7d} | "
                f"{own.penalty:7.2f} {errors[0]} {own.trace:6.0f} {errors[1]} "
                f"{own.penalty_seconds:5.0f}+{own.trace_seconds:<4.0f} | {'  '.join(moved)}",
                flush=True,
            )


def _error(model: rf.Model, ratings: Ratings) -> str:
    folds = rf.cross_validate(model, ratings, folds=5).errors
    return f"{np.mean(folds):.4f}±{np.std(folds):.4f}"


def whole(ratio: float, seeds: int, methods: list[str]) -> None:
    """Test errors of all three with the parameters of one sub-matrix, and of TTF tuned on everything ("tuned")."""
    for seed in range(seeds):
        train, test = split(datasets.movielens("1m").ratings, test=0.2, by="user", seed=seed)
        sample = rf.sample_submatrix(train, ratio, seed=seed)
        own = Parameters(sample, seed)
        print(
            f"seed {seed}: sample of {len(sample)} ratings, λ = {own.penalty:.2f} ({own.penalty_seconds:.1f} s), "
            f"τ = {own.trace:.0f} ({own.trace_seconds:.1f} s), {len(own.variances)} factors",
            flush=True,
        )
        spent = own.penalty_seconds
        for name in methods:
            before = 0.0
            if name == "tuned":
                model, _, before = timed(partial(_tune, train))
            else:
                model = own.models()[name]
            seconds = timed(partial(model.fit, train)).cpu
            spent += seconds if name == "FAVA" else 0.0
            print(
                f"  {name:5} test RMSE {rf.evaluate(model, test)['rmse']:.4f}  rank {model.rank_}  "
                f"tuning {before:.1f} s, fit {seconds:.1f} s: "
                f"{(before + seconds) / spent:.1f} times FAVA with the search on its sample",
                flush=True,
            )


def _tune(train: Ratings) -> rf.TraceTradeoff:
    model = rf.TraceTradeoff(offset=OFFSET, gap=1e-3)
    penalty = best_on_path(model, "penalty", model.largest_penalty(train), RATIO, train, 0)
    return model.set_params(penalty=penalty)


def large() -> None:
    """The time of one fit, the search on its sample included."""
    ratings = synthetic.like("movielens-10m")
    search = timed(lambda: sample_variances(ratings, 0.04, OFFSET, 0)[:30])
    model = rf.FAVA(variances=search.result, offset=OFFSET)
    fit = timed(lambda: model.fit(ratings))
    print(
        f"{ratings}: {model.rank_} factors, {len(model.history_)} passes, error {model.history_[-1].train:.4f}, "
        f"{search.cpu:.1f} + {fit.cpu:.1f} s of CPU time for variances and fit, "
        f"{search.seconds + fit.seconds:.1f} s on {rf.get_threads()} threads"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=["submatrices", "whole", "large"])
    parser.add_argument("--samples", type=int, default=5, help="sub-matrices of each size (5)")
    parser.add_argument("--ratio", type=float, default=0.1, help="of the small sub-matrix of `whole` (0.1)")
    parser.add_argument("--seeds", type=int, default=3, help="splits of `whole` (3)")
    parser.add_argument("--methods", default="FAVA,TBF,TTF,tuned", help="of `whole`, FAVA first (all)")
    given = parser.parse_args()
    if given.experiment == "submatrices":
        submatrices(given.samples)
    elif given.experiment == "whole":
        whole(given.ratio, given.seeds, given.methods.split(","))
    else:
        large()


if __name__ == "__main__":
    main()
