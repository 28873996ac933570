"""Broyden updates: faces beside a plain NumPy loop, and MovieLens 1M as a stream of users.

    python -m benchmarks broyden [--data FOLDER] [--rounds 3] [--passes 5] [--threads 1]

The first part fills in the Olivetti faces with a quarter of the pixels missing, rank 30, penalty 2, by the kernel and
by the loop as one would write it in NumPy (two masked least-squares solves and one rank-one update per column), in
turn, for some passes; both are shown in seconds of all cores. The second part streams MovieLens 1M user by user, 80 %
of each, into models that learn online, once and five times over, and shows the error on the rest.
"""

import argparse
import statistics
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.data.olivetti import olivetti
from rankfill.experiments.faces import Holes, fill_by, methods

STREAMED: dict[str, rf.Model] = {
    "Bias, all at once": rf.Bias(),
    "Broyden": rf.Broyden(),
    "Broyden, bold": rf.Broyden(penalty=30.0, shrinkage=5.0),
    "SGMF": rf.SGMF(),
    "PassiveAggressive": rf.PassiveAggressive(),
    "SGD": rf.SGD(),
}


def numpy_loop(
    pictures: NDArray[np.floating], known: NDArray[np.bool_], rank: int, penalty: float, passes: int
) -> NDArray[np.floating]:
    """The algorithm as it stands in the paper."""
    rng = np.random.default_rng(0)
    C = np.sqrt(np.sqrt((pictures[known] ** 2).mean()) / rank) * rng.random((len(pictures), rank))
    X = np.zeros((rank, pictures.shape[1]))
    for _ in range(passes):
        for k in rng.permutation(pictures.shape[1]):
            m = known[:, k]
            y, before = pictures[m, k], C[m]
            now = before
            for _ in range(2):
                x = np.linalg.solve(now.T @ now, now.T @ y)
                now = before + np.outer((y - before @ x) / (penalty + x @ x), x)
            C[m], X[:, k] = now, x
    return C @ X


def faces(folder: str | None, rounds: int, passes: int) -> None:
    holes = Holes.at_random(olivetti(None if folder is None else Path(folder) / "olivetti"), 0.25, 0)
    ratings = holes.ratings()
    _ = ratings.by_item
    wide = holes.pictures.astype(np.float64)
    ratios = []
    for _ in range(rounds):
        model = methods(passes=passes)["Broyden"]
        ours = timed(lambda each=model: each.fit(ratings)).cpu
        with threadpool_limits(1):  # more threads cost more than they save on matrices of this size
            filled, _, theirs = timed(lambda: numpy_loop(wide, holes.known, 30, 2.0, passes))
        ratios.append(theirs / ours)
        both = [f"{whole:.2f} and {hole:.2f} dB" for whole, hole in map(holes.snr, (fill_by(model), filled))]
        print(f"kernel {ours / passes:.4f} s a pass ({both[0]}), NumPy {theirs / passes:.4f} s ({both[1]})", flush=True)
    print(f"the kernel is {statistics.median(ratios):.1f} times as fast (median of {rounds}, {passes} passes each)")


def stream(folder: str | None) -> None:
    ratings = rf.datasets.movielens("1m", path=folder).ratings
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    order = np.random.default_rng(0).permutation(train.n_users)[train.user_indices].argsort(kind="stable")
    users, items = train.users.ids(train.user_indices[order]), train.items.ids(train.item_indices[order])
    arriving = rf.Ratings.from_arrays(users, items, train.values[order])
    print("MovieLens 1M, user by user\n| model | RMSE after one pass | after five | events/s, CPU |\n|---|---|---|---|")
    for name, model in STREAMED.items():
        errors, seconds = [], 0.0
        for times in range(1 if isinstance(model, rf.Bias) else 5):
            learn = model.fit if isinstance(model, rf.Bias) else model.partial_fit  # type: ignore[attr-defined]
            seconds += timed(lambda call=learn: call(arriving)).cpu
            if times in (0, 4):
                errors.append(rf.evaluate(model, test)["rmse"])
        rate = len(train) * (times + 1) / seconds
        cells = [*(f"{error:.4f}" for error in errors), ""][:2]
        print(f"| {name} | {' | '.join(cells)} | {rate:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder that holds ml-1m and olivetti (default: RANKFILL_DATA)")
    parser.add_argument("--rounds", type=int, default=3, help="how often kernel and loop run in turn (default 3)")
    parser.add_argument("--passes", type=int, default=5, help="of each in a round (default 5; the paper makes 30)")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    faces(arguments.data, arguments.rounds, arguments.passes)
    stream(arguments.data)


if __name__ == "__main__":
    main()
