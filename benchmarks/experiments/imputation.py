"""Error and time of LowRankImputer beside scikit-learn's imputers, all with default settings.

    python -m benchmarks imputation [--seeds 3] [--threads 1]

Four tables of scikit-learn with 10, 30 and 50 % of the entries hidden completely at random. The error is the root mean
squared error on the hidden entries, each column in units of its own standard deviation in the whole table, and then
the mean over the seeds. Seconds are CPU seconds of fit_transform, all cores, the imputers taking turns on each table;
the last column is how many times the CPU seconds of LowRankImputer IterativeImputer takes. A table is filled once
before by everybody, so that nobody pays for imports.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

import rankfill as rf
from benchmarks.harness.clock import timed

TABLES: dict[str, Callable[[], Any]] = {
    "diabetes": load_diabetes,
    "breast_cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
}
HOLES = (0.1, 0.3, 0.5)
IMPUTERS: dict[str, Callable[[], Any]] = {
    "Simple": lambda: SimpleImputer(keep_empty_features=True),
    "KNN": lambda: KNNImputer(keep_empty_features=True),
    "Iterative": lambda: IterativeImputer(keep_empty_features=True),
    "LowRank": lambda: rf.LowRankImputer(),
}


def measure(table: np.ndarray, share: float, seed: int) -> dict[str, tuple[float, float]]:
    """Error and CPU seconds of each imputer."""
    hidden = np.random.default_rng(seed).random(table.shape) < share
    holed = np.where(hidden, np.nan, table)
    scales = table.std(axis=0)
    scales[scales == 0] = 1
    results = {}
    for name, make in IMPUTERS.items():
        imputer = make()
        filled, _, seconds = timed(partial(imputer.fit_transform, holed))
        results[name] = float(np.sqrt(np.mean(((filled - table) / scales)[hidden] ** 2))), seconds
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many times the holes are drawn")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    threadpool_limits(arguments.threads)
    warnings.simplefilter("ignore")  # IterativeImputer says that ten rounds were too few
    tables = {name: load().data.astype(np.float64) for name, load in TABLES.items()}
    measure(tables["wine"], 0.3, 0)
    titles = [*(f"{name}" for name in IMPUTERS), *(f"{name}, s" for name in IMPUTERS), "Iterative / LowRank"]
    print(f"| holes | table | {' | '.join(titles)} |\n|{'---|' * (len(titles) + 2)}")
    for share in HOLES:
        rounds = [[measure(table, share, seed) for table in tables.values()] for seed in range(arguments.seeds)]
        results = np.array([[[each[name] for name in IMPUTERS] for each in one] for one in rounds])
        errors, seconds = results[..., 0].mean(axis=0), results[..., 1].mean(axis=0)
        for name, error, cost in zip(tables, errors, seconds, strict=True):
            print(_row(f"{share:.0%}", name, error, cost), flush=True)
        print(_row(f"**{share:.0%}**", "**mean error, total seconds**", errors.mean(axis=0), seconds.sum(axis=0)))


def _row(share: str, name: str, errors: np.ndarray, seconds: np.ndarray) -> str:
    best = errors.min()
    cells = [f"**{error:.4f}**" if error == best else f"{error:.4f}" for error in errors]
    times = [f"{each:.3f}" for each in seconds]
    return f"| {share} | {name} | {' | '.join([*cells, *times])} | {seconds[2] / seconds[3]:.1f} |"


if __name__ == "__main__":
    main()
