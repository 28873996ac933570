"""Divide and conquer beside the undivided solution: error and time over the number of blocks.

    python -m benchmarks divide [--data FOLDER] [--threads 2] [--penalty 14] [--offset none|bias] [--blocks 2,4,8]
        [--refit 0,1] [--combine project,average]

MovieLens 1M, 80/20 by user, seed 0: clipped test RMSE and seconds of `TraceTradeoff(penalty=…)` on all ratings, and of
`DivideAndConquer` with the same model on blocks, both relative to the undivided solution of the same run.
"""

import argparse
from itertools import product

import rankfill as rf
from benchmarks.harness.clock import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder that holds the MovieLens sets (default: RANKFILL_DATA)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--penalty", type=float, default=14.0, help="λ of the whole and of every block (default 14)")
    parser.add_argument("--offset", default="none", help="what is taken off first: none, mean or bias (default none)")
    parser.add_argument("--blocks", default="2,4,8", help="numbers of blocks (default 2,4,8)")
    parser.add_argument("--refit", default="0,1", help="fits to all ratings afterwards (default 0,1)")
    parser.add_argument("--combine", default="project,average", help="ways to combine (default project,average)")
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    train, test = rf.split(rf.datasets.movielens("1m", path=arguments.data).ratings, test=0.2, by="user", seed=0)
    part = rf.TraceTradeoff(penalty=arguments.penalty, offset=arguments.offset)
    whole, seconds, cpu = timed(lambda: part.fit(train))
    error = rf.evaluate(whole, test, scores=["rmse"])["rmse"]
    print("| blocks | combined by | refits | rank | test RMSE | more | seconds | time ÷ undivided | CPU ÷ undivided |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(f"| 1 | – | – | {whole.rank_} | {error:.4f} | – | {seconds:.1f} | 1 | 1 |", flush=True)
    for blocks in map(int, arguments.blocks.split(",")):
        for combine, refit in product(arguments.combine.split(","), map(int, arguments.refit.split(","))):
            model = rf.DivideAndConquer(model=part, blocks=blocks, combine=combine, refit=refit)
            fitted, own_seconds, own_cpu = timed(lambda model=model: model.fit(train))
            own_error = rf.evaluate(fitted, test, scores=["rmse"])["rmse"]
            more, ratios = 100 * (own_error / error - 1), (own_seconds / seconds, own_cpu / cpu)
            row = f"{fitted.rank_} | {own_error:.4f} | {more:+.1f} % | {own_seconds:.1f}"
            print(f"| {blocks} | {combine} | {refit} | {row} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
