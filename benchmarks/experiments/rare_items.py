"""Rarely rated items on lists: NDCG@10 and the share of places they take, with and without the automatic minimum.

    python -m benchmarks rare_items [--set 1m] [--models als,sgd]

Every model with its defaults, on ratings split 80/20 by user with seed 0. A test rating of 4 or more is a hit, all
items that a user has not rated in training are candidates, and a rare item has at most 20 ratings in training. The
target is a share of at most 2 % on MovieLens 1M, at no lower NDCG. "sparse" is synthetic:
most of its items have a few ratings. "planted" prints the mean true rating of what is listed, with planted tastes, for
several shares of ratings that the items below the minimum may have.
"""

import argparse
import itertools
import time
import warnings
from typing import Any

import numpy as np

import rankfill as rf
from rankfill.models.base.choosing import fewest_ratings

SCORES = "ndcg@10", "rare_share@10"


def read(name: str) -> rf.Ratings:
    if name == "sparse":
        return rf.synthetic.low_rank(5000, 20_000, 150_000, popularity="zipf", seed=0)
    return rf.datasets.movielens(name).ratings


def plant(n_users: int, n_items: int, n_ratings: int, spread: float, bond: float) -> tuple[rf.Ratings, Any]:
    """Ratings and true tastes; popularity is log-normal with that spread, and its bond with quality from 0 to 1."""
    random = np.random.default_rng(3)
    popularity = random.normal(size=n_items)
    chances = np.exp(spread * popularity)
    quality = 0.5 * (bond * popularity + np.sqrt(1 - bond**2) * random.normal(size=n_items))
    tastes = random.normal(size=(n_users, 6)) @ random.normal(0, 0.6 / np.sqrt(6), (6, n_items))
    true = 3.3 + random.normal(0, 0.4, (n_users, 1)) + quality + tastes
    pairs = random.integers(0, n_users, n_ratings) * n_items
    pairs = np.unique(pairs + random.choice(n_items, n_ratings, p=chances / chances.sum()))
    users, items = pairs // n_items, pairs % n_items
    stars = np.clip(np.round(true[users, items] + random.normal(0, 0.7, len(users))), 1, 5)
    return rf.Ratings.from_arrays(users, items, stars), true


def true_ratings() -> None:
    shares = 0.0, 0.05, 0.1, 0.2, 0.3
    print(f"| users, items, ratings | spread | bond | model | {' | '.join(map(str, shares))} |")
    print("|---" * (4 + len(shares)) + "|")
    sizes = (3000, 6000, 60_000), (3000, 6000, 300_000), (600, 300, 15_000)
    for size, spread, bond in itertools.product(sizes, (0.7, 1.5), (0.0, 0.5)):
        ratings, true = plant(*size, spread, bond)
        counts = ratings.by_item.counts()
        for name in ("als", "sgd", "passive-aggressive", "bias"):
            model, found = rf.MODELS[name]().fit(ratings), []
            for share in shares:
                best = model.recommend(ratings.users.ids(), min_ratings=fewest_ratings(counts, share)).items
                found.append(float(true[ratings.users.ids()[:, None], best].mean()))
            print(
                f"| {size} | {spread} | {bond} | {name} | {' | '.join(f'{each:.3f}' for each in found)} |", flush=True
            )


class Unrestrained:
    """A model that recommends every item with a rating, as `evaluate` asks it to."""

    def __init__(self, model: rf.Model) -> None:
        self._model = model

    def __enter__(self) -> rf.Model:
        self._before = self._model._view()._usual_items()
        self._model._view()._usual = self._model._view()._allowed_items(None, None, 1)
        return self._model

    def __exit__(self, *_: object) -> None:
        self._model._view()._usual = self._before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="1m", help="100k, 1m, latest-small, sparse or planted")
    parser.add_argument("--models", default=",".join(rf.MODELS), help="names as `rankfill models` lists them")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.set == "planted":
        true_ratings()
        return
    train, test = rf.split(read(arguments.set), test=0.2, by="user", seed=0)
    print(f"{arguments.set}: the automatic minimum is {fewest_ratings(train.by_item.counts())} ratings")
    print("| model | NDCG@10 | without a minimum | share of rare items | without | fit, s |\n|---|---|---|---|---|---|")
    for name in arguments.models.split(","):
        began = time.perf_counter()
        model = rf.MODELS[name]().fit(train)
        seconds = time.perf_counter() - began
        kept = rf.evaluate(model, test, liked=4, scores=SCORES)
        with Unrestrained(model):
            free = rf.evaluate(model, test, liked=4, scores=SCORES)
        columns = (kept[SCORES[0]], free[SCORES[0]], kept[SCORES[1]], free[SCORES[1]])
        print(f"| {name} | {' | '.join(f'{each:.4f}' for each in columns)} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
