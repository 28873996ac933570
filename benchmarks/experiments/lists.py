"""Lists on MovieLens 1M: NDCG@10 of bestsellers, implicit ALS and item regressions beside EASE in NumPy.

    python -m benchmarks lists [--data FOLDER]

Ratings are split 80/20 by user with seed 0. A test rating of 4 or 5 is a hit, all films that a user has not rated in
training are ranked, and the mean is over users with a hit. Every model is fitted in a process of its own; memory is
what the fit adds to the peak of that process. EASE is ten lines of NumPy in double precision with λ = 500, with X = 1
for ratings of 4 and 5, and with X = r / 5.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from rankfill.objectives.ranking import find_hits, ndcg

MODELS: dict[str, Callable[[], rf.Model]] = {
    "Popularity()": rf.Popularity,
    'ALS(feedback="implicit")': lambda: rf.ALS(feedback="implicit"),
    "ItemRegression()": rf.ItemRegression,
    'ItemRegression(penalty=500, weighting="rating")': lambda: rf.ItemRegression(penalty=500.0, weighting="rating"),
}
ENTRIES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "NumPy EASE, ratings of 4 and 5": lambda values: (values >= 4).astype(float),
    "NumPy EASE, rating / 5": lambda values: values / 5.0,
}


def ease(train: rf.Ratings, entries: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[np.float64]:
    """The scores of every user for every item."""
    matrix = train.to_sparse()
    matrix.data = entries(matrix.data)
    inverse = np.linalg.inv((matrix.T @ matrix).toarray() + 500 * np.eye(train.n_items))
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return np.asarray(matrix @ weights)


def best_by_score(train: rf.Ratings, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    scores[train.user_indices, train.item_indices] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, :10]


def measure(name: str, folder: str | None, answer: Any) -> None:
    ratings = rf.datasets.movielens("1m", path=folder).ratings
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    _ = train.by_item
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    if name in MODELS:
        model = MODELS[name]().fit(train)
    else:
        scores = ease(train, ENTRIES[name])
    seconds = time.perf_counter() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if name in MODELS:
        best = train.items.index(model.recommend(train.users.ids(), n=10).items.ravel()).reshape(-1, 10)
    else:
        best = best_by_score(train, scores)
    liked = test.select(test.values >= 4).by_user
    chosen = {key: getattr(model, key) for key in ("penalty_", "weighting_") if name in MODELS and hasattr(model, key)}
    answer.put((float(np.nanmean(ndcg(find_hits(best, liked), liked.counts()))), seconds, memory, chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    print(f"{'MovieLens 1M, 80/20 by user':50s} NDCG@10    fit, s   memory, MB")
    for name in (*MODELS, *ENTRIES):
        answer = context.Queue()
        process = context.Process(target=measure, args=(name, arguments.data, answer))
        process.start()
        quality, seconds, memory, chosen = answer.get()
        process.join()
        print(f"{name:50s} {quality:.4f}   {seconds:7.2f}   {memory:10.0f}   {chosen or ''}", flush=True)


if __name__ == "__main__":
    main()
