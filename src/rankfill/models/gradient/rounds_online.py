"""Rounds of stochastic gradient descent on ratings as they arrive, in units that adapt to them (`stream_units`)."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Growing, RowPair
from rankfill.kernels.gradients import GradientRule, gradient_online
from rankfill.models.base.means import MeanRow
from rankfill.models.base.online import OnlineFactorModel
from rankfill.models.base.units import all_finite
from rankfill.models.gradient.scaled import SHRINKAGES, ScaledFactorModel
from rankfill.models.gradient.stream_units import KEPT, StreamUnits, still_to_come, stretches

Distinct = tuple[NDArray[np.int32] | slice, NDArray[np.int32]]
"""Rows of one side, each once, and for every round the place of its row among them."""

_FIRST = np.zeros(1, np.int32)


class RoundsOnline(ScaledFactorModel, OnlineFactorModel):
    """The part of `SGD` that learns from a stream; rows keep the sums of their squared gradients in `_…_memory`."""

    _learned: ClassVar[tuple[str, ...]] = (
        "_user_memory",
        "_item_memory",
        "_period",
        "_rounds",
        "_stream",
        "_recent",
    )

    _user_memory: Growing
    _item_memory: Growing
    _period: int
    _rounds: int
    _stream: StreamUnits
    _recent: NDArray[np.float32]
    rate: float

    @abstractmethod
    def _rule(self) -> GradientRule:
        """The rule of a round."""

    def _round_penalties(self, counts: NDArray[np.int64]) -> NDArray[np.float32]:
        """The penalty in each round of a row with so many ratings: λ + κ/n."""
        return (self.penalty + self.shrinkage_ / np.maximum(counts, 1)).astype(np.float32)

    def _begin_stream(self, ratings: Ratings) -> None:
        self.shrinkage_ = SHRINKAGES[0] if self.shrinkage is None else float(self.shrinkage)
        first = float(ratings.values[ratings.stream_order()[0]])
        spread = abs(first) / 4 or 1.0  # stars from 1 to 5 deviate by 1
        self._begin_rows(first, spread, 0, 0)
        self._level = self._size = 4 * self._scale
        self._begin_rounds(1)
        self._stream, self._recent = StreamUnits(self._scale), np.zeros(KEPT, np.float32)

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        counts = (
            self._user_counts.array[users] - still_to_come(users),
            self._item_counts.array[items] - still_to_come(items),
        )
        held = self._round_penalties(counts[0]), self._round_penalties(counts[1])
        for places, plausible, offsets, units in stretches(self._stream, self._recent, values, centred=self._centred):
            if self.loss != "logistic":
                self._change_scale(units.scale)
            targets = ((plausible - offsets) / self._scale).astype(np.float32)
            here = _distinct(users[places]), _distinct(items[places])
            self._learn_rounds(*here, targets, (held[0][places], held[1][places]))
            self._stream, self.offset_ = units, float(offsets[-1])

    def _learn_single(self, user: int, item: int, value: float) -> None:
        if self._stream.look_is_due:
            super()._learn_single(user, item, value)
            return
        self._recent[self._stream.seen % KEPT] = value
        plausible = min(max(value, self._stream.low), self._stream.high)
        units = self._stream.with_one_more(plausible)
        offset = units.total / units.seen if self._centred else 0.0
        held = (
            np.array([self.penalty + self.shrinkage_ / int(self._user_counts.array[user])], np.float32),
            np.array([self.penalty + self.shrinkage_ / int(self._item_counts.array[item])], np.float32),
        )
        target = np.array([(plausible - offset) / self._scale], np.float32)
        self._learn_rounds((slice(user, user + 1), _FIRST), (slice(item, item + 1), _FIRST), target, held)
        self._stream, self.offset_ = units, offset

    def _learn_rounds(self, users: Distinct, items: Distinct, targets: NDArray[np.float32], held: RowPair) -> None:
        """A round for each target, in their order."""
        user_rows, user_places = users
        item_rows, item_places = items
        moving = (
            self._units(self._users.array[user_rows], 0, 1 / self._scale),
            self._units(self._items.array[item_rows], 1, 1 / self._scale),
        )
        memory = self._user_memory.array[user_rows].copy(), self._item_memory.array[item_rows].copy()
        gradient_online(
            user_places,
            item_places,
            targets,
            self._rounds,
            *moving,
            *memory,
            *held,
            self._rule(),
        )
        self._refuse_divergence(moving)
        if self._scale != 1:
            moving = self._in_ratings(moving[0], 0), self._in_ratings(moving[1], 1)
        self._users.array[user_rows], self._items.array[item_rows] = moving
        self._user_memory.array[user_rows], self._item_memory.array[item_rows] = memory
        self._rounds += len(targets)

    def _takes_all(self, values: NDArray[np.float32]) -> bool:
        return super()._takes_all(values) and (self.loss != "logistic" or bool((np.abs(values) == 1).all()))

    def _takes(self, value: float) -> bool:
        return super()._takes(value) and (self.loss != "logistic" or abs(value) == 1)

    def _refuse_divergence(self, moving: RowPair) -> None:
        if not (all_finite(moving[0]) and all_finite(moving[1])):
            raise ValueError(f"rate={self.rate} is too large for these ratings: the factors grew without end; lower it")

    def _change_scale(self, scale: float) -> None:
        """Keeps rows, and those to come, as they are in units of the scale."""
        times = scale / self._scale
        if times == 1:
            return
        self._users = Growing(self._units(self._users.array, 0, times))
        self._items = Growing(self._units(self._items.array, 1, times))
        self._mean_user = MeanRow(self._users, self._user_counts)
        self._mean_item = MeanRow(self._items, self._item_counts)
        self._scale, self._level, self._size = scale, self._level * times, self._size * times

    def _begin_rounds(self, period: int) -> None:
        self._period, self._rounds = period, 0
        self._user_memory = Growing(np.ones(len(self._users), np.float32))
        self._item_memory = Growing(np.ones(len(self._items), np.float32))

    def _check_unchanged(self) -> None:
        super()._check_unchanged()
        if self.biases != self.biased_:
            raise ValueError(
                f"biases is {self.biases}, what was learned has biases={self.biased_}; fit anew, or set biases back"
            )

    def _match_rows(self) -> None:
        super()._match_rows()
        for memory, rows in ((self._user_memory, self._users), (self._item_memory, self._items)):
            memory.extend(np.ones(len(rows) - len(memory), np.float32))


def _distinct(rows: NDArray[np.int32]) -> Distinct:
    """The different rows and the place of each among them; a stream often asks for a single one."""
    if len(rows) == 1:
        return slice(int(rows[0]), int(rows[0]) + 1), _FIRST
    distinct, places = np.unique(rows, return_inverse=True)
    return distinct, places.astype(np.int32)
