"""SAGA on sparse logistic regression, beside that of scikit-learn at equal objective.

    python -m benchmarks sparse_linear [--rows 200000] [--features 1000000] [--rounds 3]

Made-up rows of 100 entries, of unit length, whose features are as frequent as words are (Zipf); no intercept, C = 1.
Both solvers run for more and more passes with one thread, in turns. A figure is the CPU time of the first run whose
objective is within 1e-4 and 1e-6 of the best, relative to that at zero. Target: no slower.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.linear import SparseClassifier
from rankfill.linear.solvers import Problem, solve

ENTRIES = 100
PASSES = 2, 4, 6, 8, 10, 12, 15, 20, 30, 50, 80


def make_up(n_rows: int, n_features: int, seed: int = 0) -> tuple[Any, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    drawn = n_features ** rng.random((n_rows, ENTRIES))
    columns = np.minimum(drawn.astype(np.int32) + rng.integers(0, 50, drawn.shape, dtype=np.int32), n_features - 1)
    values = rng.random(drawn.shape) + 0.1
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(0, n_rows * ENTRIES + 1, ENTRIES, dtype=np.int32)
    rows = scipy.sparse.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(n_rows, n_features))
    rows.sum_duplicates()
    truth = 5.0 * rng.normal(size=n_features) * (rng.random(n_features) < 0.1)
    return rows, np.where(rows @ truth + 0.3 * rng.normal(size=n_rows) > 0, 1.0, -1.0)


def ours(rows: Any, signs: NDArray[np.float64], passes: int) -> NDArray[np.float64]:
    model = SparseClassifier(fit_intercept=False, passes=passes, tol=1e-12).fit(rows, signs)
    return np.asarray(model.coef_[0])


def theirs(rows: Any, signs: NDArray[np.float64], passes: int) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="saga", fit_intercept=False, max_iter=passes, tol=1e-12)
    return np.asarray(model.fit(rows, signs).coef_[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, signs = make_up(arguments.rows, arguments.features)
    problem = Problem(scipy.sparse.csr_array(rows), signs, "logistic", 1.0, intercept=False)
    best = solve(problem, "saga", passes=200, tol=1e-9)
    lowest, highest = problem.objective(best.coefficients, 0.0), arguments.rows * float(np.log(2.0))
    systems = {"rankfill": ours, "scikit-learn": theirs}
    for goal in (1e-4, 1e-6):
        found: dict[str, list[float]] = {name: [] for name in systems}
        needed: dict[str, int] = {}
        for _ in range(arguments.rounds):
            for name, fit in systems.items():
                for passes in PASSES[PASSES.index(needed.get(name, PASSES[0])) :]:
                    began = time.process_time()
                    coefficients = fit(rows, signs, passes)
                    seconds = time.process_time() - began
                    if problem.objective(coefficients, 0.0) - lowest <= goal * (highest - lowest):
                        break
                needed[name] = passes
                found[name].append(seconds)
        parts = [f"{name} {min(each):.2f} s in {needed[name]} passes" for name, each in found.items()]
        ratio = min(found["rankfill"]) / min(found["scikit-learn"])
        print(f"within {goal:g}: {', '.join(parts)}; ratio {ratio:.2f} (target 1)", flush=True)


if __name__ == "__main__":
    main()
