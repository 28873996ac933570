"""Nearest neighbours beside scikit-surprise's KNNBaseline, and the neighbours of a large catalogue.

    python -m benchmarks neighbours [--data FOLDER] [--rounds 3] [--items 100000] [--ratings 10000000]

MovieLens 1M is split 80/20 by user with seed 0. Both find the neighbours of all items by Pearson's correlation of what
the effects leave over (Surprise: pearson_baseline, shrinkage 100, k = 40), then predict every test rating.
That is what is timed, from ratings in memory to predictions, each in a process of its own, in turn. Surprise has one
thread; rankfill has `--threads` and one. Memory is what that work adds to the peak of the process. The large catalogue
is made up; 40 neighbours of all items are found.
"""

import argparse
import time
from typing import Any

import numpy as np

import rankfill as rf
from benchmarks.harness.child import Result, in_child
from benchmarks.harness.memory import PeakMemory

SETTINGS: dict[str, dict[str, Any]] = {
    "NearestNeighbors()": {},
    "NearestNeighbors, settings of Surprise": {"penalty": 0.0, "shrinkage": 100.0, "k": 40, "keep": 1000},
    'NearestNeighbors(centre="common")': {"centre": "common"},
    'NearestNeighbors(weights="learned")': {"weights": "learned"},
}


def halves(folder: str | None) -> tuple[rf.Ratings, rf.Ratings]:
    return rf.split(rf.datasets.movielens("1m", path=folder).ratings, test=0.2, by="user", seed=0)


def rmse(predicted: Any, test: rf.Ratings) -> float:
    return float(np.sqrt(np.mean((np.clip(predicted, 1, 5) - test.values) ** 2)))


def ours(settings: dict[str, Any], folder: str | None) -> Result:
    train, test = halves(folder)
    users, items = test.users.ids(test.user_indices), test.items.ids(test.item_indices)
    rf.NearestNeighbors(**settings).fit(train.select(train.user_indices < 50))  # loads what is loaded when first used
    memory = PeakMemory()
    memory.restart()
    began, cpu = time.perf_counter(), time.process_time()
    model = rf.NearestNeighbors(**settings).fit(train)
    fitted = time.perf_counter() - began
    predicted = model.predict(users, items)
    result = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "fit": fitted}
    result |= {"memory": memory.peak(), "rmse": rmse(predicted, test)}
    began = time.perf_counter()
    model.recommend(train.users.ids(), n=10)
    return result | {"lists": time.perf_counter() - began}


def theirs(folder: str | None) -> Result:
    import surprise

    train, test = halves(folder)
    ids = (train.users.ids(train.user_indices), train.items.ids(train.item_indices), train.values)
    rows = [(*row, None) for row in zip(*(each.tolist() for each in ids), strict=True)]
    data = surprise.Dataset(surprise.Reader(rating_scale=(1, 5))).construct_trainset(rows)
    pairs = (test.users.ids(test.user_indices), test.items.ids(test.item_indices), test.values)
    asked = list(zip(*(each.tolist() for each in pairs), strict=True))
    memory = PeakMemory()
    memory.restart()
    began, cpu = time.perf_counter(), time.process_time()
    options = {"name": "pearson_baseline", "user_based": False, "shrinkage": 100, "min_support": 2}
    model = surprise.KNNBaseline(k=40, sim_options=options, verbose=False)
    model.fit(data)
    fitted = time.perf_counter() - began
    predicted = [each.est for each in model.test(asked)]
    result = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "fit": fitted}
    return result | {"memory": memory.peak(), "rmse": rmse(predicted, test)}


def large(n_items: int, n_ratings: int) -> Result:
    start = PeakMemory()
    ratings = rf.synthetic.low_rank(n_ratings // 100, n_items, n_ratings, popularity="zipf", level=1.0, seed=0)
    _ = ratings.by_item
    held, memory = start.now(), PeakMemory()
    memory.restart()
    began, cpu = time.perf_counter(), time.process_time()
    model = rf.NearestNeighbors(keep=40, penalty=1.0).fit(ratings)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    found = int((model.neighbours_ >= 0).sum())
    pairs = float((ratings.by_user.counts().astype(float) ** 2).sum())
    return {"seconds": seconds, "cpu": cpu, "memory": memory.peak() + held, "found": found, "pairs": pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    arguments = parser.parse_args()
    module = "benchmarks.experiments.neighbours:"
    print("| MovieLens 1M | seconds | CPU seconds | fit | lists for all | memory, MB | RMSE | Surprise's time ÷ |")
    print("|---|---|---|---|---|---|---|---|")
    for _ in range(arguments.rounds):
        peer = in_child(f"{module}theirs", {"folder": arguments.data}, 1)
        show("Surprise KNNBaseline", peer, peer)
        for name, settings in SETTINGS.items():
            for threads in (arguments.threads, 1):
                work = {"settings": settings, "folder": arguments.data}
                show(f"{name}, {threads} threads", in_child(f"{module}ours", work, threads), peer)
    print("targets: 20 times as fast, a tenth of the memory, no larger error\n")
    found = in_child(f"{module}large", {"n_items": arguments.items, "n_ratings": arguments.ratings}, arguments.threads)
    print(f"{arguments.items:,} items, {arguments.ratings:,} made-up ratings, memory with the ratings: {found}")
    print("targets: 60 s, 2 GB")


def show(name: str, result: Result, peer: Result) -> None:
    if "failed" in result:
        print(f"| {name} | {result['failed']} |", flush=True)
        return
    ratio = peer["seconds"] / result["seconds"] if "seconds" in peer else float("nan")
    lists = f"{result['lists']:.1f}" if "lists" in result else "–"
    print(
        f"| {name} | {result['seconds']:.2f} | {result['cpu']:.2f} | {result['fit']:.2f} | {lists} "
        f"| {result['memory'] / 1e6:.0f} | {result['rmse']:.4f} | {ratio:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
