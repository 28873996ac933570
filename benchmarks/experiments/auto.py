"""Auto beside single models: MovieLens 1M against its targets, and six sets of different kinds.

    python -m benchmarks auto [movielens | kinds] [--only NAME …] [--seconds 60]

Every set is split 80/20 by user. On MovieLens 1M a test rating of 4 or 5 is a hit; elsewhere one of at least the mean
rating, and of counts and marks all. All unseen items are ranked. Targets on 1M, with nothing set: NDCG@10 at least
0.393, RMSE at most 0.838, 30 s on two quiet cores. On the six sets: never below the better of the baselines, and within
1 % of the best single model, each with nothing set. The constants of `models/auto/` were chosen on MovieLens 100K and
on the film club, which are not among the sets here.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

import rankfill as rf
from rankfill.data.liked import Liked
from rankfill.models.auto.kinds import kind_of

BY_HAND: tuple[rf.Model, ...] = (
    rf.Popularity(),
    rf.Bias(),
    rf.PassiveAggressive(),
    rf.SGD(),
    rf.ALS(),
    rf.BayesianMF(sweeps=50),
    rf.NearestNeighbors(),
    rf.ItemRegression(feedback="explicit"),
    rf.ALS(feedback="implicit"),
    rf.ItemRegression(),
)


def choosers(
    n_users: int, n_items: int, per_user: float, values: str, seed: int, *, noise: float = 0.6, tail: float = 1.0
) -> rf.Ratings:
    """People who choose what they expect to like, out of what is popular, and then rate, count or only mark it."""
    random = np.random.default_rng(seed)
    tastes, traits = random.normal(size=(n_users, 8)), random.normal(size=(n_items, 8)) / 8**0.5
    fame, quality = tail * random.normal(size=n_items), 0.5 * random.normal(size=n_items)
    users, items, liking = [], [], []
    for user in range(n_users):
        taste = traits @ tastes[user]
        count = min(max(1, random.poisson(per_user)), n_items)
        chosen = np.argpartition(-(fame + taste + random.gumbel(size=n_items)), count - 1)[:count]
        users.append(np.full(count, user))
        items.append(chosen)
        liking.append(taste[chosen] + quality[chosen] + noise * random.normal(size=count))
    how = np.concatenate(liking)
    found = {
        "stars": np.clip(np.round(3.3 + how), 1, 5),
        "counts": 1 + random.poisson(np.exp(1.2 * how)),
        "marks": np.ones(len(how)),
        "signed": np.clip(4 * how, -10, 10),
    }[values]
    return rf.Ratings.from_arrays(np.concatenate(users), np.concatenate(items), found)


SETS: dict[str, Callable[[], rf.Ratings]] = {
    "dense, 1 to 5": lambda: choosers(1500, 150, 45, "stars", 1),
    "sparse, 1 to 5": lambda: choosers(12_000, 4000, 8, "stars", 2),
    "counts": lambda: choosers(4000, 1500, 25, "counts", 3),
    "positives only": lambda: rf.datasets.movielens("latest-small").ratings.with_values(np.ones_like),
    "two ratings per user": lambda: choosers(20_000, 800, 2, "stars", 4),
    "-10 to 10": lambda: choosers(3000, 100, 40, "signed", 5),
}


def measure(model: rf.Model, train: rf.Ratings, test: rf.Ratings, liked: Liked) -> tuple[float, float, float, float]:
    """RMSE (NaN where there is none), NDCG@10, seconds on the clock and of CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    model.fit(train)
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    scores = rf.evaluate(model, test, liked=liked, scores=["rmse", "ndcg@10"])
    return scores["rmse"] if model.predicts_ratings else np.nan, scores["ndcg@10"], clock, cpu


def show(name: str, found: tuple[float, float, float, float]) -> None:
    print(f"  {name:40s} {found[0]:8.4f} {found[1]:9.4f} {found[2]:8.1f} {found[3]:8.1f}", flush=True)


def movielens(seconds: float) -> None:
    train, test = rf.split(rf.datasets.movielens("1m").ratings, test=0.2, by="user", seed=0)
    print(f"{'MovieLens 1M':42s} {'RMSE':>8s} {'NDCG@10':>9s} {'s':>8s} {'CPU s':>8s}")
    for model in (rf.Bias(), rf.Popularity(), rf.PassiveAggressive()):
        show(repr(model), measure(model, train, test, 4.0))
    auto = rf.Auto(seconds=seconds)
    show("Auto()", measure(auto, train, test, 4.0))
    print("  targets: RMSE at most 0.838, NDCG@10 at least 0.393, 30 s\n")
    print(auto.choices_)


def kinds(only: list[str], seconds: float) -> None:
    for name in only or SETS:
        ratings = SETS[name]()
        train, test = rf.split(ratings, test=0.2, by="user", seed=0)
        liked: Liked = "above-mean" if kind_of(train) == "ratings" else "all"
        print(f"{name + ', ' + f'{len(ratings):,} ratings':42s} {'RMSE':>8s} {'NDCG@10':>9s} {'s':>8s} {'CPU s':>8s}")
        found = {}
        for model in BY_HAND:
            unsuited = model.needs_nonnegative and (train.values < 0).any()
            if unsuited or (liked == "all" and model.predicts_ratings):
                continue
            found[repr(model)] = measure(model, train, test, liked)
            show(repr(model), found[repr(model)])
        auto = rf.Auto(seconds=seconds)
        error, quality, *_ = result = measure(auto, train, test, liked)
        show("Auto()", result)
        errors = {each: values[0] for each, values in found.items() if not np.isnan(values[0])}
        best_list = max(found, key=lambda each: found[each][1])
        told = [f"NDCG@10 {quality / found[best_list][1] - 1:+.2%} beside {best_list}"]
        if errors:
            best = min(errors, key=errors.__getitem__)
            told.insert(0, f"RMSE {error / errors[best] - 1:+.2%} beside {best}")
        print(f"  Auto: {'; '.join(told)}")
        print("  " + "\n  ".join(auto.choices_.why()) + "\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("movielens", "kinds"))
    parser.add_argument("--only", nargs="*", default=[], choices=list(SETS), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if arguments.what != "kinds":
            movielens(arguments.seconds)
        if arguments.what != "movielens":
            kinds(arguments.only, arguments.seconds)


if __name__ == "__main__":
    main()
