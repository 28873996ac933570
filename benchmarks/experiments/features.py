"""Films that nobody has rated: predictions from their genres, beside means and models without features.

    python -m benchmarks features [--data FOLDER] [--set 1m]

A tenth of the items is held out entirely (`rf.split(by="cold-items")`), in each of three draws. Errors are root mean
squares over the ratings of those items, clipped, means over the draws. Target: with features every model is better than
the mean rating, the mean of each user, and its own cold start without features.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import rankfill as rf

MODELS = ("als", "sgd", "passive-aggressive", "bias", "feature-ridge")
FILES = {"100k": "ml-100k/u.item", "1m": "ml-1m/movies.dat", "latest-small": "ml-latest-small/movies.csv"}


def rmse(model: rf.Model, test: rf.Ratings) -> float:
    return rf.evaluate(model, test, scores=["rmse"])["rmse"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("RANKFILL_DATA"), help="folder that holds ml-1m, …")
    parser.add_argument("--set", default="1m", choices=list(FILES))
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(arguments.data)
    ratings = rf.datasets.movielens(arguments.set, path=folder).ratings
    films = rf.read_features(folder / FILES[arguments.set])
    print(films)
    splits = [rf.split(ratings, test=0.1, by="cold-items", seed=seed) for seed in range(arguments.draws)]
    means = {
        "mean rating": np.mean([rmse(rf.Bias(effects="none").fit(train), test) for train, test in splits]),
        "mean of the user": np.mean(
            [rmse(rf.Bias(effects="users", shrinkage=0).fit(train), test) for train, test in splits]
        ),
    }
    for name, error in means.items():
        print(f"{name:24s} {error:.4f}")
    print(f"\n{'model':24s} {'without':>8s} {'with':>8s}  target")
    for name in MODELS:
        without, with_features = (
            float(np.mean([rmse(rf.MODELS[name]().fit(train, item_features=given), test) for train, test in splits]))
            for given in (None, films)
        )
        reached = with_features < min(*means.values(), without)
        print(f"{name:24s} {without:8.4f} {with_features:8.4f}  {'reached' if reached else 'missed'}", flush=True)


if __name__ == "__main__":
    main()
