"""Ratings made up to look like real ones, of any size.

User u gives item i, rounded to the scale, with one star = a quarter of the width of the scale:

    middle + star · (level + user_effect[u] + item_effect[i] + signal · taste[u] · appeal[i] / √rank + noise)

Users' numbers of ratings and items' popularity have long tails; popular items are somewhat better.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.film_club import film_club
from rankfill.data.ratings import Ratings
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import Rows

# Users, items and ratings of well-known sets: MovieLens 1M and 10M, the Netflix prize, Yahoo! Music (KDD Cup 2011).
SHAPES = {
    "movielens-1m": (6_040, 3_706, 1_000_209),
    "movielens-10m": (69_878, 10_677, 10_000_054),
    "netflix": (480_189, 17_770, 100_480_507),
    "yahoo-music": (1_000_990, 624_961, 252_800_275),
}
_SCALES: dict[str, tuple[tuple[float, float], float]] = {
    "movielens-1m": ((1.0, 5.0), 1.0),
    "movielens-10m": ((0.5, 5.0), 0.5),
    "netflix": ((1.0, 5.0), 1.0),
    "yahoo-music": ((0.0, 100.0), 10.0),
}
Popularity = Literal["log-normal", "zipf"]

Piece = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]

_CHUNK = 2_000_000  # ratings made at a time; bounds the memory beyond the result


def like(name: str, scale_down: float = 1.0, seed: int = 0) -> Ratings:
    """Synthetic ratings of the shape and scale of a well-known set.

    Parameters
    ----------
    name : {"movielens-1m", "movielens-10m", "netflix", "yahoo-music"}
        The set to imitate; `SHAPES` tells its numbers of users, items and ratings.
    scale_down : float, default=1.0
        How many times fewer ratings to make; at least 1. With 100 there are a hundredth of the ratings by a tenth of
        the users for a tenth of the items, so the matrix is as dense.
    seed : int, default=0
        Seed of all randomness.

    Returns
    -------
    Ratings

    Examples
    --------
    >>> like("movielens-10m", scale_down=10_000)
    Ratings(1,000 ratings, 699 users, 107 items, values 0.5 to 5)
    """
    return low_rank(**_arguments_like(name, scale_down), seed=seed)


def pieces_like(name: str, scale_down: float = 1.0, seed: int = 0) -> Iterator[Piece]:
    """The same ratings, about two million at a time: users, items and values, which is all the memory they take."""
    yield from _Maker(**_arguments_like(name, scale_down), seed=seed).pieces()


def _arguments_like(name: str, scale_down: float) -> dict[str, Any]:
    """The arguments of `low_rank`."""
    if name not in SHAPES:
        raise ValueError(f"there is no shape {name!r}; choose one of {', '.join(SHAPES)}")
    if not scale_down >= 1:
        raise ValueError(f"scale_down must be at least 1, found {scale_down}; 100 makes a hundredth of the ratings")
    n_users, n_items, n_ratings = SHAPES[name]
    side = scale_down**0.5
    shape = max(round(n_users / side), 1), max(round(n_items / side), 1)
    scale, step = _SCALES[name]
    most = min(round(n_ratings / scale_down), shape[0] * shape[1])
    return {"n_users": shape[0], "n_items": shape[1], "n_ratings": most, "scale": scale, "step": step}


def low_rank(
    n_users: int,
    n_items: int,
    n_ratings: int,
    rank: int = 10,
    noise: float = 0.7,
    scale: tuple[float, float] = (1.0, 5.0),
    step: float | None = 1.0,
    signal: float = 0.6,
    effects: float = 1.0,
    level: float = 0.2,
    popularity: Popularity = "log-normal",
    seed: int = 0,
) -> Ratings:
    """Ratings with a planted taste of the given rank.

    Parameters
    ----------
    n_users : int
        Number of users; every user has at least one rating where there are enough.
    n_items : int
        Number of items.
    n_ratings : int
        Number of ratings, at most one for each pair of user and item.
    rank : int, default=10
        How many directions the planted tastes have.
    noise : float, default=0.7
        The standard deviation, in stars, of what nothing can predict.
    scale : (float, float), default=(1.0, 5.0)
        The lowest and the highest rating.
    step : float or None, default=1.0
        Step to which ratings are rounded; None leaves them as they are.
    signal : float, default=0.6
        The standard deviation, in stars, of the planted tastes.
    effects : float, default=1.0
        How strong the effects of users and items are: 1 is a deviation of 0.4 stars by user and 0.5 by item.
    level : float, default=0.2
        How far the mean lies above the middle of the scale, in stars, before what is off the scale is cut.
    popularity : {"log-normal", "zipf"}, default="log-normal"
        How popularity falls from item to item; under Zipf's law most items of a large catalogue have a few ratings.
    seed : int, default=0
        Seed of all randomness.

    Returns
    -------
    Ratings

    Examples
    --------
    >>> low_rank(n_users=50, n_items=20, n_ratings=300)
    Ratings(300 ratings, 50 users, 20 items, values 1 to 5)
    """
    made = _Maker(n_users, n_items, n_ratings, rank, noise, scale, step, signal, effects, level, popularity, seed)
    items, values, begin = np.empty(n_ratings, dtype=np.int32), np.empty(n_ratings, dtype=np.float32), 0
    for _, some_items, some_values in made.pieces():
        here = slice(begin, begin + len(some_items))
        items[here], values[here], begin = some_items, some_values, here.stop
    indptr = np.concatenate([[0], np.cumsum(made.counts)])
    return Ratings(Vocabulary.of_range(n_users), Vocabulary.of_range(n_items), Rows.taking(indptr, items, values))


class _Maker:
    """Everything drawn before the first rating; its arguments are those of `low_rank`."""

    def __init__(
        self,
        n_users: int,
        n_items: int,
        n_ratings: int,
        rank: int = 10,
        noise: float = 0.7,
        scale: tuple[float, float] = (1.0, 5.0),
        step: float | None = 1.0,
        signal: float = 0.6,
        effects: float = 1.0,
        level: float = 0.2,
        popularity: Popularity = "log-normal",
        seed: int = 0,
    ) -> None:
        _check(n_users, n_items, n_ratings, rank, noise, scale, step)
        if popularity not in get_args(Popularity):
            raise ValueError(f"popularity must be one of {', '.join(get_args(Popularity))}, found {popularity!r}")
        self._random = random = np.random.default_rng(seed)
        log_popularity = _log_popularity(popularity, n_items, random)
        self.counts = _long_tailed_counts(random.lognormal(0, 1.2, n_users), n_ratings, n_items, random)
        self._slots = _slots(np.exp(log_popularity), n_users / n_ratings)
        quality = 0.5 * _standard(popularity, log_popularity) + 0.87 * random.normal(size=n_items)
        self._planted = _Planted(
            random.normal(0, 0.4 * effects, n_users).astype(np.float32),
            (0.5 * effects * quality).astype(np.float32),
            random.normal(0, 1, (n_users, rank)).astype(np.float32),
            random.normal(0, signal / rank**0.5, (n_items, rank)).astype(np.float32),
        )
        self._level, self._noise, self._scale, self._step = level, noise, scale, step

    def pieces(self) -> Iterator[Piece]:
        """Users, items and values of some users at a time."""
        random, n_items = self._random, len(self._planted.appeal)
        for first, last in _chunks(np.concatenate([[0], np.cumsum(self.counts)])):
            users, items = _distinct_pairs(self.counts[first:last], self._slots, n_items, random)
            stars = self._planted.stars(users + first, items) + np.float32(self._level)
            stars += np.float32(self._noise) * random.standard_normal(len(stars), dtype=np.float32)
            yield users + first, items, _on_scale(stars, self._scale, self._step)


def _log_popularity(popularity: Popularity, n_items: int, random: np.random.Generator) -> NDArray[np.float64]:
    """The logarithm of what the share of each item is in proportion to."""
    if popularity == "zipf":
        ranks = random.permutation(n_items) + 1.0
        log_shares: NDArray[np.float64] = -np.log(ranks)
        return log_shares
    return random.normal(0, 1.75, n_items)


def _standard(popularity: Popularity, log_popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scales numbers to mean 0 and deviation 1. Under Zipf's law −log(rank/n) is exponential."""
    if popularity == "zipf":
        return np.asarray(log_popularity + np.log(len(log_popularity)) - 1)
    return log_popularity / 1.75


class _Planted:
    """The factors and effects behind the ratings, before noise and rounding."""

    def __init__(
        self,
        user_effect: NDArray[np.float32],
        item_effect: NDArray[np.float32],
        taste: NDArray[np.float32],
        appeal: NDArray[np.float32],
    ) -> None:
        self.user_effect, self.item_effect, self.taste, self.appeal = user_effect, item_effect, taste, appeal

    def stars(self, users: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float32]:
        matched: NDArray[np.float32] = np.einsum("nk,nk->n", self.taste[users], self.appeal[items])
        matched += self.user_effect[users]
        matched += self.item_effect[items]
        return matched


def _check(
    n_users: int,
    n_items: int,
    n_ratings: int,
    rank: int,
    noise: float,
    scale: tuple[float, float],
    step: float | None,
) -> None:
    if min(n_users, n_items, n_ratings, rank) < 1:
        raise ValueError(
            f"n_users, n_items, n_ratings and rank must be at least 1, found {n_users}, {n_items}, {n_ratings}, {rank}"
        )
    if n_ratings > n_users * n_items:
        raise ValueError(
            f"n_ratings={n_ratings} is more than the {n_users * n_items} pairs of {n_users} users and {n_items} items; "
            "ask for fewer"
        )
    if not noise >= 0:
        raise ValueError(f"noise must be at least 0, found {noise}")
    if not scale[0] < scale[1] or (step is not None and not step > 0):
        raise ValueError(
            f"the scale must ascend by a positive step, found scale={scale}, step={step}; such as scale=(1, 5), step=1"
        )


def _long_tailed_counts(
    weights: NDArray[np.float64], total: int, n_items: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Whole numbers in proportion to the weights, from 1 to n_items where that is possible, of exactly that total."""
    least = 1 if total >= len(weights) else 0
    most = max(n_items // 2, min(-(-2 * total // len(weights)), n_items))
    low, high = 0.0, total / float(weights.min())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(middle * weights, least, most).sum() < total else (low, middle)
    counts = np.clip(np.floor(low * weights), least, most).astype(np.int64)
    while missing := total - int(counts.sum()):
        movable = np.flatnonzero(counts < most if missing > 0 else counts > least)
        counts[random.permutation(movable)[: abs(missing)]] += np.sign(missing)
    return counts


def _slots(popularity: NDArray[np.float64], users_per_rating: float) -> NDArray[np.int32]:
    """A table that holds every item as often as it is popular, so that a random slot is a random item.

    No item is drawn so often that more than half of the users would rate it.
    """
    share = popularity / popularity.sum()
    share = np.minimum(share, max(0.5 * users_per_rating, 1 / len(share)))
    size = max(2**18, 32 * len(share))
    return np.repeat(np.arange(len(share), dtype=np.int32), np.ceil(size * share / share.sum()).astype(np.int64))


def _chunks(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """First and last row of runs of rows with about `_CHUNK` ratings each."""
    inner = np.searchsorted(indptr, np.arange(_CHUNK, int(indptr[-1]), _CHUNK))
    bounds = np.unique([0, *inner.tolist(), len(indptr) - 1]).tolist()
    return list(pairwise(bounds))


def _distinct_pairs(
    counts: NDArray[np.int64], slots: NDArray[np.int32], n_items: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draws that many distinct items per row by popularity; repeats are dropped and drawn again."""
    rows = np.arange(len(counts))
    pairs = np.empty(0, dtype=np.int64)
    lacking = counts
    for _ in range(8):
        drawn = np.repeat(rows, lacking) * n_items + slots[random.integers(len(slots), size=int(lacking.sum()))]
        pairs = np.concatenate([pairs, np.sort(drawn)])
        pairs.sort(kind="stable")  # two ascending runs: a merge
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs
        lacking = counts - np.bincount(pairs // n_items, minlength=len(counts))
        if not lacking.any():
            break
    # Whoever rates nearly everything popular gets the rest from what is left.
    rest = [_draw_left_over(row, int(lacking[row]), pairs, n_items, random) for row in np.flatnonzero(lacking).tolist()]
    pairs = np.sort(np.concatenate([pairs, *rest]))
    return pairs // n_items, (pairs % n_items).astype(np.int32)


def _draw_left_over(
    row: int, n: int, pairs: NDArray[np.int64], n_items: int, random: np.random.Generator
) -> NDArray[np.int64]:
    begin, end = np.searchsorted(pairs, [row * n_items, (row + 1) * n_items])
    unrated = np.setdiff1d(np.arange(n_items), pairs[begin:end] % n_items, assume_unique=True)
    return row * n_items + random.choice(unrated, n, replace=False)


def _on_scale(stars: NDArray[np.float32], scale: tuple[float, float], step: float | None) -> NDArray[np.float32]:
    low, high = scale
    values = (low + high) / 2 + stars * ((high - low) / 4)
    if step is not None:
        values = low + step * np.round((values - low) / step)
    clipped: NDArray[np.float32] = np.clip(values, low, high).astype(np.float32)
    return clipped


__all__ = ["SHAPES", "film_club", "like", "low_rank"]
