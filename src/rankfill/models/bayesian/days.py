"""When ratings were given, as a third side: a row (t_d, b_d) for every day d that has ratings.

    r_ui ~ N(b_u + b_i + b_d + p_u·q_i + p_u·t_d + q_i·t_d, 1/α)

Rows of days come from a Normal–Wishart prior of their own and are drawn like those of users and items. At fixed times
with the mean row t the model is one without times again: a user (p, b) is then (p + t, b + p·t + b_t), the item stays.
So whatever is asked without a time is answered at the mean of the times at which the user has rated, and at the mean
time of all ratings for whoever was not in training.

Tried, and not kept: links of days to their week and their month, so that days near each other are alike. The error was
lower in one of five fits to splits of MovieLens 100K and 1M, and higher in four.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, ThirdSide, padded_copy, sparse_entries, sparse_times
from rankfill.models.bayesian.moods import At, KnownMoods
from rankfill.models.bayesian.priors import Matrix
from rankfill.models.bayesian.sides import Side

Block = NDArray[np.float32]
Numbers = NDArray[np.int32]

_SECONDS = 86_400


def numbered_days(timestamps: NDArray[np.int64]) -> tuple[NDArray[np.int64], Numbers]:
    """The days since 1970 that have ratings, ascending, and for every rating its place among them."""
    dates, numbers = np.unique(timestamps // _SECONDS, return_inverse=True)
    return dates, numbers.astype(np.int32)


class Days:
    """The rows of days beside the ratings of a chain, and which day every rating is of."""

    def __init__(self, by_user: Rows, by_item: Rows, order: NDArray[np.intp], rank: int, of_entry: Numbers) -> None:
        """`order` takes entries by user to entries by item; days, numbered from 0, are of entries by user."""
        users, self._by_day = by_user.row_of_entry(), np.argsort(of_entry, kind="stable")
        counts = np.bincount(of_entry)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        self.side = Side(Rows.taking(indptr, users[self._by_day], by_user.values[self._by_day]), rank, rank, None)
        self._items_by_day = by_user.indices[self._by_day]
        shares = (1.0 / np.maximum(by_user.counts(), 1))[users].astype(np.float32)
        self._of_users = Rows(by_user.indptr, of_entry, shares)
        self._of_items = Rows(by_item.indptr, of_entry[order], by_item.values)
        self._order, self._weights = order, counts / len(of_entry)

    def beside_users(self) -> ThirdSide:
        """What else the rows of users are drawn from."""
        return ThirdSide(self.side.as_other(), self._of_users.indices)

    def beside_items(self) -> ThirdSide:
        """What else the rows of items are drawn from."""
        return ThirdSide(self.side.as_other(), self._of_items.indices)

    def beside_days(self, items: Side) -> ThirdSide:
        """What the rows of days are drawn from beside the users."""
        return ThirdSide(items.as_other(), self._items_by_day)

    def draw(self, users: Side, items: Side, noise_precision: float, random: np.random.Generator, key: int) -> None:
        """Draws the prior of the days, and every day."""
        self.side.draw_prior(random, key)
        self.side.draw(users, noise_precision, key, third=self.beside_days(items))

    def observe(self, values: Block) -> None:
        """Takes other ratings of the same pairs, in the order by user."""
        self.side.ratings = self.side.ratings._replace(values=values[self._by_day])

    def contributions(self, users: Block, items: Block) -> Block:
        """p_u·t_d + q_i·t_d + b_d of every rating, in the order by user."""
        rank = self.side.rank
        days, users, items = (np.ascontiguousarray(each[:, :rank]) for each in (self.side.rows, users, items))
        total = sparse_entries(self._of_users, users, days)
        total[self._order] += sparse_entries(self._of_items, items, days)
        total += self.side.rows[self._of_users.indices, rank]
        return total

    def of_users(self, rows: Block | None = None) -> Block:
        """The mean row of days over the times at which each user has rated; `rows` may stand for those of days."""
        chosen = self.side.unknowns() if rows is None else rows
        wide = padded_copy(chosen)
        return sparse_times(self._of_users, self._of_users.values, wide)[:, : chosen.shape[1]]

    def of_all(self, rows: Block | None = None) -> Block:
        """The mean row over all ratings, alone in a block."""
        chosen = self.side.unknowns() if rows is None else rows
        return (self._weights @ chosen.astype(np.float64))[None, :].astype(np.float32)


def at_times(rows: Block, times: Block) -> Block:
    """Rows (factors, bias) of users as they are at fixed times, whose rows are the other block."""
    rank = rows.shape[1] - 1
    found = rows + times
    found[:, rank] += np.einsum("ij,ij->i", rows[:, :rank], np.broadcast_to(times, rows.shape)[:, :rank])
    return found


def precision_at(precision: Matrix, time: Block) -> Matrix:
    """The precision of users as they are at one fixed time: with (p, b + p·t) for (p, b), (I, 0; −t, 1) undoes it."""
    rank = len(precision) - 1
    back = np.eye(rank + 1)
    back[rank, :rank] = -time[0, :rank]
    found: Matrix = back.T @ precision @ back
    return found


def weights_at(weights: Block, time: Block) -> Block:
    """Weights of links of users as they are at one fixed time."""
    rank = weights.shape[1] - 1
    found = weights.copy()
    found[:, rank] += weights[:, :rank] @ time[0, :rank]
    return found


@dataclass
class Timed:
    """What a time changes, in the mean of the samples: (users + items) · (days − times) in units of ratings.

    The last row of users, items and `times` stands for whoever is not known. Days and times have one column more,
    b_d, which in `times` holds the mean mood, too. `dates` are the days since 1970 that have ratings, ascending.
    """

    dates: NDArray[np.int64]
    users: Block
    items: Block
    days: Block
    times: Block
    moods: KnownMoods

    def at(self, users: Numbers, items: Numbers, timestamps: NDArray[np.int64]) -> At:
        """What times tell of the ratings of row numbers, −1 for what is not known; the nearest day counts."""
        rank = self.users.shape[1]
        users = np.where(users < len(self.users) - 1, users, -1)
        items = np.where(items < len(self.items) - 1, items, -1)
        away = self.days[self.nearest(timestamps // _SECONDS)] - self.times[users]
        found = np.einsum("ij,ij->i", self.users[users] + self.items[items], away[:, :rank]) + away[:, rank]
        moods = self.moods.at(users, timestamps)
        return moods._replace(means=found + moods.means)

    def of_users(self, rows: list[int]) -> "Timed":
        """The same with these users alone; the last of them stands for whoever is not known."""
        moods = self.moods.of_rows(rows[:-1])
        return replace(self, users=self.users[rows], times=self.times[rows], moods=moods)

    def check(self, n_users: int, n_items: int) -> None:
        """Raises where arrays read from a file do not belong together; who came later has no times."""
        n_users, n_items = min(len(self.users) - 1, n_users), min(len(self.items) - 1, n_items)
        width, shapes = self.users.shape[-1], [array.shape for array in (self.users, self.items, self.days, self.times)]
        wanted = [(n_users + 1, width), (n_items + 1, width), (len(self.dates), width + 1), (n_users + 1, width + 1)]
        if shapes != wanted or min(n_users, n_items) < 0 or len(self.dates) == 0 or not (np.diff(self.dates) > 0).all():
            raise ValueError(f"what is known of times has the shapes {shapes}, which do not belong together")
        self.moods.check(len(self.users) - 1)

    def nearest(self, dates: NDArray[np.int64]) -> NDArray[np.intp]:
        """The places of the days that are nearest to these."""
        after = np.searchsorted(self.dates, dates).clip(1, max(len(self.dates) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(self.dates) - 1)
        nearer: NDArray[np.intp] = np.where(dates - self.dates[before] <= self.dates[after] - dates, before, after)
        return nearer
