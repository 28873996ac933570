"""What `benchmarks kernels` measures, a function a figure, each called in a fresh process.

Both sides of a figure take turns in one process, so that whatever slows the machine slows both. Every function returns
the figures of rankfill ("ours") and of what it is compared with ("theirs"), one a repetition.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rankfill as rf
from benchmarks.harness import datasets
from benchmarks.harness.memory import PeakMemory
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Interactions, Plan, Rival
from benchmarks.rivals.rankfill_models import as_ratings
from rankfill.kernels import Rule, _native, instruction_set, padded, padded_copy

Figures = dict[str, Any]
EPOCHS = 4
EVENTS = 100_000
RULE = Rule(C=0.02)


class Alternation:
    """One P pass and one Q pass over the ratings, always from the same factors."""

    def __init__(self, ratings: rf.Ratings, rank: int) -> None:
        self.ratings = ratings
        random = np.random.default_rng(0)
        self._users = padded(ratings.n_users, rank)
        self._items = padded_copy(random.random((ratings.n_items, rank)))
        self.nanoseconds(threads=1, keep=True)  # past the start from zeros; also warms up

    def nanoseconds(self, threads: int, plainly: bool = False, keep: bool = False) -> float:
        """A rating, for both passes together."""
        users, items = padded_copy(self._users), padded_copy(self._items)
        how = {"plainly": plainly, "threads": threads, "isa": instruction_set()}
        by_user, by_item = self.ratings.by_user, self.ratings.by_item
        started = time.perf_counter()
        _native.passive_aggressive_pass(by_user.pattern, by_user.values, users, items, RULE.native(), 1, **how)
        _native.passive_aggressive_pass(by_item.pattern, by_item.values, items, users, RULE.native(), 2, **how)
        seconds = time.perf_counter() - started
        if keep:
            self._users, self._items = users, items
        return 1e9 * seconds / len(self.ratings)


def against_libmf(folder: str, rank: int, threads: int, repetitions: int) -> Figures:
    """Nanoseconds a rating: one alternation, one LIBMF epoch."""
    system = _first_available("libmf_binary", "libmf")
    train = datasets.read(Path(folder), "train")
    ours = Alternation(as_ratings(train), rank)
    prepared = system.prepare(train, Plan(rank, threads, 1, 0))
    theirs = lambda: 1e9 * _libmf_epoch(system, prepared, rank, threads) / len(train)  # noqa: E731
    return _in_turn(lambda: ours.nanoseconds(threads), theirs, repetitions)


def _libmf_epoch(system: Rival, prepared: Any, rank: int, threads: int) -> float:
    """Seconds of one more epoch: the first is a short one, and the set-up is not an epoch."""
    seconds = []
    for epochs in (1, 1 + EPOCHS):
        started = time.perf_counter()
        fitted = system.fit(prepared, Plan(rank, threads, epochs, 0))
        seconds.append(system.seconds(fitted) or time.perf_counter() - started)
    return (seconds[1] - seconds[0]) / EPOCHS


def against_plain(folder: str, rank: int, threads: int, repetitions: int) -> Figures:
    """Nanoseconds a rating: rows in waves, a row at a time."""
    alternation = Alternation(as_ratings(datasets.read(Path(folder), "train")), rank)
    plain = lambda: alternation.nanoseconds(threads, plainly=True)  # noqa: E731
    return _in_turn(lambda: alternation.nanoseconds(threads), plain, repetitions)


def scaling(folder: str, rank: int, threads: int, repetitions: int) -> Figures:
    """Nanoseconds a rating: on all threads asked for, on one."""
    alternation = Alternation(as_ratings(datasets.read(Path(folder), "train")), rank)
    return _in_turn(lambda: alternation.nanoseconds(threads), lambda: alternation.nanoseconds(1), repetitions)


def against_implicit(folder: str, rank: int, threads: int, repetitions: int) -> Figures:
    """Users a second with their ten best unrated items, from the same factors; implicit as fast as it can."""
    from threadpoolctl import threadpool_limits

    system = _first_available("implicit")
    train = datasets.read(Path(folder), "train")
    rf.set_threads(threads)
    model = rf.PassiveAggressive(rank=rank, C=RULE.C, recipe="paper", passes=2, tol=None).fit(as_ratings(train))
    users = np.flatnonzero(np.bincount(train.users, minlength=train.n_users)).astype(np.int32)
    seen = system.prepare(train, Plan(rank, threads, 1, 0))[users]
    rival = _with_factors(np.array(model.user_factors_), np.array(model.item_factors_))

    def recommend(own_threads: int, blas_threads: int) -> tuple[float, NDArray[np.integer]]:
        rival.num_threads = own_threads
        with threadpool_limits(blas_threads, "blas"):
            started = time.perf_counter()
            items, _ = rival.recommend(users, seen, N=10, filter_already_liked_items=True)
        return len(users) / (time.perf_counter() - started), items

    def ours() -> float:
        started = time.perf_counter()
        model.recommend(users, 10)
        return len(users) / (time.perf_counter() - started)

    agreement = float((recommend(threads, 1)[1] == model.recommend(users, 10).items).mean())
    fastest = max(((threads, 1), (1, threads)), key=lambda how: recommend(*how)[0])
    figures = _in_turn(ours, lambda: recommend(*fastest)[0], repetitions)
    return {**figures, "remark": f"{agreement:.1%} of the places agree; {fastest[0]} threads of its own"}


def _with_factors(user_factors: NDArray[np.float32], item_factors: NDArray[np.float32]) -> Any:
    from implicit.cpu.als import AlternatingLeastSquares

    rival = AlternatingLeastSquares(factors=user_factors.shape[1])
    rival.user_factors, rival.item_factors = user_factors, item_factors
    return rival


def against_river(folder: str, rank: int, threads: int, repetitions: int, batch: int = EVENTS) -> Figures:
    """Events a second: `partial_fit` of ids in batches, river's loop. Making the batches is on the clock."""
    rival = _first_available("river")
    events = datasets.read(Path(folder), "train").head(EVENTS)
    own = RIVALS["rankfill_passive_aggressive_online"](batch=batch)
    plan = Plan(rank, threads, 1, 0)
    few: Interactions = events.head(1000)
    own.stream(few, plan)
    rival.stream(few, plan)
    return _in_turn(
        lambda: len(events) / _seconds(own.stream, events, plan),
        lambda: len(events) / _seconds(rival.stream, events, plan),
        repetitions,
    )


def bytes_a_rating(folder: str, rank: int, threads: int, repetitions: int, by_user: bool = True) -> Figures:
    """Resident memory gained from before there were `Ratings` to the peak of the fit; factors are in it."""
    rf.set_threads(threads)
    train = datasets.read(Path(folder), "train").in_memory()
    if by_user:
        order = np.lexsort((train.items, train.users))
        arrays = train.users[order], train.items[order], train.values[order]
        train = Interactions(*arrays, train.n_users, train.n_items)
        del order, arrays
    vocabularies = rf.Vocabulary.of_range(train.n_users), rf.Vocabulary.of_range(train.n_items)
    model = rf.PassiveAggressive(rank=rank, C=RULE.C, recipe="paper", passes=1)
    model.fit(as_ratings(train.head(1000)))
    memory = PeakMemory()
    ratings = rf.Ratings.from_indices(*vocabularies, train.users, train.items, train.values)
    held = memory.now() / len(train)
    memory.restart()
    model.fit(ratings)
    remark = f"{held:.1f} held before the fit, {memory.now() / len(train):.1f} after it"
    return {"ours": [memory.peak() / len(train)], "theirs": [1.0], "remark": remark}


def _first_available(*names: str) -> Rival:
    reasons = []
    for name in names:
        system = RIVALS[name]()
        reason = system.available()
        if reason is None:
            return system
        reasons.append(reason)
    raise RuntimeError("; ".join(reasons))


def _in_turn(ours: Callable[[], float], theirs: Callable[[], float], repetitions: int) -> Figures:
    """A B A B …, after one of each that does not count."""
    figures: dict[str, list[float]] = {"ours": [], "theirs": []}
    for repetition in range(repetitions + 1):
        for name, measure in (("ours", ours), ("theirs", theirs)):
            figure = measure()
            if repetition:
                figures[name].append(figure)
    return dict(figures)


def _seconds(work: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started
