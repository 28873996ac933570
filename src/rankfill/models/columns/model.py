"""The base of models that learn from one column at a time: a column is all ratings of one user (or of one item).

    y_k ≈ C x_k            C a row for each row of the column, x_k the factors of the column

side="users": a column is a user, x_k = p_u, the rows of C are the q_i; side="items": the reverse. With biases
y_k ≈ μ + b_k + b + C x_k, b the biases of the rows. A pass takes every column once, in another order each time.
"""

from abc import abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, Rows, padded
from rankfill.kernels.columns import ColumnRule, ColumnSums, DictionaryGram, solve_columns
from rankfill.models.base.forgetting import Left
from rankfill.models.base.online import OnlineFactorModel
from rankfill.models.base.settings import SideOption, check_positive, check_training, check_whole, check_word
from rankfill.models.base.starts import set_random
from rankfill.models.base.training import Callback, Training, order_seed
from rankfill.models.base.units import all_finite, check_finite, check_size, exponent_of, rows_in_units
from rankfill.models.bias import Bias
from rankfill.models.columns.statistics import StreamStatistics
from rankfill.models.columns.stream import Entries, OpenColumn

START = 0.05
"""The size of the factors of C at the start beside biases, as a share of what they would be without."""
SHRINKAGE, BIAS_SHRINKAGE = 15.0, 5.0
"""What holds x and its bias where no shrinkage is given: in units of the standard deviation, and in ratings."""
BIAS_PACE = 0.1
"""How fast the biases of C move in a fit beside its factors: they start where the bias model has them, and one that
moves freely fits the noise of the few ratings of its row. In a stream they start from zero and move at full pace."""
LOST = 100.0
"""A pass has diverged when its squared errors exceed those of the offset alone by this factor."""


class ColumnModel(OnlineFactorModel):
    """Learning by `fit`; `online.py` adds streams. Subclasses define a step in `_steps` and `_rule`."""

    starts_from_factors: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = (
        "side_",
        "shrinkage_",
        "bias_shrinkage_",
        "unit_",
        "_statistics",
        "_first",
        "_open",
        "_gram",
        "_n_rows",
    )

    rank: int
    shrinkage: float | None
    side: SideOption
    biases: bool
    passes: int
    tol: float | None
    seed: int
    side_: SideOption
    shrinkage_: float
    bias_shrinkage_: float
    unit_: float
    _gram: DictionaryGram
    _open: OpenColumn | None
    _first: Entries | None
    _statistics: StreamStatistics
    _n_rows: int

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with biases, else p_u."""
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        exponent = exponent_of(self.unit_)
        items = self._in_units(self._items.array, "items", exponent)
        rule = ColumnRule(self._ridge("users", self.offset_)).in_units(exponent)
        solve_columns(known.by_user.in_units(exponent), rows, items, rule)
        rows = self._in_units(rows, "users", -exponent)
        check_finite(rows, "fold in ratings of the size of those learned")
        return rows[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("side", self.side, SideOption)
        if self.shrinkage is not None:
            check_positive("shrinkage", self.shrinkage, or_zero=True)
        check_size(ratings)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        columns = ratings.by_user if self.side_ == "users" else ratings.by_item
        most = LOST * (self._statistics.squares + len(ratings) * self.unit_**2)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                order, rows = self._order(columns, epoch), self._factors_of_columns()
                sums = self._steps_in_units(columns, order, *rows, self._rule(epoch))
                self._check_growth(sums.squared, most, *rows)
                training.report(sums.objective, (sums.squared / len(ratings)) ** 0.5)

    @abstractmethod
    def _steps(
        self,
        columns: Rows,
        order: NDArray[np.int32],
        moving: NDArray[np.float32],
        dictionary: NDArray[np.float32],
        rule: ColumnRule,
    ) -> ColumnSums:
        """Makes a step on each column in that order."""

    @abstractmethod
    def _rule(self, epoch: int) -> ColumnRule:
        """The rule of a pass; 0 is a stream, where a column goes on from its row and values come without the offset."""

    @property
    @abstractmethod
    def _remedy(self) -> str:
        """The remedy to name where the factors grow without end."""

    def _steps_in_units(
        self,
        columns: Rows,
        order: NDArray[np.int32],
        moving: NDArray[np.float32],
        dictionary: NDArray[np.float32],
        rule: ColumnRule,
    ) -> ColumnSums:
        """Makes the steps in units in which single precision has room."""
        if exponent := exponent_of(self.unit_):
            other: SideOption = "items" if self.side_ == "users" else "users"
            x, rows = self._in_units(moving, self.side_, exponent), self._in_units(dictionary, other, exponent)
            sums = self._steps(columns.in_units(exponent), order, x, rows, rule.in_units(exponent))
            moving[:] = self._in_units(x, self.side_, -exponent)
            dictionary[:] = self._in_units(rows, other, -exponent)
        else:
            sums = self._steps(columns, order, moving, dictionary, rule)
        scale = 4.0**exponent
        return ColumnSums(sums.objective * scale, sums.squared * scale)

    def _check_growth(self, squared: float, most: float, *rows: NDArray[np.float32]) -> None:
        if not squared <= most or not all(map(all_finite, rows)):
            raise ValueError(f"the factors grow without end on these ratings; {self._remedy}")

    def _in_units(self, rows: NDArray[np.float32], side: SideOption, exponent: int) -> NDArray[np.float32]:
        """The rows of a side in units of 2ᵉ."""
        return rows_in_units(rows, self.rank_, exponent, self.rank_ + (side == "items") if self.biased_ else None)

    def _depends_on_size(self, parameter: str) -> bool:
        return False

    def _order(self, columns: Rows, epoch: int) -> NDArray[np.int32]:
        rng = np.random.default_rng(order_seed(self.seed, epoch))
        return rng.permutation(np.flatnonzero(columns.counts())).astype(np.int32)

    def _factors_of_columns(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The rows x of the columns and those of C."""
        both = self._users.array, self._items.array
        return both if self.side_ == "users" else both[::-1]

    def _ridge(self, columns: SideOption, offset: float) -> Ridge:
        return _ridge_of(self.rank_, self.shrinkage_, self.bias_shrinkage_, offset, columns if self.biased_ else None)

    def _ridge_of_users(self) -> Ridge | None:
        return self._ridge("users", self.offset_) if self.side == "users" else None

    def _unit_of_biases(self, epoch: int) -> float:
        """The weight that the biases of C have in a step."""
        return BIAS_PACE * self.unit_ if epoch and self.biased_ else self.unit_

    def _set_unit(self, unit: float) -> None:
        """Sets the unit of the ratings, and the defaults that depend on it."""
        self.unit_ = unit
        default = SHRINKAGE * unit if self.biased_ else 0.0
        self.shrinkage_ = default if self.shrinkage is None else float(self.shrinkage)
        self.bias_shrinkage_ = BIAS_SHRINKAGE if self.shrinkage is None else self.shrinkage_

    def _forget_entries(self, left: Left) -> None:
        """Closes the last column, and has the Gram matrix of the dictionary summed up again."""
        super()._forget_entries(left)
        if self.side_ == "items":
            self._n_rows = int((left.users < self._n_rows).sum())
        self._gram, self._open = DictionaryGram.of_unknowns(self.rank_ + self.biased_, self._n_rows), None
        if self._first is not None:
            self._first = self._first.without(left, users="columns" if self.side_ == "users" else "rows")

    def _begin_rows(self, n_users: int, n_items: int) -> None:
        """Sets rows as they are before any step, for ratings of the size that the statistics say."""
        self.rank_, self.biased_, self.side_ = int(self.rank), bool(self.biases), self.side
        self._set_unit(self._statistics.unit)
        self._set_factors(
            self._start_of_users(0, n_users),
            self._start_of_items(0, n_items),
            self.rank_,
            biased=self.biased_,
            offset=self._statistics.centre,
        )
        self._n_rows = len(self._factors_of_columns()[1])
        self._gram, self._open = DictionaryGram.of_unknowns(self.rank_ + self.biased_, self._n_rows), None

    def _begin_fit(self, ratings: Ratings, init: Self | None) -> None:
        """The biases of the rows of C start from those of the bias model."""
        self._first, self._statistics = None, StreamStatistics.of_ratings(ratings.values, centred=bool(self.biases))
        self._begin_rows(ratings.n_users, ratings.n_items)
        if self.biased_:
            effects = Bias().fit(ratings)
            self._users.array[:, self.rank_] = effects.user_effects_
            self._items.array[:, self.rank_ + 1] = effects.item_effects_
        if init is not None:
            self._start_from(init)
            self.offset_ = self.offset_ if init._bare else init.offset_
        self._users.array[self._user_counts.array == 0, : self.rank_] = 0
        self._items.array[self._item_counts.array == 0, : self.rank_] = 0

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, "users")

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, "items")

    def _start(self, first: int, last: int, side: SideOption) -> NDArray[np.float32]:
        """Columns at zero; rows of C random, with biases small and on both sides of zero."""
        rows = padded(last - first, self.rank_ + 2 * self.biased_)
        if side != self.side_:
            size = np.sqrt(self.unit_ / self.rank_)
            biased = self.biased_
            set_random(
                rows, first, self.rank_, self.seed, lambda drawn: size * (START * (2 * drawn - 1) if biased else drawn)
            )
        if self.biased_:
            rows[:, self.rank_ + (side == "users")] = 1
        return rows


@lru_cache(maxsize=64)  # a single rating of a stream has no time to make one again
def _ridge_of(rank: int, penalty: float, bias_penalty: float, offset: float, biased: SideOption | None) -> Ridge:
    ridge = Ridge(rank=rank, penalty=penalty, bias_penalty=bias_penalty, offset=offset)
    if biased is None:
        return ridge
    return ridge.of_users() if biased == "users" else ridge.of_items()
