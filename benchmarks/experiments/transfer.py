"""What `rf.tune(…, on="sample")` costs: settings found on a sub-matrix beside those found on everything.

    python -m benchmarks transfer 100k --ratio 0.5 [--data FOLDER] [--folds 3]

For every parameter: the best value by cross-validation on all ratings, the best on each of two sub-matrices, and by how
much the error of the first of those, on all ratings, is above the lowest. Values a sample is not asked for are searched
on the sub-matrix all the same.
"""

import argparse
from typing import Any

import rankfill as rf

SEARCHES: dict[str, tuple[rf.Model, str, list[Any]]] = {
    "SGD, penalty": (rf.SGD(), "penalty", [0.01, 0.02, 0.04, 0.08, 0.16]),
    "SGD, rate": (rf.SGD(), "rate", [0.025, 0.05, 0.1, 0.2]),
    "SGD, shrinkage": (rf.SGD(), "shrinkage", [1.0, 3.0, 10.0, 30.0]),
    "SGD, rank": (rf.SGD(), "rank", [6, 14, 30, 62]),
    "VarianceReduced, penalty": (rf.VarianceReduced(), "penalty", [0.01, 0.02, 0.04, 0.08, 0.16]),
    "ALS by count, penalty": (rf.ALS(weighting="count"), "penalty", [0.03, 0.06, 0.12, 0.24]),
    "Broyden, penalty": (rf.Broyden(), "penalty", [1.0, 3.0, 10.0, 30.0]),
    "Bias, shrinkage": (rf.Bias(), "shrinkage", [1.0, 3.0, 10.0, 30.0]),
    "PassiveAggressive, C": (rf.PassiveAggressive(), "C", [0.1, 0.2, 0.3, 0.42, 0.6, 0.8]),
    "the same as published, C": (rf.PassiveAggressive(recipe="paper"), "C", [0.002, 0.005, 0.01, 0.02, 0.05]),
}


def compare(ratings: rf.Ratings, ratio: float, folds: int) -> None:
    samples = [rf.sample_submatrix(ratings, ratio, seed=seed) for seed in (0, 1)]
    print(f"{len(ratings):,} ratings; samples of {' and '.join(f'{len(sample):,}' for sample in samples)}")
    for label, (model, name, values) in SEARCHES.items():
        everything, *small = (
            rf.tune(model, part, {name: values}, folds=folds, halving=False, refit=False)
            for part in (ratings, *samples)
        )
        errors = {trial.params[name]: trial.error for trial in everything.trials}
        first, second = (found.best_params[name] for found in small)
        loss = 100 * (errors[first] / everything.best.error - 1)
        best = everything.best_params[name]
        print(f"{label:26s} all {best:<6g} samples {first:<6g} {second:<6g} {loss:+.2f} %", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("movielens", choices=["100k", "latest-small", "1m"])
    parser.add_argument("--ratio", type=float, default=0.5, help="share of the users and of the items (default 0.5)")
    parser.add_argument("--data", default=None, help="folder that holds the MovieLens sets (default: RANKFILL_DATA)")
    parser.add_argument("--folds", type=int, default=3)
    options = parser.parse_args()
    compare(rf.datasets.movielens(options.movielens, path=options.data).ratings, options.ratio, options.folds)


if __name__ == "__main__":
    main()
