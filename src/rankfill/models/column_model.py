"""What models share that learn from one column at a time: a column is all ratings of one user (or of one item).

    y_k ≈ C x_k            C a row for each row of the column, x_k the factors of the column

side="users": a column is a user, x_k = p_u, the rows of C are the q_i; side="items": the reverse. With biases
y_k ≈ μ + b_k + b + C x_k, b the biases of the rows. A pass takes every column once, in another order each time.
`partial_fit` takes columns as they come: ratings that follow each other in the stream and have the same column are
one column, and when more ratings of the last column come in, its step is taken back and made anew with all of them, so
that it does not matter how a stream is cut into calls. A column that comes again later goes on from its x.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, Rows, padded
from rankfill.kernels.columns import ColumnRule, ColumnSums, DictionaryGram, solve_columns
from rankfill.models.bias import Bias
from rankfill.models.column_stream import OpenColumn, Run, joined_runs, parts_of, runs_of
from rankfill.models.online import OnlineFactorModel, random_rows
from rankfill.models.settings import check_positive, check_training, check_whole, check_word
from rankfill.models.training import Callback, Training, order_seed

Side = Literal["users", "items"]

START = 0.05
"""The size of the factors of C at the start beside biases, as a share of what they would be without."""
SHRINKAGE, BIAS_SHRINKAGE = 15.0, 5.0
"""Of ratings with biases, where none is given: of x in units of the standard deviation, of its bias in ratings."""


class ColumnModel(OnlineFactorModel):
    """Subclasses say what a step does to a column, in `_steps` and `_rule`."""

    rank: int
    shrinkage: float | None
    side: Side
    biases: bool
    passes: int
    tol: float | None
    seed: int
    shrinkage_: float
    unit_: float
    _gram: DictionaryGram
    _open: OpenColumn | None
    _total: float
    _n_rows: int

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with biases, else p_u."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        solve_columns(known.by_user, rows, self._items.array, ColumnRule(self._ridge("users", self.offset_)))
        return rows[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("side", self.side, Side)
        if self.shrinkage is not None:
            check_positive("shrinkage", self.shrinkage, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        columns = ratings.by_user if self.side == "users" else ratings.by_item
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                order = self._order(columns, epoch)
                sums = self._steps(columns, order, *self._factors_of_columns(), self._rule(epoch))
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
        """A step on each column in that order."""

    @abstractmethod
    def _rule(self, epoch: int) -> ColumnRule:
        """Of a pass; 0 is a stream, where a column goes on from its row and values come without the offset."""

    def _depends_on_size(self, parameter: str) -> bool:
        return False

    def _order(self, columns: Rows, epoch: int) -> NDArray[np.int32]:
        rng = np.random.default_rng(order_seed(self.seed, epoch))
        return rng.permutation(np.flatnonzero(columns.counts())).astype(np.int32)

    def _factors_of_columns(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The rows x of the columns and those of C."""
        both = self._users.array, self._items.array
        return both if self.side == "users" else both[::-1]

    def _ridge(self, columns: Side, offset: float) -> Ridge:
        bias_shrinkage = BIAS_SHRINKAGE if self.shrinkage is None else self.shrinkage_
        ridge = Ridge(rank=self.rank_, penalty=self.shrinkage_, bias_penalty=bias_shrinkage, offset=offset)
        if not self.biased_:
            return ridge
        return ridge.of_users() if columns == "users" else ridge.of_items()

    def _begin_rows(self, unit: float, n_users: int, n_items: int, offset: float) -> None:
        """Rows before any step, for ratings of that size."""
        self.unit_ = unit or 1.0
        default = SHRINKAGE * self.unit_ if self.biases else 0.0
        self.shrinkage_ = default if self.shrinkage is None else float(self.shrinkage)
        self._set_factors(
            self._start_of_users(0, n_users),
            self._start_of_items(0, n_items),
            self.rank,
            biased=self.biases,
            offset=offset if self.biases else 0.0,
        )
        self._n_rows = len(self._factors_of_columns()[1])
        self._gram, self._open = DictionaryGram.of_unknowns(self.rank + bool(self.biases), self._n_rows), None

    def _begin_fit(self, ratings: Ratings, init: Self | None) -> None:
        """The biases of the rows of C start from those of the bias model."""
        values = ratings.values.astype(np.float64)
        unit = float(values.std()) or abs(self.mean_) if self.biases else float(np.sqrt(np.mean(values**2)))
        self._begin_rows(unit, ratings.n_users, ratings.n_items, self.mean_)
        self._total = self.mean_ * len(ratings)
        if self.biases:
            effects = Bias().fit(ratings)
            self._users.array[:, self.rank] = effects.user_factors_[:, 1]
            self._items.array[:, self.rank + 1] = effects.item_factors_[:, 0] - np.float32(self.mean_)
        if init is not None:
            self._start_from(init)
            self.offset_ = init.offset_
        self._users.array[self._user_counts.array == 0, : self.rank] = 0
        self._items.array[self._item_counts.array == 0, : self.rank] = 0

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, "users")

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, "items")

    def _start(self, first: int, last: int, side: Side) -> NDArray[np.float32]:
        """Columns at zero; rows of C random, with biases small and on both sides of zero."""
        rows = padded(last - first, self.rank + 2 * bool(self.biases))
        if side != self.side:
            numbers = random_rows(first, last, self.rank, self.seed)
            size = np.sqrt(self.unit_ / self.rank)
            rows[:, : self.rank] = size * (START * (2 * numbers - 1) if self.biases else numbers)
        if self.biases:
            rows[:, self.rank + (side == "users")] = 1
        return rows

    def _begin_stream(self, ratings: Ratings) -> None:
        first = float(ratings.values[ratings.stream_order()[0]])
        self._total = 0.0
        self._begin_rows(abs(first) / 4 if self.biases else abs(first), 0, 0, 0.0)  # stars from 1 to 5 deviate by 1

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """With biases the offset of a column is the mean of the ratings so far, those of the column among them."""
        columns, rows = (users, items) if self.side == "users" else (items, users)
        seen = self.n_ratings_ - len(values) + np.arange(1, len(values) + 1)
        totals = np.cumsum(np.append(self._total, values.astype(np.float64)))[1:]
        means = totals / seen if self.biased_ else np.zeros(len(values))
        known = np.maximum.accumulate(np.maximum(rows + 1, self._n_rows))
        runs = runs_of(columns, rows, values, means, known)
        if self._open is not None and (joined := joined_runs(self._open.run, runs)):
            self._take_back(self._open)
            runs = joined
        for part in parts_of(runs[:-1]):
            self._step_on(part)
        last = runs[-1]
        moving, dictionary = self._factors_of_columns()
        self._open = OpenColumn(last, moving[last.column].copy(), dictionary[last.rows].copy(), self._gram.copy())
        self._step_on([last])
        self._total, self.offset_, self._n_rows = float(totals[-1]), float(means[-1]), int(known[-1])

    def _take_back(self, last: OpenColumn) -> None:
        moving, dictionary = self._factors_of_columns()
        moving[last.run.column], dictionary[last.run.rows], self._gram = last.x, last.rows, last.gram

    def _step_on(self, runs: list[Run]) -> None:
        """Runs of different columns, all rows known before the last of them."""
        moving, dictionary = self._factors_of_columns()
        columns = np.array([run.column for run in runs])
        indptr = np.concatenate([[0], np.cumsum([len(run.rows) for run in runs])])
        orders = [np.argsort(run.rows) for run in runs]
        rows = np.concatenate([run.rows[order] for run, order in zip(runs, orders, strict=True)])
        targets = [run.values[order] - np.float32(run.mean) for run, order in zip(runs, orders, strict=True)]
        entries = Rows(indptr, rows, np.concatenate(targets))
        x, known = np.ascontiguousarray(moving[columns]), runs[-1].known
        self._gram.of_rows(known)
        self._steps(entries, np.arange(len(runs), dtype=np.int32), x, dictionary[:known], self._rule(0))
        moving[columns] = x

    def _restore(self, snapshot: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
        super()._restore(snapshot)
        self._gram.forget()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        tensors |= self._gram.tensors("gram")
        settled: dict[str, Any] = {
            "unit": self.unit_,
            "shrinkage": self.shrinkage_,
            "total": self._total,
            "n_rows": self._n_rows,
        }
        if self._open is not None:
            run, x, rows, gram = self._open
            tensors |= {"open_rows": run.rows, "open_values": run.values, "open_x": x, "open_rows_before": rows}
            tensors |= gram.tensors("open_gram")
            settled |= {"open": [run.column, run.mean, run.known]}
        return tensors, about | settled

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.unit_, self.shrinkage_ = about["unit"], about["shrinkage"]
        self._total, self._n_rows = about["total"], about["n_rows"]
        self._gram, self._open = DictionaryGram.from_tensors(tensors, "gram"), None
        if "open" in about:
            column, *level = about["open"]
            run = Run(column, tensors["open_rows"], tensors["open_values"], *level)
            gram = DictionaryGram.from_tensors(tensors, "open_gram")
            self._open = OpenColumn(run, tensors["open_x"], tensors["open_rows_before"], gram)
