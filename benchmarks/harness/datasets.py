"""Data sets by name, split once and laid down as plain arrays that every child maps into memory.

A fifth of each user's ratings tests; a quarter of the rest chooses settings; the systems then learn from all of that
rest. Ratings come in the order of their timestamps, made-up ones in random order.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.rivals.base import Interactions
from rankfill.data import Ratings, datasets, split, synthetic

TEST, VALIDATION = 0.2, 0.25
PARTS = ("train", "test", "tuning", "validation")


@dataclass(frozen=True)
class About:
    """What is compared on: in words for the heading, in numbers for the rest."""

    name: str
    label: str
    synthetic: bool
    n_users: int
    n_items: int
    n_ratings: int
    seed: int
    test: float = TEST
    validation: float = VALIDATION


@dataclass(frozen=True)
class Source:
    """Where ratings come from; `make` gets how many times fewer of them are wanted, and a seed."""

    label: str
    synthetic: bool
    make: Callable[[float, int], Ratings]
    scale_down: float = 1.0


def _movielens(name: str) -> Source:
    label = name.upper() if name[0].isdigit() else name
    return Source(f"MovieLens {label}", False, lambda _, __: datasets.movielens(name).ratings)


def _like(name: str, words: str, scale_down: float) -> Source:
    return Source(words, True, lambda factor, seed: synthetic.like(name, scale_down=factor, seed=seed), scale_down)


SOURCES: dict[str, Source] = {
    "ml-1m": _movielens("1m"),
    "ml-100k": _movielens("100k"),
    "ml-latest-small": _movielens("latest-small"),
    "ml-10m": _movielens("10m"),
    "like-ml-10m": _like("movielens-10m", "synthetic of the shape of MovieLens 10M", 1.0),
    "like-netflix": _like("netflix", "synthetic of the shape of Netflix", 10.0),
    "tiny": Source("tiny synthetic", True, lambda _, seed: synthetic.low_rank(200, 80, 4000, seed=seed)),
}


def lay_down(name: str, folder: Path, scale_down: float | None = None, seed: int = 0) -> About:
    """Makes or reads the ratings, splits them, and writes the parts into the folder."""
    source = SOURCES[name]
    factor = source.scale_down if scale_down is None else scale_down
    if factor != 1 and not source.synthetic:
        raise ValueError(f"{source.label} is real and comes whole; scale_down is for synthetic sets")
    ratings = source.make(factor, seed)
    label = source.label + (f", 1/{factor:g} of the ratings" if factor != 1 else "")
    full_name = name + (f"-1-{factor:g}" if factor != 1 else "")
    about = About(full_name, label, source.synthetic, *ratings.shape, len(ratings), seed)
    train, test = split(ratings, test=TEST, by="user", seed=seed)
    tuning, validation = split(train, test=VALIDATION, by="user", seed=seed)
    for part, of_part in zip(PARTS, (train, test, tuning, validation), strict=True):
        _write(of_part, folder / part, seed)
    (folder / "about.json").write_text(json.dumps(asdict(about), ensure_ascii=False))
    return about


def read_about(folder: Path) -> About:
    return About(**json.loads((folder / "about.json").read_text()))


def read(folder: Path, part: str) -> Interactions:
    """One part, mapped into memory and read through once, so that no clock waits for the disk."""
    about = read_about(folder)
    arrays = [np.load(folder / part / f"{name}.npy", mmap_mode="r") for name in ("users", "items", "values")]
    for array in arrays:
        array.sum()
    return Interactions(*arrays, about.n_users, about.n_items)


def _write(ratings: Ratings, folder: Path, seed: int) -> None:
    if ratings.timestamps is None:
        order = np.random.default_rng(seed).permutation(len(ratings))
    else:
        order = ratings.stream_order()
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "users.npy", ratings.user_indices[order])
    np.save(folder / "items.npy", ratings.item_indices[order])
    np.save(folder / "values.npy", ratings.values[order])
