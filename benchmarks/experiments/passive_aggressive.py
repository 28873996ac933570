"""`PassiveAggressive` with nothing set beside `Bias`, on data from MovieLens 1M down to two ratings per user.

    python -m benchmarks passive_aggressive [--data FOLDER] [--seeds 3] [--rounds 3]

Ratings are split 80/20 by user; errors are those of clipped predictions on the test part, the mean over the seeds of
splits and starts, and in brackets the change from `Bias()` in percent, the worst seed's. Then MovieLens 1M is fitted in
turn with LIBMF's non-negative factorisation for absolute errors, rank 32, 20 passes, where LIBMF is installed.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import rankfill as rf
from benchmarks.experiments.factorisations import data_sets
from benchmarks.harness.clock import timed

MODELS: dict[str, Callable[[int], rf.Model]] = {
    "Bias": lambda _: rf.Bias(),
    "PassiveAggressive": lambda seed: rf.PassiveAggressive(seed=seed),
    'slack="quadratic"': lambda seed: rf.PassiveAggressive(slack="quadratic", seed=seed),
}
SCORES = ("nmae", "rmse")


def quality(folder: str | None, seeds: int) -> None:
    for name, ratings in data_sets(folder):
        print(f"{name}, {len(ratings) / ratings.n_users:.1f} ratings per user")
        runs: dict[str, list[dict[str, float]]] = {label: [] for label in MODELS}
        for seed in range(seeds):
            train, test = rf.split(ratings, test=0.2, by="user", seed=seed)
            for label, make in MODELS.items():
                runs[label].append(measure(make(seed), train, test))
        for label, results in runs.items():
            print(f"    {label:20s}" + "   ".join(cells(results, runs["Bias"])))


def measure(model: rf.Model, train: rf.Ratings, test: rf.Ratings) -> dict[str, float]:
    _ = train.by_item
    seconds = timed(lambda: model.fit(train)).cpu
    scores = rf.evaluate(model, test, scores=list(SCORES))
    return scores | {"C": getattr(model, "C_", 0.0), "CPU seconds": seconds}


def cells(results: list[dict[str, float]], baseline: list[dict[str, float]]) -> list[str]:
    written = []
    for score in SCORES:
        mean = statistics.mean(result[score] for result in results)
        worst = max(100 * (result[score] / base[score] - 1) for result, base in zip(results, baseline, strict=True))
        written.append(f"{score} {mean:7.4f} ({worst:+5.2f} %)")
    seconds = statistics.mean(result["CPU seconds"] for result in results)
    caps = sorted({result["C"] for result in results})
    return [*written, f"CPU {seconds:.2f} s", "C " + ", ".join(f"{cap:.3g}" for cap in caps)]


def speed(folder: str | None, rounds: int) -> None:
    try:
        from libmf import mf
    except ImportError:
        print("LIBMF is not installed: no comparison of speed")
        return
    train, _ = rf.split(rf.datasets.movielens("1m", path=folder).ratings, test=0.2, by="user", seed=0)
    _ = train.by_item
    triples = np.column_stack([train.user_indices, train.item_indices, train.values]).astype(np.float32)
    # Absolute loss; the bindings would set L1 penalties of 0.04, LIBMF itself has none.
    settings: dict[str, Any] = {
        "fun": 1,
        "do_nmf": True,
        "k": 32,
        "nr_iters": 20,
        "nr_bins": 20,
        "eta": 0.1,
        "lambda_p2": 0.05,
    }
    settings |= {"lambda_q2": 0.05, "lambda_p1": 0.0, "lambda_q1": 0.0, "quiet": True, "copy_data": False}
    settings["nr_threads"] = rf.get_threads()
    ratios = []
    for _ in range(rounds):
        theirs = timed(lambda: mf.MF(**settings).fit(triples)).seconds
        ours = timed(lambda: rf.PassiveAggressive().fit(train)).seconds
        ratios.append(ours / theirs)
        print(f"PassiveAggressive {ours:.2f} s, LIBMF {theirs:.2f} s")
    print(f"{statistics.median(ratios):.2f} of LIBMF's time, {rf.get_threads()} threads")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder that holds the MovieLens sets (default: RANKFILL_DATA)")
    parser.add_argument("--seeds", type=int, default=3, help="how many splits and starts (default 3)")
    parser.add_argument("--rounds", type=int, default=3, help="how often both libraries fit (default 3)")
    arguments = parser.parse_args()
    quality(arguments.data, arguments.seeds)
    speed(arguments.data, arguments.rounds)


if __name__ == "__main__":
    main()
