"""FAVA, which tunes on a small sub-matrix, beside a penalty that is tuned on all ratings; and FAVA on many ratings.

    python -m benchmarks fava whole    MovieLens 1M: test errors, and CPU seconds with the search included
    python -m benchmarks fava large    FAVA with at most 30 factors on ratings of the shape of MovieLens10M

Both remove the mean first. The penalty of `TraceTradeoff` is tuned by 5-fold cross-validation along a path with warm
starts that ends once the error has risen twice, as FAVA does on its sub-matrix. The tables of Zeng et al. (IJCAI 2015)
are those of `rankfill reproduce fava-tables`.
"""

import argparse
from functools import partial

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.data import Ratings, datasets, split, synthetic
from rankfill.models.convex.variances import RATIO, best_on_path, sample_variances

OFFSET = "mean"


def whole(ratio: float, seeds: int, methods: list[str]) -> None:
    """One line per split and method."""
    for seed in range(seeds):
        train, test = split(datasets.movielens("1m").ratings, test=0.2, by="user", seed=seed)
        for name in methods:
            learn = partial(_tune, train) if name == "tuned" else partial(_sample, train, ratio, seed)
            model, _, seconds = timed(learn)
            error = rf.evaluate(model, test)["rmse"]
            print(f"seed {seed}: {name:5} RMSE {error:.4f}, rank {model.rank_}, {seconds:.1f} s", flush=True)


def _sample(train: Ratings, ratio: float, seed: int) -> rf.FAVA:
    return rf.FAVA(sample=ratio, offset=OFFSET, seed=seed).fit(train)


def _tune(train: Ratings) -> rf.TraceTradeoff:
    model = rf.TraceTradeoff(offset=OFFSET, gap=1e-3)
    penalty = best_on_path(model, "penalty", model.largest_penalty(train), RATIO, train, 0)
    return model.set_params(penalty=penalty).fit(train)


def large() -> None:
    """The time of one fit, the search on its sample included."""
    ratings = synthetic.like("movielens-10m")
    search = timed(lambda: sample_variances(ratings, 0.04, OFFSET, 0)[:30])
    model = rf.FAVA(variances=search.result, offset=OFFSET)
    fit = timed(lambda: model.fit(ratings))
    print(
        f"{ratings}: {model.rank_} factors, {len(model.history_)} passes, error {model.history_[-1].train:.4f}, "
        f"{search.cpu:.1f} + {fit.cpu:.1f} s of CPU time for variances and fit, "
        f"{search.seconds + fit.seconds:.1f} s on {rf.get_threads()} threads"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=["whole", "large"])
    parser.add_argument("--ratio", type=float, default=0.1, help="of the sub-matrix of `whole` (0.1)")
    parser.add_argument("--seeds", type=int, default=3, help="splits of `whole` (3)")
    parser.add_argument("--methods", default="FAVA,tuned", help="of `whole`: FAVA, tuned, or both")
    given = parser.parse_args()
    if given.experiment == "whole":
        whole(given.ratio, given.seeds, given.methods.split(","))
    else:
        large()


if __name__ == "__main__":
    main()
