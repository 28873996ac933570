"""Item regressions beside EASE in NumPy, bestsellers and neighbours: quality, time and memory, each with its target.

    python -m benchmarks regression [--data FOLDER] [--only movielens ratings dense sparse] [--items 20000] [--repeat 3]

movielens  MovieLens 1M, 80/20 by user, seed 0: NDCG@10 of all films not rated in training, a test rating of 4 or 5
           a hit, with nothing set; NDCG@20 of ratings of 4 and 5 alone with the same penalty as EASE
ratings    the same split: the clipped error of predicted ratings
dense      made-up choices of `--items` items (9.6 GB for NumPy with 20,000)
sparse     200,000 items and 20 million made-up choices, beside bestsellers and cosine neighbours of `implicit`

EASE is ten lines of NumPy in double precision with all threads of its BLAS. Every fit has a process of its own, with
the ratings read and transposed before the clock starts. Times are medians of interleaved repetitions; memory is what
the fit adds to the process at the highest.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.harness.child import in_child
from benchmarks.harness.clock import timed
from benchmarks.harness.memory import PeakMemory
from rankfill.objectives.ranking import find_hits, ndcg

PARTS = ("movielens", "ratings", "dense", "sparse")
SHOWN_USERS = 200


def choices(n_users: int, n_items: int, n_choices: int, seed: int = 0) -> rf.Ratings:
    """People with three interests each choose among the items of these, now and then among all; the popular first."""
    rng = np.random.default_rng(seed)
    n_groups = max(4, n_items // 100)
    popularity = (1.0 + np.arange(n_items)) ** -0.7
    group = rng.integers(0, n_groups, n_items)
    order = np.lexsort((np.arange(n_items), group))  # within a group the popular come first
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    sums = np.concatenate([[0.0], np.cumsum(popularity[order])])
    interests = rng.integers(0, n_groups, (n_users, 3))
    users = np.repeat(np.arange(n_users), rng.multinomial(n_choices, rng.dirichlet(np.full(n_users, 1.5))))
    of = interests[users, rng.integers(0, 3, len(users))]
    low, high = sums[bounds[of]], sums[bounds[of + 1]]
    anything = rng.random(len(users)) < 0.3
    low[anything], high[anything] = 0.0, sums[-1]
    items = order[
        np.minimum(np.searchsorted(sums, low + (high - low) * rng.random(len(users)), "right") - 1, n_items - 1)
    ]
    pairs = np.unique(users * np.int64(n_items) + items)
    return rf.Ratings.from_arrays(pairs // n_items, pairs % n_items, np.ones(len(pairs)))


def load(data: dict[str, Any]) -> tuple[rf.Ratings, rf.Ratings]:
    if "choices" in data:
        return rf.split(choices(*data["choices"]), test=0.2, by="user", seed=0)
    ratings = rf.datasets.movielens("1m", path=data["folder"]).ratings
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    if data.get("liked"):
        return (part.select(part.values >= 4).with_values(np.ones_like) for part in (train, test))  # type: ignore[return-value]
    return train, test


def ease(train: rf.Ratings, penalty: float, top: float) -> NDArray[np.float64]:
    X = train.to_sparse()
    X.data = X.data / top
    gram = (X.T @ X).toarray()
    gram[np.diag_indices(len(gram))] += penalty
    weights = np.linalg.inv(gram)
    weights /= -np.diag(weights)
    np.fill_diagonal(weights, 0)
    return weights


def fit(system: str, data: dict[str, Any], settings: dict[str, Any], n: int, scores: str | None) -> dict[str, Any]:
    """Seconds and memory of one fit, and what its answers are worth."""
    train, test = load(data)
    train.by_item, train.user_indices  # noqa: B018
    memory = PeakMemory()
    memory.restart()
    if system == "ease":
        weights, seconds, _ = timed(lambda: ease(train, settings["penalty"], float(train.values.max())))
        peak, model = memory.peak(), None
    elif system == "implicit":
        from implicit.nearest_neighbours import CosineRecommender

        model = CosineRecommender(K=settings["K"])
        matrix = scipy.sparse.csr_matrix(train.to_sparse())
        _, seconds, _ = timed(lambda: model.fit(matrix, show_progress=False))
        peak = memory.peak()
    else:
        model = getattr(rf, system)(**settings)
        _, seconds, _ = timed(lambda: model.fit(train))
        peak = memory.peak()
    found: dict[str, Any] = {"seconds": seconds, "peak": peak, "ratings": len(train), "items": train.n_items}
    if system == "ItemRegression":
        found |= {"penalty": model.penalty_, "weighting": model.weighting_}
        if settings.get("feedback") == "explicit":
            return found | {"rmse": float(rf.evaluate(model, test)["rmse"])}
    asked = np.arange(train.n_users)[:: max(1, train.n_users // 10_000)]
    if scores is not None:
        some = asked[:SHOWN_USERS]
        np.save(
            scores,
            train.to_sparse()[some] @ weights / train.values.max()
            if model is None
            else model.predict_all(train.users.ids(some)),
        )
    return found | {"ndcg": _ndcg(system, model, weights if model is None else None, train, test, asked, n)}


def _ndcg(
    system: str,
    model: Any,
    weights: NDArray[np.float64] | None,
    train: rf.Ratings,
    test: rf.Ratings,
    asked: NDArray[Any],
    n: int,
) -> float:
    liked = test.select(test.values >= 4) if test.values.max() > 1 else test
    X = train.to_sparse()
    if system == "ease":
        best = []
        for part in np.array_split(asked, max(1, len(asked) // 500)):
            found = X[part] @ weights
            found[X[part].nonzero()] = -np.inf
            best.append(np.argsort(-found, axis=1, kind="stable")[:, :n])
        lists = np.concatenate(best).astype(np.int32)
    elif system == "implicit":
        lists, _ = model.recommend(asked, scipy.sparse.csr_matrix(X[asked]), N=n)
    else:
        lists = train.items.index(model.recommend(train.users.ids(asked), n=n).items.ravel()).reshape(-1, n)
    rows = liked.by_user
    counts = rows.counts()[asked]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(rows.indptr[asked] - indptr[:-1], counts) + np.arange(indptr[-1])
    wanted = rf.kernels.Rows(indptr, rows.indices[places], rows.values[places])
    return float(np.nanmean(ndcg(find_hits(lists.astype(np.int32), wanted), wanted.counts())))


class Runs:
    """Fits in children, interleaved; `rows` prints one line for each."""

    def __init__(self, repeat: int, threads: int, folder: str) -> None:
        self.repeat, self.threads, self.folder = repeat, threads, Path(folder)

    def compare(
        self, systems: dict[str, tuple[str, dict[str, Any]]], data: dict[str, Any], n: int = 10, keep: bool = False
    ) -> dict[str, dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
        for _ in range(self.repeat):
            for name, (system, settings) in systems.items():
                scores = str(self.folder / f"{system}.npy") if keep else None
                arguments = {"system": system, "data": data, "settings": settings, "n": n, "scores": scores}
                result = in_child("benchmarks.experiments.regression:fit", arguments, self.threads, limit=7200)
                if "failed" in result:
                    raise SystemExit(f"{name}: {result['failed']}")
                found[name].append(result)
                print(f"  {name:42s} {_in_words(result)}", flush=True)
        return {
            name: runs[0] | {"seconds": statistics.median(run["seconds"] for run in runs)}
            for name, runs in found.items()
        }


def _in_words(result: dict[str, Any]) -> str:
    quality = {key: value for key, value in result.items() if key in ("ndcg", "rmse", "penalty", "weighting")}
    words = [f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in quality.items()]
    return "  ".join([f"{result['seconds']:8.2f} s  {result['peak'] / 1e6:8.0f} MB", *words])


def target(words: str, found: float, bound: float, at_least: bool = True) -> None:
    met = found >= bound if at_least else found <= bound
    print(
        f"  target: {words} {'≥' if at_least else '≤'} {bound:g}: {found:.4g} {'(met)' if met else '(MISSED)'}",
        flush=True,
    )


def of_movielens(runs: Runs, folder: str | None) -> None:
    print("MovieLens 1M, ratings, NDCG@10")
    found = runs.compare(
        {
            "ItemRegression()": ("ItemRegression", {}),
            "EASE in NumPy, rating / 5, λ = 500": ("ease", {"penalty": 500.0}),
            "Popularity()": ("Popularity", {}),
            'ItemRegression(kind="sparse")': ("ItemRegression", {"kind": "sparse"}),
        },
        {"folder": folder},
    )
    target("NDCG@10 with nothing set", found["ItemRegression()"]["ndcg"], 0.393)
    for liked, words, n, faster in ((False, "ratings", 10, 2.0), (True, "ratings of 4 and 5 alone", 20, 3.0)):
        print(f"MovieLens 1M, {words}, the same penalty, NDCG@{n}")
        same = {"penalty": 500.0}
        found = runs.compare(
            {"ItemRegression": ("ItemRegression", same | {"weighting": "rating"}), "EASE in NumPy": ("ease", same)},
            {"folder": folder, "liked": liked},
            n,
            keep=True,
        )
        _beside_ease(runs, found, faster)


def _beside_ease(runs: Runs, found: dict[str, dict[str, Any]], faster: float) -> None:
    ours, theirs = found["ItemRegression"], found["EASE in NumPy"]
    scores = [np.load(runs.folder / f"{name}.npy") for name in ("ItemRegression", "ease")]
    target("largest difference of a score", float(np.abs(scores[0] - scores[1]).max()), 1e-4, at_least=False)
    target("times as fast", theirs["seconds"] / ours["seconds"], faster)
    target("share of the memory", ours["peak"] / theirs["peak"], 0.6, at_least=False)
    target("NDCG beside EASE", ours["ndcg"] / theirs["ndcg"], 0.99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder or zip of MovieLens 1M (default: RANKFILL_DATA)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--items", type=int, default=20_000, help="of the dense part")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments.repeat, arguments.threads, folder)
        if "movielens" in arguments.only:
            of_movielens(runs, arguments.data)
        if "ratings" in arguments.only:
            print("MovieLens 1M, error of predicted ratings")
            explicit = {"feedback": "explicit"}
            found = runs.compare({"explicit": ("ItemRegression", explicit)}, {"folder": arguments.data})
            target("RMSE", found["explicit"]["rmse"], 0.86, at_least=False)
        if "dense" in arguments.only:
            n = arguments.items
            print(f"{n} items, {100 * n} made-up choices, the same penalty")
            same = {"penalty": 200.0}
            found = runs.compare(
                {"ItemRegression": ("ItemRegression", same), "EASE in NumPy": ("ease", same)},
                {"choices": [2 * n, n, 100 * n]},
                keep=True,
            )
            _beside_ease(runs, found, 2.0)
        if "sparse" in arguments.only:
            of_large_catalogue(runs)


def of_large_catalogue(runs: Runs) -> None:
    print("200,000 items, some 25 million made-up choices, of which a fifth tests")
    found = runs.compare(
        {
            "ItemRegression()": ("ItemRegression", {}),
            "implicit CosineRecommender(K=100)": ("implicit", {"K": 100}),
            "Popularity()": ("Popularity", {}),
        },
        {"choices": [200_000, 200_000, 36_000_000]},
    )
    ours, cosine, popular = found.values()
    print(f"  {ours['ratings']} choices learned from")
    target("seconds", ours["seconds"], 300, at_least=False)
    target("GB", ours["peak"] / 1e9, 8, at_least=False)
    target("NDCG@10 beside the better of the others", ours["ndcg"] / max(cosine["ndcg"], popular["ndcg"]), 1.0)


if __name__ == "__main__":
    main()
