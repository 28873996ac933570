"""The ratings that experiments work on: real ones where they are, otherwise made-up ones of the same shape."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rankfill.data import Dataset, Ratings, datasets, sample_submatrix, synthetic
from rankfill.shown import shown

USUAL = "ml-1m"
QUICK_RATINGS = 12_000

_READERS: dict[str, Callable[[Path | None], Dataset]] = {
    "ml-100k": lambda path: datasets.movielens("100k", path),
    "ml-1m": lambda path: datasets.movielens("1m", path),
    "ml-10m": lambda path: datasets.movielens("10m", path),
    "ml-20m": lambda path: datasets.movielens("20m", path),
    "ml-25m": lambda path: datasets.movielens("25m", path),
    "ml-latest-small": lambda path: datasets.movielens("latest-small", path),
    "netflix": lambda path: datasets.netflix(path),
    "yahoo-r1": lambda path: datasets.yahoo_music("r1", path),
    "yahoo-r2": lambda path: datasets.yahoo_music("r2", path),
    "yahoo-kddcup": lambda path: datasets.yahoo_music("kddcup", path),
}
_MADE: dict[str, str] = {
    "like-ml-1m": "movielens-1m",
    "like-ml-10m": "movielens-10m",
    "like-netflix": "netflix",
    "like-yahoo-music": "yahoo-music",
}
DATASETS = (*_READERS, *_MADE)


@dataclass(frozen=True)
class Material:
    """Ratings with titles and genres where there are any, and what to call them."""

    dataset: Dataset
    words: str

    @property
    def ratings(self) -> Ratings:
        return self.dataset.ratings


def find_material(folder: Path | None, name: str | None, *, quick: bool, genres: bool = False) -> Material:
    """The set of that name; without one MovieLens 1M, or made-up ratings of its shape where it is not there.

    A quick run works on little: made-up ratings, or a sample of the set that is named.
    """
    if name is not None and name not in DATASETS:
        raise ValueError(f"there is no data set {shown(name)}; choose one of {', '.join(DATASETS)}")
    if name is None and quick:
        return _make_small(genres)
    if name is None:
        try:
            dataset = _READERS[USUAL](folder)
        except FileNotFoundError:
            if genres:
                return _describe(synthetic.film_club(), "synthetic (MovieLens 1M was not found)")
            return _make("like-ml-1m", "; MovieLens 1M was not found")
        return _describe(dataset, dataset.name)
    if name in _MADE:
        return _make(name) if not quick else _make_small(genres)
    dataset = _READERS[name](folder)
    if not quick:
        return _describe(dataset, dataset.name)
    share = min(1.0, (QUICK_RATINGS / len(dataset.ratings)) ** 0.5)
    sample = Dataset(dataset.name, sample_submatrix(dataset.ratings, share, seed=0), dataset.titles, dataset.genres)
    return _describe(sample, f"a sample of {dataset.name}, quick")


def _make_small(genres: bool) -> Material:
    if genres:
        return _describe(synthetic.film_club(), "synthetic film club, quick")
    ratings = synthetic.low_rank(400, 200, QUICK_RATINGS, noise=0.5, signal=0.9, seed=0)
    return _describe(Dataset("synthetic", ratings, {}, {}), "synthetic, quick")


def _make(name: str, why: str = "") -> Material:
    ratings = synthetic.like(_MADE[name])
    return _describe(Dataset(name, ratings, {}, {}), f"synthetic of the shape of {_MADE[name]}{why}")


def _describe(dataset: Dataset, words: str) -> Material:
    ratings = dataset.ratings
    counts = f"{len(ratings):,} ratings by {ratings.n_users:,} users of {ratings.n_items:,} items"
    return Material(dataset, f"{words}: {counts}")
