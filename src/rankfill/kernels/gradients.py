"""Stochastic gradient rounds: a pass over a grid of blocks, and rounds in order of arrival."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES
from rankfill.kernels.rows import own_and_read_only
from rankfill.kernels.scratch import zeros_on_disk
from rankfill.kernels.threads import get_threads, instruction_set

LossName = Literal["squared", "absolute", "epsilon-insensitive", "huber", "logistic"]
StepName = Literal["adagrad", "constant", "inverse", "sqrt", "power", "line-search"]

LOOK_AHEAD = 4
MAX_GROUPS = 32


@dataclass(frozen=True)
class GradientRule:
    """What one round does: e = r − p·q, g = dℓ/de, then p ← p + η(g q − λ p) and q ← q + η(g p − λ q) at once.
    Each row has a λ of its own; `penalty` is that of the inverse schedule.

    The step η of round t = 0, 1, … (`period` rounds are a pass): constant `rate`; inverse rate/(1 + rate λ t); sqrt
    rate/√(1 + t/period); power rate·(1 + t/period)^−power; line-search the first of rate, rate/2, … with
    f(θ − η∇f) ≤ f(θ) − ½η‖∇f‖² for the loss and penalty f of this rating; adagrad rate/√G for each row, where G starts
    at 1 and grows by ‖g q − λ p‖²/rank. `width` is the ε or δ of the loss. With `biased` rows are (p, b_u, 1) and
    (q, 1, b_i); the ones do not move, and a bias is held by `bias_share` times the λ of its row (in G by all of it).
    """

    rank: int
    loss: LossName = "squared"
    width: float = 0.0
    step: StepName = "adagrad"
    rate: float = 0.1
    power: float = 0.5
    penalty: float = 0.05
    bias_share: float = 1.0
    period: float = 1.0
    nonnegative_users: bool = False
    nonnegative_items: bool = False
    biased: bool = True

    def native(self) -> _native.GradientRule:
        return _native.GradientRule(**vars(self))


class RoundSums(NamedTuple):
    """Sums over rounds, each term taken before its round: the losses, e² and |e|."""

    loss: float
    squared: float
    absolute: float


class RowMeans(NamedTuple):
    """The mean of each row over the rounds that moved it, and over how many; no rows where none is wanted."""

    rows: NDArray[np.float32]
    met: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> "RowMeans":
        """Makes means for rows of this shape, before any round."""
        return cls(np.zeros_like(rows), np.zeros(len(rows), np.float32))


NO_MEANS = RowMeans(np.zeros((0, LANES), np.float32), np.zeros(0, np.float32))


class Grid:
    """Entries in groups × groups blocks; block (b, c) holds entries start[b · groups + c] … of users in group b and
    items in group c. `users` and `items` go on for LOOK_AHEAD entries past the last. Checked when it is made, from
    arrays that it takes over."""

    __slots__ = ("items", "native", "start", "users", "values")

    def __init__(
        self,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        values: NDArray[np.float32],
        start: NDArray[np.int64],
    ) -> None:
        self.users, self.items, self.start = (own_and_read_only(each) for each in (users, items, start))
        self.values = values
        self.native = _native.Grid(self.users, self.items, values, self.start)

    @property
    def groups(self) -> int:
        return round(float(np.sqrt(len(self.start) - 1)))


Piece = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
"""Users, items and targets of some entries."""


def make_grid(
    users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32], shape: tuple[int, int], seed: int
) -> Grid:
    """Puts ratings into blocks, shuffled within each: 12 bytes a rating beside the ratings themselves.

    Users and items are shuffled and cut into groups of about as many ratings each. The number of groups depends on
    the ratings alone, never on the number of threads.
    """
    counts = np.bincount(users, minlength=shape[0]), np.bincount(items, minlength=shape[1])
    return grid_of(lambda: iter([(users, items, values)]), counts, seed)


def grid_of(
    pieces: Callable[[], Iterator[Piece]],
    counts: tuple[NDArray[np.int64], NDArray[np.int64]],
    seed: int,
    *,
    on_disk: bool = False,
) -> Grid:
    """The same from ratings that come piece by piece, twice; `counts` are those of users and of items.

    Within a block ratings come in random order. With `on_disk` the grid is in temporary files without a name.
    """
    rng = np.random.default_rng(seed)
    groups = max(1, min(MAX_GROUPS, *(int(np.count_nonzero(each)) for each in counts)))
    group_of_user, group_of_item = (_balanced_groups(each, groups, rng) for each in counts)

    def blocks_of(users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.int16]:
        return group_of_user[users] * np.int16(groups) + group_of_item[items]

    sizes = np.zeros(groups * groups, np.int64)
    for users, items, _ in pieces():
        sizes += np.bincount(blocks_of(users, items), minlength=groups * groups)
    start = np.concatenate([[0], np.cumsum(sizes)])
    n, make = int(start[-1]), zeros_on_disk if on_disk else np.zeros
    columns = make(n + LOOK_AHEAD, np.int32), make(n + LOOK_AHEAD, np.int32), make(n, np.float32)
    free = start[:-1].copy()
    for piece in pieces():
        block = blocks_of(*piece[:2])
        order = np.argsort(block, kind="stable")
        ends = np.cumsum(np.bincount(block, minlength=groups * groups))
        for column, given in zip(columns, piece, strict=True):
            _deal(column, given[order], free, ends)
        free += np.diff(ends, prepend=0)
    for begin, end in pairwise(start.tolist()):
        order = rng.permutation(end - begin)
        for column in columns:
            column[begin:end] = column[begin:end][order]
    return Grid(*columns, start)


def _deal(
    column: NDArray[Any], sorted_by_block: NDArray[Any], free: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Copies each block's part to where that block has room."""
    for place, begin, end in zip(free.tolist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        column[place : place + end - begin] = sorted_by_block[begin:end]


def _balanced_groups(counts: NDArray[np.int64], groups: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """A group for each row, so that groups have about as many entries each; rows without entries do not matter."""
    order = rng.permutation(np.flatnonzero(counts))
    upto = np.cumsum(counts[order])
    group = np.zeros(len(counts), dtype=np.int16)
    group[order] = (upto - (counts[order] + 1) // 2) * groups // int(upto[-1])
    return group


def gradient_pass(
    grid: Grid,
    strata: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    user_penalties: NDArray[np.float32],
    item_penalties: NDArray[np.float32],
    rule: GradientRule,
    first_round: int,
    means: tuple[RowMeans, RowMeans] = (NO_MEANS, NO_MEANS),
) -> RoundSums:
    """A round for every entry, stratum by stratum; stratum s pairs user group b with item group (b + s) mod groups.

    There is one penalty per row. `means` takes in each row after each of its rounds.
    """
    return RoundSums(
        *_native.gradient_pass(
            grid.native,
            strata,
            user_factors,
            item_factors,
            user_memory,
            item_memory,
            user_penalties,
            item_penalties,
            means[0].rows,
            means[1].rows,
            means[0].met,
            means[1].met,
            rule.native(),
            float(first_round),
            get_threads(),
            instruction_set(),
        )
    )


def gradient_online(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    first_round: int,
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    user_penalties: NDArray[np.float32],
    item_penalties: NDArray[np.float32],
    rule: GradientRule,
) -> RoundSums:
    """Rounds in the order given; there is one penalty per round for each side."""
    return RoundSums(
        *_native.gradient_online(
            users,
            items,
            targets,
            float(first_round),
            user_factors,
            item_factors,
            user_memory,
            item_memory,
            user_penalties,
            item_penalties,
            rule.native(),
            instruction_set(),
        )
    )
