"""What a fitted factorisation learns from ratings that come later: rows drawn anew, given the other side.

A user who rates is drawn anew in every sample that is kept, from all the user's ratings and the items as they are. From
time to time, at the end of a *turn*, the items rated in it are drawn given the users, and these users once more. How
long a turn is depends on the number of ratings alone, so that it does not matter how a stream is cut into calls. What
holds for all rows, the distribution that they come from, the noise and the links, stays as it was learned.

The factors of the mean of predictions get the mean over the samples of the row expected, and what the row had beside
that before: the samples that are kept are some of those that the mean was made of.

A stream that begins with nothing is learned as a whole whenever the number of its ratings has doubled. What a stream
brings counts without its times.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Growing, Rows, padded
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.base.forgetting import Left
from rankfill.models.base.online import OnlineFactorModel
from rankfill.models.base.state import Parts
from rankfill.models.bayesian.conditional import Given, rows_given
from rankfill.models.bayesian.folding import FoldingIn, Matrices
from rankfill.models.bayesian.samples import Samples, Sizes

_RATINGS_FOR_A_TURN, _LONGEST_TURN = 256, 4096
_NOTHING, _LEARNED, _DESCRIBED = 0.0, 1.0, 2.0
"""What a row had before a stream: no rating, ratings, or features alone."""

Numbers = NDArray[np.int32]


@dataclass
class Turn:
    """Where in the ratings a turn begins and ends, and the maps that it takes from samples to their mean.

    `next_fit` is how many ratings there are when all is learned anew, 0 for never.
    """

    begin: int
    end: int
    next_fit: int
    to_users: Matrices
    to_items: Matrices


@dataclass
class Entries:
    """All ratings by row numbers of users and items, in the order in which they were learned."""

    by: Growing
    of: Growing
    values: Growing

    def __len__(self) -> int:
        return len(self.values)

    def add(self, users: Numbers, items: Numbers, values: NDArray[np.float32]) -> None:
        self.by.extend(users)
        self.of.extend(items)
        self.values.extend(values)

    def rows(self, side: Side, numbers: Numbers, last: int) -> Rows:
        """Those of some rows of a side, of the first `last` ratings; of a pair that came again the last one."""
        own, other = (self.by.array, self.of.array) if side == "user" else (self.of.array, self.by.array)
        place = np.full(int(max(own[:last].max(initial=0), numbers.max(initial=0))) + 1, -1)
        place[numbers] = np.arange(len(numbers))
        rows = place[own[:last]]
        chosen = np.flatnonzero(rows >= 0)
        order = chosen[np.lexsort((other[chosen], rows[chosen]))]
        rows, columns = place[own[order]], other[order]
        final = np.append((rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]), True)[: len(order)]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[final], minlength=len(numbers)))])
        return Rows.taking(indptr, columns[final].astype(np.int32), self.values.array[order[final]])

    def without(self, left: Left) -> "Entries":
        """Those of the users who stay."""
        by = left.renumber(self.by.array)
        stay = by >= 0
        return Entries(Growing(by[stay]), Growing(self.of.array[stay]), Growing(self.values.array[stay]))

    def check(self, n_users: int, n_items: int) -> None:
        """Raises where what was read from a file does not belong together."""
        for rows, n in ((self.by, n_users), (self.of, n_items)):
            numbers = rows.array
            whole = numbers.dtype == np.int32 and numbers.shape == self.values.array.shape
            if not whole or len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= n:
                raise ValueError(f"entries are not those of {n_users} users and {n_items} items")


class GoingOn(FoldingIn, OnlineFactorModel):
    """A model of samples that goes on learning."""

    _learned: ClassVar[tuple[str, ...]] = ("_entries", "_turn", "_user_rest", "_item_rest")

    _entries: Entries | None
    _turn: Turn | None
    _user_rest: Growing | None
    _item_rest: Growing | None
    samples: int
    seed: int
    time: bool

    def _keep_entries(self, ratings: Ratings) -> None:
        """Takes note of what a fit has learned from."""
        users, items, values = ratings.user_indices, ratings.item_indices, ratings.values
        self._entries = Entries(Growing(users.copy()), Growing(items.copy()), Growing(values.copy()))
        self._turn = self._user_rest = self._item_rest = None

    def _check_unchanged(self) -> None:
        rank = self._samples.users.shape[2] - 1
        if self.rank != rank:
            raise ValueError(f"rank is {self.rank}, what was learned has {rank}; fit anew, or set rank back")
        if self._entries is None:
            raise ValueError(
                "this model was saved without what users have rated, which rows are drawn from; fit it again, or save "
                "it with history=True"
            )

    def _begin_stream(self, ratings: Ratings) -> None:
        none = Samples.room_for(int(self.samples), Sizes(0, 0), int(self.rank) + 1, False).compact()
        for name, value in self._initial_state(none).items():
            setattr(self, name, value)
        width = 2 * int(self.rank)
        self._set_factors(padded(0, width + 2), padded(0, width + 2), width, biased=True)
        nobody = np.empty(0, np.int32)
        self._entries = Entries(Growing(nobody), Growing(nobody.copy()), Growing(np.empty(0, np.float32)))
        self._user_rest = self._item_rest = None
        self._turn = Turn(0, 1, 1, np.empty((0, 0, 0)), np.empty((0, 0, 0)))

    def _initial_state(self, samples: Samples) -> dict[str, Any]:
        """What is learned, before the first rating."""
        return {"_samples": samples, "_scale": 1.0, "levels_": np.empty(0, np.float32)}

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        rows = padded(last - first, self.rank_ + 2)
        rows[:, self.rank_ + 1] = 1
        return rows

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        rows = padded(last - first, self.rank_ + 2)
        rows[:, self.rank_] = 1
        return rows

    def _add_rows(self) -> None:
        super()._add_rows()
        self._samples = self._samples.grow(len(self.users_), len(self.items_))

    def _match_rows(self) -> None:
        super()._match_rows()
        for side in ("user", "item"):
            rest: Growing | None = getattr(self, f"_{side}_rest")
            if rest is not None:
                rest.extend(np.zeros((len(self._rows(side)) - len(rest), self.rank_ + 2), np.float32))

    def _learn_stream(self, users: Numbers, items: Numbers, values: NDArray[np.float32]) -> None:
        assert self._entries is not None
        with one_blas_thread():
            self._make_ready()
            first = 0
            while first < len(users):
                turn, before = self._turn_now(), len(self._entries)
                last = min(len(users), first + turn.end - before)
                some = slice(first, last)
                self._entries.add(users[some], items[some], values[some])
                if len(self._entries) == turn.next_fit:
                    self._fit_anew()
                else:
                    self._draw("user", np.unique(users[some]), before)
                    if len(self._entries) == turn.end:
                        self._end_turn()
                first = last

    def _turn_now(self) -> Turn:
        assert self._turn is not None
        return self._turn

    def _make_ready(self) -> None:
        """Begins the first turn after a fit, and makes room to write in."""
        if self._turn is None:
            self._begin_turn(0)
        if self._user_rest is None:
            self._user_rest, self._item_rest = (
                Growing(np.zeros((len(rows), self.rank_ + 2), np.float32)) for rows in (self._users, self._items)
            )
        if not (self._samples.users.flags.writeable and self._samples.items.flags.writeable):
            self._samples = replace(self._samples, users=self._samples.users.copy(), items=self._samples.items.copy())

    def _begin_turn(self, next_fit: int) -> None:
        assert self._entries is not None
        n = len(self._entries)
        end = n + min(max(n // _RATINGS_FOR_A_TURN, 1), _LONGEST_TURN)
        # Of the other side only rows that have ratings by now, wherever a call may have brought more ids.
        n_users, n_items = (int(rows.array.max()) + 1 for rows in (self._entries.by, self._entries.of))
        to_users, to_items = self._maps("user", n_items), self._maps("item", n_users)
        self._turn = Turn(n, end if next_fit == 0 else min(end, next_fit), next_fit, to_users, to_items)

    def _end_turn(self) -> None:
        """Draws the items that were rated in a turn, and then its users again."""
        assert self._entries is not None
        begin, next_fit = self._turn_now().begin, self._turn_now().next_fit
        users, items = (np.unique(rows.array[begin:]) for rows in (self._entries.by, self._entries.of))
        self._draw("item", items, begin)
        self._draw("user", users, begin)
        self._begin_turn(next_fit)

    def _draw(self, side: Side, numbers: Numbers, before: int) -> None:
        """Draws rows given the other side; the first `before` ratings had no say in it if this is their first time."""
        assert self._entries is not None
        rows, rest = self._rows(side).array, getattr(self, f"_{side}_rest").array
        columns = [*range(self.rank_), self.rank_ + (side == "item")]
        fresh = numbers[rest[numbers, -1] == _NOTHING]
        if len(fresh):
            given = self._given(side, fresh, before)
            known = given.entries.counts() > 0
            rest[fresh, :-1] = rows[np.ix_(fresh, columns)] - self._expected_rows(side, given)
            described = np.array([self._is_described(side, row) for row in fresh.tolist()])
            rest[fresh, -1] = np.where(known, _LEARNED, np.where(described, _DESCRIBED, _LEARNED))
            rest[fresh[~known & ~described], :-1] = 0.0
        given = self._given(side, numbers, len(self._entries))
        expected = self._expected_rows(side, given, store=True)
        # What features say of a row counts for less and less beside what its ratings say.
        fading = np.where(rest[numbers, -1] == _DESCRIBED, 1.0 / (1.0 + given.entries.counts()), 1.0)
        rows[np.ix_(numbers, columns)] = expected + fading[:, None].astype(np.float32) * rest[numbers, :-1]

    def _given(self, side: Side, numbers: Numbers, last: int) -> Given:
        assert self._entries is not None
        entries = self._entries.rows(side, numbers, last)
        standardised = entries._replace(values=self._standardise(entries.values))
        return Given.of(standardised, self._codes(entries.values), numbers.astype(np.int32))

    def _expected_rows(self, side: Side, given: Given, store: bool = False) -> NDArray[np.float32]:
        """Rows of the mean of predictions, without what they have beside the samples; draws may go to the samples."""
        samples, means = self._samples, []
        word = int(np.random.SeedSequence([int(self.seed), side == "item"]).generate_state(1, np.uint64)[0] >> 8)
        for s in range(samples.count):
            folded = rows_given(samples, s, side, given, word + s)
            means.append(folded.means)
            if store and given.numbers is not None:
                samples.side(side).rows[s, given.numbers] = folded.draws
        return self._mean_rows(means, self._turn_now().to_users if side == "user" else self._turn_now().to_items)

    def _fit_anew(self) -> None:
        """Learns all ratings of a stream that began with nothing."""
        assert self._entries is not None
        n = len(self._entries)
        users, items = (
            Vocabulary(ids.ids()[: int(rows.array.max()) + 1])
            for ids, rows in ((self.users_, self._entries.by), (self.items_, self._entries.of))
        )
        rows = self._entries.rows("user", np.arange(len(users), dtype=np.int32), n)
        other = type(self)(**self.get_params() | {"time": False}).fit(Ratings(users, items, rows))
        entries = self._entries
        for name in (*_FITTED, *self._initial_state(self._samples), "rank_", "offset_", "_users", "_items"):
            setattr(self, name, getattr(other, name))
        self._entries, self._user_rest, self._item_rest = entries, None, None
        self._users.extend(self._start_of_users(len(self._users), len(self.users_)))
        self._items.extend(self._start_of_items(len(self._items), len(self.items_)))
        self._samples = self._samples.grow(len(self.users_), len(self.items_))
        self._begin_turn(2 * n)
        self._make_ready()

    def _forget_entries(self, left: Left) -> None:
        super()._forget_entries(left)
        if self._entries is not None:
            turn, entries = self._turn, self._entries
            self._entries = entries.without(left)
            if turn is not None:
                gone = len(entries) - len(self._entries)
                begin = int((left.renumber(entries.by.array[: turn.begin]) >= 0).sum())
                next_fit = max(turn.next_fit - gone, len(self._entries) + 1) if turn.next_fit else 0
                self._turn = replace(
                    turn, begin=begin, end=max(turn.end - gone, len(self._entries) + 1), next_fit=next_fit
                )

    def _pack(self, history: bool) -> Parts:
        """Without what users have rated where that is to be left out."""
        if history or self._entries is None:
            return super()._pack(history)
        bare: Self = copy.copy(self)
        bare._entries = None
        return super(GoingOn, bare)._pack(history)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        if self._entries is not None:
            self._entries.check(len(self.users_), len(self.items_))
        n = 0 if self._entries is None else len(self._entries)
        if self._turn is not None and n and not 0 <= self._turn.begin <= n < self._turn.end:
            raise ValueError(f"a turn from {self._turn.begin} to {self._turn.end} is not that of {n} ratings")
        for side in ("user", "item"):
            rest: Growing | None = getattr(self, f"_{side}_rest")
            shape = (len(self._rows(side)), self.rank_ + 2)
            if rest is not None and rest.array.shape != shape:
                raise ValueError(f"{side}_rest has the shape {rest.array.shape} instead of {shape}")


_FITTED = ("history_",)
