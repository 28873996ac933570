"""What one call costs: a list, a prediction, a rating learned, a newcomer; lists beside implicit.

python -m benchmarks one_call [--users 1000000] [--rounds 7]

Every figure is the least over the rounds of the mean CPU time of some hundred calls, in microseconds, with one thread.
Lists are of 10 items at rank 32 with biases, without what the user has rated. implicit has the same model, whose biases
are two more factors, and finds the same lists. Ratings are learned by models of 5000 items and two ratings per user.
"""

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

import rankfill as rf

SIZES = 4000, 10_700, 100_000
LIST, PREDICTION, NEWCOMER, RATING = 100, 1000, 100, 1000
"""Calls in a round."""


def microseconds(call: Callable[[], Any], calls: int, rounds: int) -> float:
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            call()
        found.append((time.process_time() - began) / calls)
    return 1e6 * min(found)


def implicit_list(model: rf.ALS, ratings: rf.Ratings, user: int) -> Callable[[], Any] | None:
    """The same list by implicit, None where it is not installed."""
    try:
        from implicit.als import AlternatingLeastSquares
    except ImportError:
        return None
    theirs = AlternatingLeastSquares(factors=model.rank_ + 2, num_threads=1)
    ones = (np.ones((n, 1), np.float32) for n in ratings.shape)
    theirs.user_factors = np.hstack([model.user_factors_, model.user_biases_[:, None], next(ones)])
    theirs.item_factors = np.hstack([model.item_factors_, next(ones), model.item_biases_[:, None]])
    seen = scipy.sparse.csr_matrix(ratings.to_sparse()[[user]])
    both = set(theirs.recommend(user, seen, N=10)[0]) & set(model.recommend(user, n=10, min_ratings=1).items[0])
    assert len(both) >= 9, "not the same model"
    return lambda: theirs.recommend(user, seen, N=10)


def lists(rounds: int) -> None:
    print("| items | list | implicit | ratio | prediction | newcomer with 10 ratings |\n|---|---|---|---|---|---|")
    for n_items in SIZES:
        ratings = rf.synthetic.low_rank(3000, n_items, 60_000, seed=0)
        model = rf.ALS(rank=32, passes=1).fit(ratings)
        newcomer = rf.Ratings.from_arrays(np.zeros(10, np.int64), 7 * np.arange(10), np.arange(10) % 5 + 1.0)
        ours, theirs = (lambda each=model: each.recommend(17, n=10)), implicit_list(model, ratings, 17)
        turns = [(microseconds(ours, LIST, 1), microseconds(theirs or ours, LIST, 1)) for _ in range(rounds)]
        list_time, peer_time = (min(each) for each in zip(*turns, strict=True))
        peer = f"{peer_time:.0f} | {list_time / peer_time:.2f}" if theirs else "not installed | –"
        prediction = microseconds(lambda each=model: each.predict(17, 33), PREDICTION, rounds)
        folded = microseconds(lambda each=model, new=newcomer: each.recommend(new, n=10), NEWCOMER, rounds)
        print(f"| {n_items:,} | {list_time:.0f} | {peer} | {prediction:.1f} | {folded:.0f} |", flush=True)


def ratings_learned(n_users: int, rounds: int) -> None:
    ratings = rf.synthetic.low_rank(n_users, 5000, 2 * n_users, seed=0)
    print(f"\n| {n_users:,} users | learn_one | prediction for an unknown user after it | newcomer with 10 ratings |")
    print("|---|---|---|---|")
    newcomer = rf.Ratings.from_arrays(np.zeros(10, np.int64), 7 * np.arange(10), np.arange(10) % 5 + 1.0)
    for cls in (rf.PassiveAggressive, rf.SGD, rf.Broyden, rf.SGMF):
        model = cls(rank=30, passes=1).fit(ratings).learn_one(3, 4, 5.0)
        random = np.random.default_rng(0)
        pairs = itertools.cycle(zip(random.integers(0, n_users, 10**5), random.integers(0, 5000, 10**5), strict=True))
        pairs = ((int(user), int(item)) for user, item in pairs)
        one = microseconds(lambda each=model, more=pairs: each.learn_one(*next(more), 4.0), RATING, rounds)

        def unknown(each: Any = model, more: Any = pairs) -> None:
            each.learn_one(*next(more), 4.0)
            each.predict(-5, 3)

        both = microseconds(unknown, RATING, rounds)
        folded = microseconds(lambda each=model: each.recommend(newcomer, n=10), NEWCOMER, rounds)
        print(f"| {cls.__name__} | {one:.1f} | {both - one:.1f} | {folded:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    rf.set_threads(1)
    with threadpool_limits(1):
        lists(arguments.rounds)
        ratings_learned(arguments.users, arguments.rounds)


if __name__ == "__main__":
    main()
