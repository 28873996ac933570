"""Bayesian factorisation on MovieLens: error, coverage and time beside myFM and the other models here.

    python -m benchmarks bayesian [PART …] [--data FOLDER]

Parts: sweep (milliseconds of one), quick (1M, 80/20 by user), u1 (100K, the published split), stars (ordered
ratings), times (both splits with timestamps), stream (ratings that come later), planted (coverage), random (1M,
random 90/10), small (latest-small and the synthetic sets of the contract). Errors are RMSE, clipped; a target stands
beside each figure. CPU seconds are of all threads together.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rankfill as rf
from rankfill.data.datasets import movielens
from rankfill.kernels import get_threads
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.bayesian.sampler import Chain

Split = tuple[rf.Ratings, rf.Ratings]


def fit_and_name(model: rf.Model, train: rf.Ratings) -> tuple[rf.Model, str]:
    _ = train.by_item
    started, used = time.perf_counter(), time.process_time()
    model.fit(train)
    return model, f"{time.perf_counter() - started:6.1f} s ({time.process_time() - used:6.1f} s CPU)"


def report(words: str, model: rf.Model, split: Split, target: str) -> None:
    train, test = split
    model, seconds = fit_and_name(model, train)
    error = rf.evaluate(model, test)["rmse"]
    line = f"{words:44s} {error:.4f}   {seconds}"
    if isinstance(model, rf.BayesianMF):
        users, items = test.users.ids(test.user_indices), test.items.ids(test.item_indices)
        low, high = model.interval(users, items, 0.9, timestamps=test.timestamps if model.time else None)
        covered = float(((low <= test.values) & (test.values <= high)).mean())
        line += f"   {model.n_sweeps_} sweeps, 90 % cover {covered:.3f}, lost {model.lost_:.1e}"
    print(f"{line}   target {target}", flush=True)


def myfm(words: str, split: Split, rank: int, sweeps: int) -> None:
    from myfm import MyFMRegressor

    from benchmarks.rivals.myfm import _one_hot

    train, test = split
    shape = train.n_users, train.n_items
    design = _one_hot(train.user_indices, train.item_indices, shape)
    users = train.users.index(test.users.ids())[test.user_indices]
    items = train.items.index(test.items.ids())[test.item_indices]
    started, used = time.perf_counter(), time.process_time()
    model = MyFMRegressor(rank=rank, random_seed=0)
    model.fit(
        design, train.values.astype(float), n_iter=sweeps, n_kept_samples=sweeps * 3 // 4, group_shapes=list(shape)
    )
    seconds = f"{time.perf_counter() - started:6.1f} s ({time.process_time() - used:6.1f} s CPU)"
    predicted = np.clip(model.predict(_one_hot(users, items, shape)), train.values.min(), train.values.max())
    print(f"{words:44s} {np.sqrt(np.mean((predicted - test.values) ** 2)):.4f}   {seconds}", flush=True)


def sweep(folder: Path) -> None:
    """Milliseconds of one sweep at rank 32 on MovieLens 1M."""
    ratings = movielens("1m", path=folder / "ml-1m").ratings
    values = (ratings.values - ratings.mean()) / ratings.values.std()
    rated = np.flatnonzero(np.bincount(ratings.item_indices, minlength=ratings.n_items))
    assert len(rated) == ratings.n_items
    targets = ratings.by_user._replace(values=values.astype(np.float32))
    with one_blas_thread():
        for links, target in ((False, 60), (True, 200)):
            chain = Chain(targets, ratings.n_items, 32, links, 0, 0)
            for _ in range(3):
                chain.sweep()
            used, walls = time.process_time(), []
            for _ in range(10):
                started = time.perf_counter()
                chain.sweep()
                walls.append(time.perf_counter() - started)
            cpu = (time.process_time() - used) * 100
            name = "rated" if links else "none"
            print(
                f"a sweep, links={name:6s} {min(walls) * 1000:.0f} ms on {get_threads()} threads, {cpu:.0f} ms of CPU; "
                f"target {target} ms on two cores",
                flush=True,
            )


def quick(folder: Path) -> None:
    split = rf.split(movielens("1m", path=folder / "ml-1m").ratings, test=0.2, by="user", seed=0)
    report("1M 80/20, BayesianMF(sweeps=20)", rf.BayesianMF(sweeps=20), split, "0.8375 in 5 s")
    report("1M 80/20, ALS()", rf.ALS(), split, "-")
    myfm("1M 80/20, myFM rank 16, 100 sweeps", split, 16, 100)


def u1(folder: Path) -> None:
    tables = (np.loadtxt(folder / "ml-100k" / f"u1.{part}", dtype=np.int64) for part in ("base", "test"))
    train, test = (rf.Ratings.from_arrays(t[:, 0], t[:, 1], t[:, 2], timestamps=t[:, 3]) for t in tables)
    report("100K u1, BayesianMF()", rf.BayesianMF(), (train, test), "0.885")
    report("100K u1, BayesianMF(chains=2)", rf.BayesianMF(chains=2), (train, test), "0.885")
    report("100K u1, ALS()", rf.ALS(), (train, test), "-")


def stars(folder: Path) -> None:
    """Ordered ratings: what `predict` expects beside the mean of the probabilities of all stars in the samples kept."""
    tables = (np.loadtxt(folder / "ml-100k" / f"u1.{part}", dtype=np.int64) for part in ("base", "test"))
    train, test = (rf.Ratings.from_arrays(t[:, 0], t[:, 1], t[:, 2]) for t in tables)
    model = rf.BayesianMF(likelihood="ordinal", sweeps=150)
    report("100K u1, likelihood ordinal, 150 sweeps", model, (train, test), "-")
    chances = model.distribution(test.users.ids(test.user_indices), test.items.ids(test.item_indices))
    told = chances @ model.levels_
    error = float(np.sqrt(np.mean((told - test.values) ** 2)))
    came = chances[np.arange(len(chances)), np.searchsorted(model.levels_, test.values)]
    print(f"  mean of the probabilities {error:.4f}; mean logarithm of what came {np.log(came).mean():.4f}")
    print("  star    ", *(f"{level:7.0f}" for level in model.levels_))
    print("  expected", *(f"{share:7.3f}" for share in chances.mean(axis=0)))
    print("  came    ", *(f"{(test.values == level).mean():7.3f}" for level in model.levels_))


def times(folder: Path) -> None:
    tables = (np.loadtxt(folder / "ml-100k" / f"u1.{part}", dtype=np.int64) for part in ("base", "test"))
    train, test = (rf.Ratings.from_arrays(t[:, 0], t[:, 1], t[:, 2], timestamps=t[:, 3]) for t in tables)
    report("100K u1, BayesianMF(time=True)", rf.BayesianMF(time=True), (train, test), "-")
    split = rf.split(movielens("1m", path=folder / "ml-1m").ratings, test=0.1, by="entry", seed=0)
    report("1M 90/10, BayesianMF(time=True)", rf.BayesianMF(time=True), split, "0.814 in 3 min")


def stream(folder: Path) -> None:
    """Ratings that come after a fit: a twentieth of the people with all of theirs, and 8 % of all others."""
    tables = (np.loadtxt(folder / "ml-100k" / f"u2.{part}", dtype=np.int64) for part in ("base", "test"))
    whole, test = (rf.Ratings.from_arrays(t[:, 0], t[:, 1], t[:, 2]) for t in tables)
    later = (np.random.default_rng(0).random(len(whole)) < 0.08) | (whole.user_indices % 20 == 0)
    model = rf.BayesianMF().fit(whole.select(~later))
    before, used = rf.evaluate(model, test)["rmse"], time.process_time()
    model.partial_fit(whole.select(later))
    seconds = time.process_time() - used
    print(f"100K u2, {later.sum():,} ratings later: {before:.4f}, then {rf.evaluate(model, test)['rmse']:.4f}", end="")
    print(f"   {seconds:.1f} s CPU, {1000 * seconds / later.sum():.2f} ms each")
    report("100K u2, BayesianMF() of all", rf.BayesianMF(), (whole, test), "-")


def planted(folder: Path) -> None:
    """Coverage of intervals over fifty sets of ratings that the model is right about."""
    covered: dict[float, list[float]] = {0.5: [], 0.9: []}
    for seed in range(50):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 50)) / np.sqrt(2)
        truth = truth + rng.normal(0, 0.5, (60, 1)) + rng.normal(0, 0.5, 50)
        ratings, seen = truth + rng.normal(0, 0.5, truth.shape), rng.random(truth.shape) < 0.35
        model = rf.BayesianMF(rank=3, sweeps=50, burn_in=10, clip=False)
        model.fit(rf.Ratings.from_arrays(*np.nonzero(seen), ratings[seen]))
        for coverage, found in covered.items():
            low, high = model.interval(*np.nonzero(~seen), coverage)
            found.append(float(((low <= ratings[~seen]) & (ratings[~seen] <= high)).mean()))
    for coverage, found in covered.items():
        spread = np.std(found) / np.sqrt(len(found))
        print(f"50 planted sets, {coverage:.0%} intervals cover {np.mean(found):.4f} ± {spread:.4f}; target ±0.02")


def random(folder: Path) -> None:
    split = rf.split(movielens("1m", path=folder / "ml-1m").ratings, test=0.1, by="entry", seed=0)
    report("1M 90/10, BayesianMF()", rf.BayesianMF(), split, "0.818 in 3 min")


def small(folder: Path) -> None:
    """Never worse than the best of three others by more than 0.3 %."""
    from tests.contracts.test_defaults import SETS

    sets = {
        name: rf.split(rf.synthetic.low_rank(*size, **kind, seed=8), test=0.2, by="user", seed=0)
        for name, (size, kind) in SETS.items()
    }
    sets["latest-small"] = rf.split(
        movielens("latest-small", path=folder / "ml-latest-small").ratings, test=0.2, by="user", seed=0
    )
    for name, split in sets.items():
        best = min(rf.evaluate(cls().fit(split[0]), split[1])["rmse"] for cls in (rf.ALS, rf.SGD, rf.Bias))
        report(f"{name}, best of the others {best:.4f}", rf.BayesianMF(), split, f"{1.003 * best:.4f}")


PARTS: dict[str, Callable[[Path], None]] = {
    "sweep": sweep,
    "quick": quick,
    "u1": u1,
    "stars": stars,
    "times": times,
    "stream": stream,
    "planted": planted,
    "random": random,
    "small": small,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="which parts to run (default: all)")
    parser.add_argument("--data", default=os.environ.get("RANKFILL_DATA"), help="folder that holds ml-1m and others")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](Path(arguments.data))


if __name__ == "__main__":
    main()
