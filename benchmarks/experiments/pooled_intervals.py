"""How often 95 % intervals hold the truth when a table has holes: multiple imputation beside a table filled once.

    python -m benchmarks pooled_intervals [--repetitions 100] [--rows 100] [--tables 10]

Tables of four normal columns; holes completely at random, or in three columns the more often, the larger the fourth is,
which is whole. Coverage is the mean over means, logarithms of variances and coefficients of a regression of the fourth
column; `IterativeImputer(sample_posterior=True)` of scikit-learn is pooled by the same rules, from as many tables.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import rankfill as rf
from rankfill.imputation import log_variances, means, pool, regression

CORRELATIONS = np.array([[1, 0.5, 0.3, 0.6], [0.5, 1, 0.2, 0.5], [0.3, 0.2, 1, 0.4], [0.6, 0.5, 0.4, 1]])
SPREAD, MEAN = np.array([1, 2, 0.5, 1]), np.array([1.0, -2, 0, 3])
COVARIANCE = CORRELATIONS * np.outer(SPREAD, SPREAD)
SLOPES = np.linalg.solve(COVARIANCE[:3, :3], COVARIANCE[:3, 3])
TRUTH = np.concatenate([MEAN, np.log(SPREAD**2), [MEAN[3] - MEAN[:3] @ SLOPES], SLOPES])


def analysis(table: Any) -> tuple[Any, Any, Any]:
    parts = [each(table) for each in (means, log_variances, regression(target=3))]
    return (*(np.concatenate([part[k] for part in parts]) for k in (0, 1)), np.repeat([part[2] for part in parts], 4))


def with_holes(n_rows: int, share: float, by_column: bool, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    table = rng.multivariate_normal(MEAN, COVARIANCE, n_rows)
    chances = np.full(table.shape, share)
    if by_column:
        chances[:, :3] = np.minimum(2 * share / (1 + np.exp(-1.5 * (table[:, 3:] - MEAN[3]))), 0.95)
        chances[:, 3] = 0
    return np.where(rng.random(table.shape) < chances, np.nan, table)


def several(table: Any, n_tables: int, seed: int) -> Any:
    return rf.multiple_imputation(table, n_tables, analysis, seed=seed)


def scikit_learn(table: Any, n_tables: int, seed: int) -> Any:
    seeds = range(n_tables * seed, n_tables * (seed + 1))
    found = [analysis(IterativeImputer(sample_posterior=True, random_state=k).fit_transform(table)) for k in seeds]
    return pool([each[0] for each in found], [each[1] for each in found], found[0][2])


def once(table: Any, n_tables: int, seed: int) -> Any:
    found = analysis(rf.LowRankImputer(seed=seed).fit_transform(table))
    return pool([found[0]] * 2, [found[1]] * 2, found[2])


WAYS = {"rankfill": several, "scikit-learn": scikit_learn, "once": once}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=list(WAYS), default=list(WAYS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # IterativeImputer says that ten rounds were too few
    print("| holes | of them | way | means | variances | coefficients | width | CPU s a table with holes |")
    print("|---|---|---|---|---|---|---|---|")
    for by_column in (False, True):
        for share in (0.1, 0.3, 0.5):
            tables = [with_holes(arguments.rows, share, by_column, seed) for seed in range(arguments.repetitions)]
            for name in arguments.only:
                began = time.process_time()
                ends = [WAYS[name](table, arguments.tables, seed).interval(0.95) for seed, table in enumerate(tables)]
                seconds = (time.process_time() - began) / len(tables)
                held = (
                    np.mean([(low <= TRUTH) & (high >= TRUTH) for low, high in ends], axis=0).reshape(3, 4).mean(axis=1)
                )
                width = np.mean([np.log(high - low) for low, high in ends])
                cells = " | ".join(f"{each:.3f}" for each in held)
                kind = "by another column" if by_column else "at random"
                print(f"| {share:.0%} | {kind} | {name} | {cells} | {np.exp(width):.3f} | {seconds:.3f} |", flush=True)


if __name__ == "__main__":
    main()
