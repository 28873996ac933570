"""Test errors on MovieLens 1M: the passive-aggressive recipe of the paper beside the bias model; then all solvers.

    python -m benchmarks quality [--seeds 5] [--json quality.json]

The second table is that of `benchmarks solvers`, with LIBMF where it is installed.

Protocol of Blondel, Kubo and Ueda (2014), section 5.2: 4/5 of the ratings train, 1/5 test, stratified by user;
rank 30, ε = 0, approximate updates, P = 0 and Q uniform on [0, 1); C chosen on a quarter of the training ratings
for each number of passes, then retrained on all of them. The error is 100 Σ|r − r̂| / Σ|r| on the test ratings.
"""

import argparse
import json
import statistics
from pathlib import Path

import rankfill as rf
from benchmarks.experiments import solvers
from rankfill.data import datasets
from rankfill.objectives import measures

CANDIDATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
PASSES = (1, 3, 5)


def errors_on(model: rf.Model, test: rf.Ratings) -> dict[str, float]:
    """The normalised error, unclipped and clipped, and the root mean squared error of clipped predictions."""
    users, items = test.users.ids(test.user_indices), test.items.ids(test.item_indices)
    raw, clipped = (model.set_params(clip=clip).predict(users, items) for clip in (False, True))
    return {
        "nmae": measures.nmae(test.values, raw),
        "nmae clipped": measures.nmae(test.values, clipped),
        "rmse clipped": measures.rmse(test.values, clipped),
    }


def paper_model(C: float, passes: int, seed: int) -> rf.PassiveAggressive:
    return rf.PassiveAggressive(rank=30, C=C, recipe="paper", passes=passes, tol=None, seed=seed, clip=False)


def choose_cap(train: rf.Ratings, passes: int, seed: int) -> float:
    """The C with the lowest absolute error on a quarter of the training ratings."""
    part, held_out = rf.split(train, test=0.25, by="user", seed=seed)
    errors = {C: errors_on(paper_model(C, passes, seed).fit(part), held_out)["nmae"] for C in CANDIDATES}
    return min(errors, key=errors.__getitem__)


def measure(ratings: rf.Ratings, seed: int) -> dict[str, dict[str, float]]:
    train, test = rf.split(ratings, test=0.2, by="user", seed=seed)
    rows = {"Bias": errors_on(rf.Bias().fit(train), test)}
    for passes in PASSES:
        C = choose_cap(train, passes, seed)
        model = paper_model(C, passes, seed).fit(train)
        rows[f"NN-PA-I, {passes} pass{'es' * (passes > 1)}"] = {
            **errors_on(model, test),
            "C": C,
            "fit seconds": model.history_[-1].seconds,
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="how many splits and starts (default 5)")
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--json", type=Path, default=None, help="also write every run to this file")
    arguments = parser.parse_args()
    ratings = datasets.movielens("1m", path=arguments.data).ratings
    runs = [measure(ratings, seed) for seed in range(arguments.seeds)]
    print(f"MovieLens 1M, 80/20 by user, {arguments.seeds} seeds: mean ± sd")
    for name in runs[0]:
        cells = []
        for column in runs[0][name]:
            values = [run[name][column] for run in runs]
            spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
            cells.append(f"{column} {statistics.mean(values):.4g}{spread}")
        print(f"{name:20s} " + "   ".join(cells))
    if arguments.json:
        arguments.json.write_text(json.dumps(runs, indent=2))
    solvers.table(ratings, rf.get_threads())


if __name__ == "__main__":
    main()
